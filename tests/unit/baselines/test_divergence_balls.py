"""Balls of laws in four divergences: brute force over the simplex, orientation."""

from math import inf

import cvxpy as cp
import numpy as np
import pytest

from sublevel.sets import KLBall
from sublevel.sets.divergence_ball import (
    BurgBall,
    ChiSquareBall,
    HellingerBall,
    ModifiedChiSquareBall,
    worst_laws,
)
from sublevel.sets.phi import KL, Variation
from sublevel.testing import check_set

BALLS = [BurgBall, ChiSquareBall, HellingerBall, ModifiedChiSquareBall]
FORMULAS = {
    BurgBall: lambda p, q: np.sum(q * np.log(q / p), axis=-1),
    ChiSquareBall: lambda p, q: np.sum((p - q) ** 2 / p, axis=-1),
    HellingerBall: lambda p, q: np.sum((np.sqrt(p) - np.sqrt(q)) ** 2, axis=-1),
    ModifiedChiSquareBall: lambda p, q: np.sum((p - q) ** 2 / q, axis=-1),
}


def simplex_grid(steps):
    first, second = np.meshgrid(*[np.arange(1, steps) / steps] * 2)
    grid = np.stack([first, second, 1 - first - second], axis=-1).reshape(-1, 3)
    return grid[grid[:, 2] > 1e-9]


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("radius", [1e-4, 0.5])
def test_set_contract(ball, radius):
    check_set(ball([0.2, 0.3, 0.1, 0.4], radius))


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("radius", [0.0203, 0.20171])
def test_membership_and_support_by_enumeration(ball, radius):
    nominal, grid = np.array([0.2, 0.3, 0.5]), simplex_grid(400)
    inside = FORMULAS[ball](grid, nominal) <= radius
    U = ball(nominal, radius)
    assert np.array_equal(U.contains(grid), inside)
    for direction in np.random.default_rng(0).normal(size=(5, 3)):
        best = (grid[inside] @ direction).max()
        spread = np.ptp(direction)
        # The grid is 1/400 fine, so its best is at most that much less.
        assert best - 1e-9 <= U.support(direction) <= best + 2 * spread / 400


@pytest.mark.parametrize("ball", BALLS)
def test_the_worst_law_uses_the_whole_radius_at_any_size(ball):
    nominal = np.array([0.4, 0.35, 0.25])
    for radius in (1e-12, 1e-8, 1e-4, 0.1):
        worst = ball(nominal, radius).worst_case([3e5, -1e5, 0.0])
        assert FORMULAS[ball](worst, nominal) == pytest.approx(radius, rel=1e-3)


@pytest.mark.parametrize("ball", [HellingerBall, ModifiedChiSquareBall])
def test_a_large_radius_reaches_the_corner(ball):
    nominal = np.array([0.2, 0.8])
    corner = FORMULAS[ball](np.array([1.0, 0.0]), nominal)
    assert ball(nominal, corner).worst_case([1.0, 0.0]).tolist() == [1.0, 0.0]
    assert ball(nominal, 0.9 * corner).worst_case([1.0, 0.0])[0] < 1 - 1e-4


def test_a_corner_is_never_reached_where_it_is_infinitely_far():
    for ball in (BurgBall, ChiSquareBall):
        assert 0.9 < ball([0.5, 0.5], 2.0).worst_case([1.0, 0.0])[0] < 1.0


def test_classes_never_seen():
    for ball in (BurgBall, ChiSquareBall, HellingerBall):
        U = ball([0.6, 0.4, 0.0], 0.2)
        check_set(U)
        assert U.support([0.0, 0.0, 1.0]) > 0.05
    U = ModifiedChiSquareBall([0.6, 0.4, 0.0], 0.2)
    check_set(U)
    assert U.support([0.0, 0.0, 1.0]) == 0.0
    assert not U.contains([0.5, 0.4, 0.1])


@pytest.mark.parametrize("ball", BALLS)
def test_extreme_radii(ball):
    point, whole = ball([0.25, 0.75], 0.0), ball([0.25, 0.75], inf)
    assert point.worst_case([1.0, 0.0]).tolist() == [0.25, 0.75]
    assert point.volume() == 0.0
    assert whole.worst_case([1.0, 0.0]).tolist() == [1.0, 0.0]
    y = cp.Variable(2)
    for U, best in ((point, 0.25), (whole, 1.0)):
        problem = cp.Problem(cp.Maximize(y[0]), U.constraints(y))
        problem.solve(solver=cp.CLARABEL)
        assert problem.value == pytest.approx(best, abs=1e-6)
    assert ball([0.25, 0.75], 0.3).support([2.0, 2.0]) == pytest.approx(2.0)


def test_all_directions_at_once_agree_with_the_ball_that_has_a_file_of_its_own():
    rng = np.random.default_rng(0)
    nominal, directions = np.array([0.1, 0.2, 0.3, 0.4]), rng.normal(size=(20, 4))
    radii = rng.uniform(1e-6, 3.0, 20)
    found = worst_laws(KL(), nominal, directions, radii)
    rows = zip(radii, directions, strict=True)
    expected = [KLBall(nominal, r).worst_case(v) for r, v in rows]
    assert found == pytest.approx(np.array(expected), abs=1e-8)


def test_variation_keeps_the_mass_in_between():
    prices = np.array([-1.5, -0.5, 0.5])
    assert Variation().ratio(prices).tolist() == [0.0, 1.0, 1.0]
