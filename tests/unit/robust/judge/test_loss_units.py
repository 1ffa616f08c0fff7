"""Every loss and set in units from 1e-8 to 1e8: same verdict and decision, by any road.

Or a sentence that says what to do, and no decision.
"""

from math import log

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel import losses
from sublevel.errors import SublevelError
from sublevel.predictions import Prediction
from sublevel.sets import Sublevel

CENTER, SPREAD = np.array([4.0, 3.0]), np.array([0.5, 1.0])
ROWS = np.vstack([np.eye(2), -np.eye(2), [[1.0, 1.0]]])
MATRIX = np.array([[1.0, 0.3], [0.0, 0.5]])


def spread(loss, budget):
    """A loss whose prediction has a spread."""
    return lambda u: Sublevel(loss(u), Prediction(u * CENTER, u * SPREAD), budget(u))


def located(loss, budget):
    return lambda u: Sublevel(loss(u), Prediction(u * CENTER), budget(u))


def curved(u):
    return losses.Custom(lambda y, c: cp.sum_squares(y - c) / 2 + u * cp.norm1(y - c))


def least_and_more(u):
    return float(losses.NLL().floor(Prediction(u * CENTER, u * SPREAD))) + 0.5


def log_cosh(z):
    """Of a number of any size: half its square, or the number itself."""
    return z * z / 2 if z < 1e-4 else float(np.logaddexp(z, -z)) - log(2)


REGIONS = {
    "squared": located(lambda u: losses.Squared(), lambda u: 0.3 * u**2),
    "absolute": located(lambda u: losses.Absolute(), lambda u: 0.5 * u),
    "huber": located(lambda u: losses.Huber(knee=0.5 * u), lambda u: 0.3 * u**2),
    "epsilon": located(
        lambda u: losses.EpsilonInsensitive(epsilon=0.1 * u), lambda u: 0.5 * u
    ),
    "interval": spread(lambda u: losses.Interval(), lambda u: 0.2 * u),
    "interval shrunk": spread(lambda u: losses.Interval(), lambda u: -0.3 * u),
    "interval, one a point": spread(lambda u: losses.Interval(), lambda u: -0.8 * u),
    "poisson": located(lambda u: losses.Poisson(), lambda u: 0.3 * u),
    "gamma": located(lambda u: losses.Gamma(), lambda u: 0.1),
    "custom": located(curved, lambda u: 0.6 * u**2),
    "gaussian": spread(lambda u: losses.Gaussian(), lambda u: 0.7),
    "nll": spread(lambda u: losses.NLL(), least_and_more),
    "log cosh": located(lambda u: losses.LogCosh(), lambda u: log_cosh(0.8 * u)),
    "box": lambda u: sl.sets.Box(u * (CENTER - SPREAD), u * (CENTER + SPREAD)),
    "ellipsoid": lambda u: sl.sets.Ellipsoid(u * CENTER, u * MATRIX, 1.2),
    "l1": lambda u: sl.sets.L1Ball(u * CENTER, 0.8 * u),
    "budget": lambda u: sl.sets.Budget(u * CENTER, u * SPREAD, 1),
    "polytope": lambda u: sl.sets.Polytope(ROWS, u * np.array([5.0, 4, -3, -2, 8])),
    "finite": lambda u: sl.sets.Finite(u * np.array([[4.0, 3.5], [4.5, 2.0]])),
    "both": lambda u: REGIONS["box"](u) & REGIONS["ellipsoid"](u),
    "either": lambda u: REGIONS["box"](u) | REGIONS["l1"](2 * u),
    "image": lambda u: sl.sets.AffineImage(
        sl.sets.Ellipsoid(np.zeros(2), radius=1.0), u * MATRIX, u * CENTER
    ),
}

FEW = (-8, -3, 8)
POWERS = [
    pytest.param(k, marks=() if k in FEW else pytest.mark.slow)
    for k in range(-8, 9)
    if k
]


def posed(region, unit):
    """Buy what two outcomes may add up to, at prices that differ; and a share of it."""
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
    w = cp.Variable(2, nonneg=True, name="w")
    limits = [x >= y, y @ w <= 6 * unit, cp.sum(w) <= 4]
    goal = cp.Minimize(x @ [1.0, 2.0] - unit * (w @ [3.0, 2.0]))
    return sl.RobustProblem(goal, limits, {y: region}), x, w


ROADS = {
    "solve": lambda problem: problem.solve(),
    "cuts": lambda problem: problem.solve(engine="cuts"),
    "decide": lambda problem: problem.compile().decide()[0],
}


@pytest.fixture(scope="module")
def plain():
    return {}


def answer(name, unit, road):
    problem, x, _ = posed(REGIONS[name](unit), unit)
    decision = ROADS[road](problem)
    return decision.status, decision.objective / unit, decision.value(x) / unit


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("name", REGIONS)
def test_units(plain, name, road, power):
    if name not in plain:
        plain[name] = answer(name, 1.0, "solve")
    status, objective, bought = plain[name]
    assert status == "optimal"
    region = REGIONS[name](1.0)
    np.testing.assert_allclose(
        bought, [region.support(axis) for axis in np.eye(2)], rtol=1e-5
    )
    sentence = None
    try:
        one = answer(name, 10.0**power, road)
    except SublevelError as error:
        sentence = str(error)
    if sentence is not None:
        assert name == "custom"
        assert sentence.endswith(".")
        return
    assert one[0] == "optimal"
    if name != "log cosh":
        # A loss without units has other sets in other ones.
        assert one[1] == pytest.approx(objective, rel=1e-5)
    np.testing.assert_allclose(one[2], bought, rtol=1e-5)
