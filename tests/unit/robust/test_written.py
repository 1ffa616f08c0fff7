"""What is not a model, or hides its uncertain data, is turned away at the door."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter, NotRobustifiable
from sublevel.robust import RobustProblem, Uncertain
from sublevel.sets import Box

R, W = Uncertain(2, name="r"), cp.Variable(2, nonneg=True)
REGIONS = {R: Box([0.0, 0.0], [1.0, 1.0])}
GOAL = cp.Minimize(cp.sum(W))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([R @ W <= 1, True], "bool at position 1. A comparison of two numbers"),
        ([np.True_], "bool at position 0"),
        ([None], "NoneType at position 0"),
        ([[R @ W <= 1]], "list at position 0. Join lists"),
        ([R @ W], "at position 0. Compare it"),
        (R @ W <= 1, "got Inequality. Put a single constraint in brackets"),
        (None, "got NoneType"),
    ],
)
def test_constraints_that_are_none(constraints, message):
    with pytest.raises(InvalidParameter, match=message):
        RobustProblem(GOAL, constraints, REGIONS)


@pytest.mark.parametrize("objective", [R @ W, None, "minimize", 3.0])
def test_objectives_that_are_none(objective):
    with pytest.raises(InvalidParameter, match=r"must be cp.Minimize\(...\) or"):
        RobustProblem(objective, [W <= 1], REGIONS)


@pytest.mark.parametrize("shape", [0, (0,), (2, 0), -1, 2.5, "two"])
def test_outcomes_have_entries(shape):
    with pytest.raises(InvalidParameter, match=r"Uncertain\(shape=...\) must be"):
        Uncertain(shape)


def hidden_in_an_atom():
    u = cp.Variable(2)
    return cp.suppfunc(u, [cp.norm(u) <= 1])(cp.multiply(R, W)) <= 1


def hidden_in_a_problem():
    u = cp.Variable(2)
    inner = cp.Problem(cp.Minimize(cp.norm(u - W)), [R @ u >= 1])
    partial = cp.transforms.partial_optimize.partial_optimize(inner, [u])
    return partial <= 1


def hidden_in_an_indicator():
    return cp.transforms.indicator([R @ W <= 1]) + cp.sum(W) <= 1


def hidden_in_bounds():
    return cp.Variable(2, bounds=[None, R]) >= W


@pytest.mark.parametrize(
    "write",
    [hidden_in_an_atom, hidden_in_a_problem, hidden_in_an_indicator, hidden_in_bounds],
)
def test_hidden_outcomes_are_never_taken_at_their_present_value(write):
    R.value = np.array([0.5, 0.5])
    try:
        with pytest.raises(NotRobustifiable, match="cannot be made robust"):
            RobustProblem(GOAL, [write()], REGIONS).solve()
    finally:
        R.value = None
