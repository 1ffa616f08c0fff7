"""Norm balls by hand, and their samples against known moments."""

from math import gamma, inf, pi

import numpy as np
import pytest

from sublevel.norm_ball import NormBall

SCALE = np.array([[2.0, 0.0], [1.0, 1.0]])


def test_worst_cases_worked_by_hand():
    center, direction = np.array([1.0, 1.0]), np.array([3.0, 4.0])
    unit = np.ones(2)
    assert NormBall(center, unit, 5.0, 2).worst_case(direction) == pytest.approx([4, 5])
    assert NormBall(center, unit, 5.0, 1).worst_case(direction) == pytest.approx([1, 6])
    assert NormBall(center, unit, 5.0, inf).worst_case(direction) == pytest.approx(
        [6, 6]
    )


@pytest.mark.parametrize("order", [1, 2, inf])
def test_matrix_scale_agrees_with_support_and_norm(order):
    ball = NormBall(np.array([1.0, -1.0]), SCALE, 1.5, order)
    for direction in np.random.default_rng(0).normal(size=(20, 2)):
        worst = ball.worst_case(direction)
        assert direction @ worst == pytest.approx(ball.support(direction))
        assert ball.norm(worst) == pytest.approx(1.5)


@pytest.mark.parametrize("order", [1, 2, inf])
def test_diagonal_matrix_equals_vector(order):
    scale = np.array([0.5, 3.0])
    one = NormBall(np.zeros(2), scale, 1.0, order)
    two = NormBall(np.zeros(2), np.diag(scale), 1.0, order)
    points = np.random.default_rng(0).normal(size=(5, 2))
    assert one.norm(points) == pytest.approx(two.norm(points))
    assert one.volume() == pytest.approx(two.volume())
    assert one.support(points[0]) == pytest.approx(two.support(points[0]))


def test_zero_direction_stays_at_the_center():
    ball = NormBall(np.array([1.0, 2.0]), np.ones(2), inf, 2)
    assert ball.support(np.zeros(2)) == 0.0
    assert ball.support(np.ones(2)) == inf
    assert NormBall(np.ones(2), np.ones(2), 1.0, 2).worst_case(
        np.zeros(2)
    ) == pytest.approx([1, 1])


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_volumes(m):
    unit = np.ones(m)
    ball = pi ** (m / 2) / gamma(m / 2 + 1)
    assert NormBall(unit, unit, 2.0, 2).volume() == pytest.approx(ball * 2**m)
    assert NormBall(unit, unit, 2.0, 1).volume() == pytest.approx(4**m / gamma(m + 1))
    assert NormBall(unit, unit, 2.0, inf).volume() == pytest.approx(4**m)
    assert NormBall(unit, unit, 0.0, 2).volume() == 0.0
    assert NormBall(np.zeros(2), SCALE, 1.0, 2).volume() == pytest.approx(2 * pi)


def second_moment(m, order):
    """E[z_1^2] of a uniform point of the unit ball in dimension m."""
    return {1: 2 / ((m + 1) * (m + 2)), 2: 1 / (m + 2), inf: 1 / 3}[order]


@pytest.mark.parametrize("order", [1, 2, inf])
def test_samples_have_the_moments_of_the_uniform_law(order):
    n, m = 20_000, 4
    ball = NormBall(np.full(m, 3.0), np.full(m, 2.0), 1.5, order)
    draws = ball.sample(n, np.random.default_rng(0))
    assert (ball.norm(draws) <= 1.5 + 1e-12).all()
    unit = (draws - 3.0) / 3.0
    variance = second_moment(m, order)
    # Each of the m + m (m + 1) / 2 averages is within 5 standard errors with
    # probability 1 - 14 * 6e-7 at this seed or any other.
    assert np.abs(unit.mean(axis=0)).max() <= 5 * np.sqrt(variance / n)
    products = unit[:, :, None] * unit[:, None, :]
    errors = products.std(axis=0) / np.sqrt(n)
    assert (np.abs(products.mean(axis=0) - variance * np.eye(m)) <= 5 * errors).all()


@pytest.mark.parametrize("order", [1, 2, inf])
def test_shrunk_samples_fail_the_same_test(order):
    n, m = 20_000, 4
    ball = NormBall(np.zeros(m), np.ones(m), 0.95, order)
    draws = ball.sample(n, np.random.default_rng(0))
    squares = draws[:, 0] ** 2
    error = squares.std() / np.sqrt(n)
    assert abs(squares.mean() - second_moment(m, order)) > 5 * error
