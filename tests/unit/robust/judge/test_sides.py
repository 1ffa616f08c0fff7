"""What rows compare is read off the steps of their residual: the same numbers."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.robust.judge.tape import Leaves

X, S = cp.Variable(3, name="x"), cp.Variable((2, 2), symmetric=True, name="S")
BOX = sl.sets.Box(np.zeros(3), np.ones(3))

CONSTRAINTS = {
    "sum": cp.sum(X) == 1,
    "number on the left": cp.Constant(2.0) >= cp.norm(X),
    "both sides": cp.norm(X) <= cp.sum(X) + 3,
    "the same on both sides": X + 1 >= X - 2,
    "one number for all": X <= 4,
    "numbers": X >= [0.1, -0.2, 0.3],
    "matrix": S @ np.array([1.0, 2.0]) <= X[:2] + 5,
    "cone": cp.SOC(cp.sum(X) + 9, X),
    "semidefinite": S + 9 * np.eye(2) >> 0,
    "exponential": cp.exp(X) <= 50,
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_sizes_are_those_of_the_sides(name):
    y = sl.Uncertain(3, name="y")
    kept = [CONSTRAINTS[name], cp.trace(S) <= 9]
    problem = sl.RobustProblem(cp.Minimize(y @ X + cp.sum(S)), kept, {y: BOX})
    rng = np.random.default_rng(0)
    ruler = problem.prepared().ruler
    width = problem.prepared().layout.sizes[0]
    leaves = Leaves(rng.normal(size=(5, width)), [np.zeros((5, 3))], np.zeros(0))
    part = next(p for p in ruler.certain if p.text == str(CONSTRAINTS[name]))
    value, size = part.at(leaves)
    wanted = np.zeros((5, part.size))
    for side in part.sides:
        rows = np.abs(side.rows(leaves))
        one = rows.shape != wanted.shape
        wanted = np.maximum(wanted, rows.max(axis=1, keepdims=True) if one else rows)
    assert np.array_equal(size, wanted)
    residual = part.residual.rows(leaves)
    assert np.array_equal(value, np.abs(residual) if part.equal else residual)


def test_a_tape_is_part_of_another_only_if_all_its_steps_are():
    y = sl.Uncertain(3, name="y")
    left, right = cp.norm(X, 1), cp.sum(X)
    problem = sl.RobustProblem(cp.Minimize(y @ X), [left <= right + 1], {y: BOX})
    (part,) = problem.prepared().ruler.certain
    assert part.residual.position(part.sides[0]) is not None
    other = sl.RobustProblem(cp.Minimize(y @ X), [2 * left <= right + 1], {y: BOX})
    (twice,) = other.prepared().ruler.certain
    assert part.residual.position(twice.sides[0]) is None
