"""Running sums spelled out are the running sums, and stay exact in the outcome."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model.spelling import spelled_out
from sublevel.sets import Box

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("shape", "axis"), [(4, 0), (4, -1), ((2, 3), 0), ((2, 3), 1), ((2, 3), None)]
)
def test_values(shape, axis):
    x = cp.Variable(shape, value=RNG.normal(size=shape))
    found = spelled_out(2 * cp.cumsum(x, axis=axis) + 1)
    assert found.value == pytest.approx(2 * np.cumsum(x.value, axis=axis) + 1)


def test_the_running_sum_of_one_number():
    x = cp.Variable(value=3.0)
    with warnings.catch_warnings():
        # Recent versions of CVXPY announce a change of shape.
        warnings.simplefilter("ignore")
        assert spelled_out(cp.cumsum(x)).value == 3.0


def test_what_has_none_stays_the_same_object():
    x = cp.Variable(3)
    constraint = cp.norm(x) + cp.sum(x) <= 1
    assert spelled_out(constraint) is constraint


def test_a_running_sum_of_outcomes_is_exact():
    """max x with x * (r1 + ... + rt) <= t and r <= (2, 1, 3): binding at t = 1."""
    r, x = Uncertain(3, name="r"), cp.Variable()
    rows = [cp.cumsum(r * x) <= np.arange(1.0, 4.0)]
    robust = RobustProblem(cp.Maximize(x), rows, {r: Box([1, 0, 1], [2, 1, 3])})
    for engine in ("dual", "cuts"):
        assert robust.solve(engine=engine).objective == pytest.approx(0.5, abs=1e-6)
