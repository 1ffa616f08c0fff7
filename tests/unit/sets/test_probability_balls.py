"""KLBall and VariationBall: extreme radii, zero components, volumes, errors."""

from math import inf, log

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter
from sublevel.sets import KLBall, UncertaintySet, VariationBall

KINDS = [KLBall, VariationBall]


def divergence(p, nominal):
    p, nominal = np.asarray(p), np.asarray(nominal)
    on = p > 0
    return float((p[on] * np.log(p[on] / nominal[on])).sum())


@pytest.mark.parametrize("radius", [1e-10, 1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0])
def test_kl_worst_case_uses_the_whole_radius(radius):
    nominal, rng = np.array([0.4, 0.3, 0.2, 0.1]), np.random.default_rng(0)
    ball = KLBall(nominal, radius)
    for direction in rng.normal(size=(20, 4)) * 10 ** rng.uniform(-6, 6, (20, 1)):
        worst = ball.worst_case(direction)
        assert ball.contains(worst)
        top = nominal[np.argmax(direction)]
        expected = min(radius, -log(top))
        assert divergence(worst, nominal) == pytest.approx(expected, rel=1e-5)


def test_kl_support_equals_its_dual():
    nominal, direction, radius = (
        np.array([0.5, 0.3, 0.2]),
        np.array([1.0, 4.0, 2.0]),
        0.2,
    )
    u = np.linspace(0.5, 20, 200_001)
    tilted = np.log(np.exp(direction / u[:, None]) @ nominal)
    dual = (u * radius + u * tilted).min()
    assert KLBall(nominal, radius).support(direction) == pytest.approx(dual, rel=1e-8)


def test_kl_orientation():
    # D(p || phat) of p = (1, 0) is log 2; D(phat || p) is infinite.
    assert KLBall([0.5, 0.5], log(2)).contains([1.0, 0.0])
    assert not KLBall([0.5, 0.5], log(2) * 0.99).contains([1.0, 0.0])


@pytest.mark.parametrize("radius", [0.01, 1.0, inf])
def test_kl_zero_components_stay_zero(radius):
    ball = KLBall([0.7, 0.3, 0.0], radius)
    assert ball.worst_case([0.0, 1.0, 9.0])[2] == 0.0
    assert ball.support([0.0, 0.0, 1.0]) == 0.0
    assert not ball.contains([0.7, 0.29, 0.01])
    draws = ball.sample(50, 0)
    assert (draws[:, 2] == 0.0).all()
    assert ball.contains(draws).all()


def test_kl_large_radius_restricts_to_the_argmax():
    ball = KLBall([0.2, 0.2, 0.6], log(1 / 0.4) + 1e-9)
    assert ball.worst_case([1.0, 1.0, 0.0]) == pytest.approx([0.5, 0.5, 0.0])
    assert KLBall([0.2, 0.8], inf).worst_case([1.0, 0.0]).tolist() == [1.0, 0.0]


def test_kl_just_below_the_large_radius():
    nominal = np.array([0.25, 0.75])
    ball = KLBall(nominal, np.nextafter(log(4.0), 0))
    assert ball.worst_case([1.0, 0.0]) == pytest.approx([1.0, 0.0])
    ball = KLBall(nominal, log(4.0) * (1 - 1e-9))
    assert ball.worst_case([1.0, 0.0]) == pytest.approx([1.0, 0.0], abs=1e-6)


def test_kl_constraints_in_limits():
    y = cp.Variable(3)
    for radius, best in [(0.0, 0.3), (inf, 1.0)]:
        ball = KLBall([0.7, 0.3, 0.0], radius)
        problem = cp.Problem(cp.Maximize(y[1] + 9 * y[2]), ball.constraints(y))
        problem.solve(solver=cp.CLARABEL)
        assert problem.value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_radius_zero_is_the_nominal_law(kind):
    ball = kind([0.25, 0.75], 0.0)
    assert ball.worst_case([1.0, 0.0]).tolist() == [0.25, 0.75]
    assert ball.contains([0.25, 0.75])
    assert not ball.contains([0.26, 0.74])
    assert ball.volume() == 0.0
    assert ball.sample(2, 0) == pytest.approx(np.tile([0.25, 0.75], (2, 1)))
    y = cp.Variable(2)
    cp.Problem(cp.Maximize(y[0]), ball.constraints(y)).solve(solver=cp.CLARABEL)
    assert y.value == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("kind", KINDS)
def test_constant_direction_and_single_class(kind):
    assert kind([0.25, 0.75], 0.3).support([2.0, 2.0]) == pytest.approx(2.0)
    assert kind([1.0], 0.3).worst_case([2.0]).tolist() == [1.0]
    assert kind([1.0], 0.3).volume() == 0.0


def test_variation_by_hand():
    ball = VariationBall([0.2, 0.3, 0.5, 0.0], 0.8)
    assert ball.worst_case([1.0, 2.0, 3.0, 4.0]) == pytest.approx([0, 0.1, 0.5, 0.4])
    assert ball.support([0.0, 0.0, 0.0, 1.0]) == pytest.approx(0.4)
    assert VariationBall([0.2, 0.8], 5.0).worst_case([1.0, 0.0]).tolist() == [1.0, 0.0]


def test_variation_reaches_classes_of_probability_zero():
    ball = VariationBall([1.0, 0.0], 0.5)
    draws = ball.sample(2000, 0)
    assert ball.contains(draws).all()
    # Uniform on the segment from (1, 0) to (.75, .25).
    error = 0.25 / np.sqrt(12 * 2000)
    assert abs(draws[:, 1].mean() - 0.125) <= 5 * error


@pytest.mark.parametrize("kind", KINDS)
def test_whole_simplex_has_its_area(kind):
    # An equilateral triangle of side sqrt(2).
    ball = kind([0.2, 0.3, 0.5], 50.0)
    assert ball.volume() == pytest.approx(np.sqrt(3) / 2, rel=0.02)


def test_variation_hexagon_has_its_area():
    # Far from the boundary: a regular hexagon of side radius / sqrt(2).
    ball = VariationBall([1 / 3, 1 / 3, 1 / 3], 0.2)
    side = 0.2 / np.sqrt(2)
    assert ball.volume() == pytest.approx(3 * np.sqrt(3) / 2 * side**2, rel=0.02)


def test_small_kl_ball_is_nearly_an_ellipse():
    # D is about sum (p - phat)^2 / (2 phat), so the area is pi 2 radius sqrt(prod).
    nominal, radius = np.array([0.2, 0.3, 0.5]), 1e-5
    area = np.pi * 2 * radius * np.sqrt(np.prod(nominal)) * np.sqrt(3)
    assert KLBall(nominal, radius).volume() == pytest.approx(area, rel=0.02)
    assert UncertaintySet.measure(KLBall(nominal, radius)) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "arguments, message",
    [
        (([0.5, 0.4], 0.1), r"probabilities=...\) must sum to 1, got 0.9"),
        (([1.5, -0.5], 0.1), r"must be at least 0, got probabilities\[1\]=-0.5"),
        (([np.nan, 1.0], 0.1), "must be finite"),
        (([], 0.1), "non-empty vector"),
        (([[1.0]], 0.1), "non-empty vector"),
        (([1.0], -0.1), r"radius=...\) must be a number of at least 0"),
    ],
)
def test_errors(kind, arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        kind(*arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_and_copies(kind):
    nominal = np.array([1 / 3, 1 / 3, 1 / 3], dtype=np.float32)
    ball = kind(nominal, 0.1)
    nominal[:] = 9
    assert ball.probabilities.sum() == pytest.approx(1.0, abs=1e-15)
    assert repr(ball) == f"{kind.__name__}(dim=3, radius=0.1)"


@pytest.mark.parametrize("radius", [1e-40, 1e-200, 5e-324])
def test_a_ball_of_almost_nothing_still_has_a_worst_case(radius):
    worst = KLBall([0.5, 0.3, 0.2], radius).worst_case([1.0, 0.0, 2.0])
    assert worst == pytest.approx([0.5, 0.3, 0.2], abs=1e-15)
