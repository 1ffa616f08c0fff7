"""Running sums spelled out are the running sums, and stay exact in the outcome."""

import warnings
from itertools import product

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


@pytest.mark.parametrize(("first", "second"), [((2, 1), (2, 2)), ((2, 3), (3, 2))])
def test_kronecker_products_of_a_parameter(first, second):
    numbers = RNG.normal(size=first)
    given = cp.Parameter(second, value=RNG.normal(size=second))
    for written in (cp.kron(numbers, given), cp.kron(given, numbers)):
        found = spelled_out(written)
        assert found.is_dpp()
        assert not written.is_dpp()
        np.testing.assert_array_equal(found.value, written.value)
    plain = cp.kron(numbers, cp.Variable(second))
    assert spelled_out(plain) is plain


def test_kronecker_products_of_outcomes_are_exact():
    """Every corner of the box is looked at."""
    z, x, t = Uncertain((2, 2), name="z"), np.array([[1.0], [-0.5]]), cp.Variable()
    corners = np.array(list(product([-1.0, 2.0], repeat=4))).reshape(-1, 2, 2)
    box = {z: Box(np.full(4, -1.0), np.full(4, 2.0))}
    w = cp.Variable((2, 1))
    for term in (cp.kron(z, w), cp.kron(w, z)):
        worst = max(
            (np.kron(c, x) if term.args[0] is z else np.kron(x, c)).max()
            for c in corners
        )
        robust = RobustProblem(cp.Minimize(t), [term <= t, w == x], box)
        for engine in ("dual", "cuts"):
            decision = robust.solve(engine=engine)
            assert decision.objective == pytest.approx(worst, abs=1e-6)
            assert decision.audit.passed


def test_a_running_sum_of_outcomes_is_exact():
    """max x with x * (r1 + ... + rt) <= t and r <= (2, 1, 3): binding at t = 1."""
    r, x = Uncertain(3, name="r"), cp.Variable()
    rows = [cp.cumsum(r * x) <= np.arange(1.0, 4.0)]
    robust = RobustProblem(cp.Maximize(x), rows, {r: Box([1, 0, 1], [2, 1, 3])})
    for engine in ("dual", "cuts"):
        assert robust.solve(engine=engine).objective == pytest.approx(0.5, abs=1e-6)
