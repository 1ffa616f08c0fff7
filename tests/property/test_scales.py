"""The same problem in other units has the same answer in those units."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel import losses
from sublevel.errors import InvalidParameter
from sublevel.sets import Box, Ellipsoid, Intersection, KLBall, Polytope, Sublevel

CENTER, DIRECTION = np.array([1.0, 2.0]), np.array([1.0, 0.2])
UNITS = [1e-6, 1e-3, 1e3, 1e6, 1e8]

# name: (loss in units k, budget in units k)
SCALED = {
    "squared": (lambda k: losses.Squared(), lambda k: k**2),
    "absolute": (lambda k: losses.Absolute(), lambda k: k),
    "huber": (lambda k: losses.Huber(0.5 * k), lambda k: 0.6 * k**2),
    "pinball": (lambda k: losses.Pinball(0.7), lambda k: k),
    "epsilon": (lambda k: losses.EpsilonInsensitive(0.1 * k), lambda k: k),
    "poisson": (lambda k: losses.Poisson(), lambda k: 0.5 * k),
    "gamma": (lambda k: losses.Gamma(), lambda k: 0.5),
}


def region(name, k):
    loss, budget = SCALED[name]
    return Sublevel(loss(k), k * CENTER, budget(k))


@pytest.mark.parametrize("k", UNITS)
@pytest.mark.parametrize("name", SCALED)
def test_support_and_membership_do_not_depend_on_units(name, k):
    base, scaled = region(name, 1.0), region(name, k)
    for direction in (DIRECTION, -DIRECTION, np.array([0.0, 1.0])):
        support = base.support(direction)
        assert scaled.support(direction) / k == pytest.approx(support, rel=1e-9)
        assert scaled.support(1e-150 * direction) / k == pytest.approx(
            1e-150 * support, rel=1e-9
        )
        worst = scaled.worst_case(direction)
        assert scaled.contains(worst)
        beyond = k * CENTER + 1.0001 * (worst - k * CENTER)
        assert not scaled.contains(beyond)


@pytest.mark.parametrize("k", UNITS[:-1])
@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("other", ["box", "ellipsoid"])
def test_intersections_do_not_depend_on_units(name, k, other):
    def cut(k):
        center = k * CENTER
        if other == "box":
            return Box(center - 0.8 * k, center + 0.8 * k)
        return Ellipsoid(center, k, 0.9)

    support = Intersection((region(name, 1.0), cut(1.0))).support(DIRECTION)
    scaled = Intersection((region(name, k), cut(k))).support(DIRECTION)
    assert scaled / k == pytest.approx(support, rel=2e-6)


def test_a_loss_left_to_a_solver_refuses_extreme_units():
    loss = losses.Custom(lambda y, location: cp.norm(y - location, 4))
    for k in (1e-8, 1e8):
        with pytest.raises(InvalidParameter, match="Change the units"):
            Sublevel(loss, k * CENTER, k).support(DIRECTION)
    base = Sublevel(loss, CENTER, 1.0).support(DIRECTION)
    for k in (1e-3, 1e3):
        scaled = Sublevel(loss, k * CENTER, k)
        assert scaled.support(DIRECTION) / k == pytest.approx(base, rel=1e-6)
        assert scaled.contains(scaled.worst_case(DIRECTION))


def test_coverage_is_not_overstated_in_small_units():
    """Membership forgives relative rounding only, whatever the units."""
    rng = np.random.default_rng(0)
    outcomes = rng.normal(size=(1000, 1))
    for k in (1e-9, 1.0, 1e9):
        value = Sublevel(losses.Squared(), np.zeros(1), (1.5 * k) ** 2)
        assert value.contains(k * outcomes).mean() == np.mean(np.abs(outcomes) <= 1.5)


def test_nll_tolerance_is_relative_to_the_set_not_to_the_log_variances():
    from sublevel.predictions import Prediction

    said = Prediction(np.zeros(100), np.full(100, 1e-6))
    floor = float(losses.NLL().floor(said))
    value = Sublevel(losses.NLL(), said, floor + 1e-4)
    assert not value.contains(np.full(100, 1.6e-8))
    assert value.contains(np.zeros(100))


@pytest.mark.parametrize("radius", [1e-16, 1e-12, 1e-6, 1e-2])
def test_tiny_kl_balls(radius):
    """Near the center the ball is an ellipsoid: p'v + sqrt(2 radius Var_p v)."""
    p, v = np.array([0.5, 0.3, 0.2]), np.array([1.0, -1.0, 0.5])
    reach = np.sqrt(2 * radius * (p @ v**2 - (p @ v) ** 2))
    found = KLBall(p, radius).support(v) - p @ v
    assert found == pytest.approx(reach, rel=0.2, abs=1e-15)


@pytest.mark.parametrize("k", [1e-8, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("row", [1e-10, 1.0, 1e8])
def test_polytopes_in_any_units(k, row):
    rows = np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
    triangle = Polytope(row * rows, row * k * np.array([0.0, 0.0, 1.5]))
    assert triangle.support([1.0, 2.0]) == pytest.approx(3.0 * k, rel=1e-9)
