"""Linear programs as oracles: against enumeration, against the grid, and refusals."""

import copy
import itertools

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import InvalidParameter, SolverFailed
from sublevel.models.nets import GridPathOracle, ProgramOracle, SimplexOracle


def draw(n, m, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m))


def test_the_simplex():
    x = cp.Variable(4, nonneg=True)
    costs = draw(40, 4)
    found = ProgramOracle(x, [cp.sum(x) == 1])(costs)
    np.testing.assert_allclose(found, SimplexOracle()(costs), atol=1e-9)


def test_unit_flows_are_grid_paths():
    grid = GridPathOracle(3)
    leaving = np.zeros((9, 12))
    for row, column in itertools.product(range(3), range(3)):
        node = 3 * row + column
        if column < 2:
            leaving[[node, node + 1], grid.east(row, column)] = 1, -1
        if row < 2:
            leaving[[node, node + 3], grid.south(row, column)] = 1, -1
    ends = np.eye(9)[0] - np.eye(9)[8]
    x, costs = cp.Variable(12, nonneg=True), draw(40, 12)
    found = ProgramOracle(x, [leaving @ x == ends])(costs)
    np.testing.assert_allclose(found, grid(costs), atol=1e-9)


def test_whole_decisions_by_enumeration():
    z, weight = cp.Variable(5, boolean=True), np.array([2.0, 3.0, 4.0, 5.0, 6.0])
    costs = draw(30, 5)
    found = ProgramOracle(z, [weight @ z <= 9])(costs)
    every = np.array(
        [v for v in itertools.product([0, 1], repeat=5) if weight @ v <= 9]
    )
    np.testing.assert_allclose(
        found, every[(costs @ every.T).argmin(axis=1)], atol=1e-9
    )


def test_other_variables_are_left_out_of_the_decision():
    # |x| summed needs variables besides; the vertices are those of the 1-norm ball.
    x, costs = cp.Variable(3), draw(20, 3)
    found = ProgramOracle(x, [cp.norm1(x) <= 2])(costs)
    largest = np.abs(costs).argmax(axis=1)
    expected = np.zeros_like(costs)
    rows = np.arange(20)
    expected[rows, largest] = -2 * np.sign(costs[rows, largest])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_it_can_be_copied():
    x = cp.Variable(3, nonneg=True)
    oracle = ProgramOracle(x, [cp.sum(x) == 1])
    costs = draw(5, 3)
    np.testing.assert_array_equal(copy.deepcopy(oracle)(costs), oracle(costs))


def test_what_is_refused():
    x = cp.Variable(3, nonneg=True)
    with pytest.raises(
        InvalidParameter, match=r"must be a cp.Variable of shape \(m,\)"
    ):
        ProgramOracle(cp.Variable((2, 2)), [])
    with pytest.raises(InvalidParameter, match="must be linear"):
        ProgramOracle(x, [cp.norm(x) <= 1])
    with pytest.raises(SolverFailed, match="'Unbounded'"):
        ProgramOracle(x, [])(-np.ones((1, 3)))
    with pytest.raises(SolverFailed, match="Infeasible"):
        ProgramOracle(x, [cp.sum(x) <= -1])(np.ones((1, 3)))
    with pytest.raises(InvalidParameter, match="ProgramOracle"):
        ProgramOracle(x, [x <= 1])(np.ones((1, 4)))
    with pytest.raises(InvalidParameter, match="ProgramOracle"):
        ProgramOracle(x, [x <= 1])(np.full((1, 3), np.nan))
