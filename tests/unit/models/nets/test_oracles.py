"""Oracles against enumeration of every feasible decision."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from sublevel.errors import InvalidParameter
from sublevel.models.nets import GridPathOracle, SimplexOracle


def all_paths(side):
    """Every east-south path, by hand from the numbering: edges row by row."""
    steps = 2 * (side - 1)
    paths = []
    for easts in combinations(range(steps), side - 1):
        path, row, column = np.zeros(2 * side * (side - 1)), 0, 0
        for step in range(steps):
            first = row * (2 * side - 1)
            if step in easts:
                path[first + column] = 1
                column += 1
            else:
                path[first + side - 1 + column] = 1
                row += 1
        paths.append(path)
    return np.array(paths)


@pytest.mark.parametrize(("side", "count"), [(2, 2), (3, 6), (4, 20), (5, 70)])
def test_the_grid_oracle_finds_the_cheapest_of_all_paths(side, count):
    paths = all_paths(side)
    assert len(paths) == count
    rng = np.random.default_rng(side)
    costs = rng.normal(size=(200, paths.shape[1]))  # negative costs included
    decisions = GridPathOracle(side)(costs)
    values = (costs * decisions).sum(axis=1)
    np.testing.assert_allclose(values, (costs @ paths.T).min(axis=1), atol=1e-12)
    known = {tuple(path) for path in paths}
    assert all(tuple(decision) in known for decision in decisions)


def test_the_edges_of_the_five_by_five_grid():
    oracle = GridPathOracle()
    assert oracle.n_edges == 40
    # East along the top, south along the right; then south first, east at the bottom.
    along_top = [0, 1, 2, 3, 8, 17, 26, 35]
    along_bottom = [4, 13, 22, 31, 36, 37, 38, 39]
    for path in (along_top, along_bottom):
        costs = np.ones((1, 40))
        costs[0, path] = 0.0
        assert np.flatnonzero(oracle(costs)[0]).tolist() == path
    assert (oracle.east(0, 0), oracle.south(0, 0), oracle.east(4, 3)) == (0, 4, 39)


def test_a_grid_path_is_a_unit_flow_and_an_optimal_one():
    oracle, side = GridPathOracle(3), 3
    flow = np.zeros((9, 12))
    for row in range(side):
        for column in range(side):
            node = row * side + column
            if column < side - 1:
                flow[node, oracle.east(row, column)] += 1
                flow[node + 1, oracle.east(row, column)] -= 1
            if row < side - 1:
                flow[node, oracle.south(row, column)] += 1
                flow[node + side, oracle.south(row, column)] -= 1
    supply = np.zeros(9)
    supply[0], supply[8] = 1, -1
    costs = np.random.default_rng(0).uniform(size=(10, 12))
    for cost, decision in zip(costs, oracle(costs), strict=True):
        solved = linprog(cost, A_eq=flow, b_eq=supply)
        assert cost @ decision == pytest.approx(solved.fun)
        np.testing.assert_array_equal(flow @ decision, supply)


def test_a_tie_goes_east():
    assert np.flatnonzero(GridPathOracle(2)(np.ones((1, 4)))[0]).tolist() == [0, 2]


def test_the_simplex_oracle_against_a_linear_program():
    costs = np.random.default_rng(0).normal(size=(20, 4))
    for cost, decision in zip(costs, SimplexOracle()(costs), strict=True):
        solved = linprog(cost, A_eq=np.ones((1, 4)), b_eq=[1.0])
        assert cost @ decision == pytest.approx(solved.fun)
        assert decision.sum() == 1


def test_errors():
    with pytest.raises(InvalidParameter, match=r"side=.* at least 2, got 1"):
        GridPathOracle(1)
    with pytest.raises(InvalidParameter, match=r"shape \(any, 40\), got shape \(1, 39"):
        GridPathOracle()(np.ones((1, 39)))
    with pytest.raises(InvalidParameter, match="must be finite"):
        SimplexOracle()([[np.nan, 1.0]])
