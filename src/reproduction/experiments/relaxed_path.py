"""The shortest path as the paper writes it: a flow, which may split.

Over an ellipsoid the robust flow is a second-order cone program, and splitting spreads
the risk: its optimum need not be a path. Here it is solved by the robust engine, to see
how often that happens at the paper's radius.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from sublevel.checks import Array
from sublevel.models.nets import GridPathOracle
from sublevel.robust import RobustProblem, Uncertain
from sublevel.sets import Ellipsoid

from .ellipsoids import Placed
from .rules import GridPaths

#: A flow on an edge counts as split if it is this far from 0 and from 1.
SPLIT = 1e-3


def relaxed_facts(placed: Placed, radius: float) -> dict[str, Any]:
    """Mean worst cost of flows and of paths, and the share of flows that split."""
    flows = [
        robust_flow(location, scale, radius)
        for location, scale in zip(placed.location, placed.scale, strict=True)
    ]
    x = np.array([flow for flow, _ in flows])
    _, worst = GridPaths().decide(placed.location, placed.scale, radius)
    return {
        "relaxed": float(np.mean([value for _, value in flows])),
        "integer": float(worst.mean()),
        "split": float((np.minimum(x, 1 - x) > SPLIT).any(axis=1).mean()),
    }


def robust_flow(location: Array, scale: Array, radius: float) -> tuple[Array, float]:
    """The robust flow over one ellipsoid, shape (40,), and its worst cost.

    Examples
    --------
    >>> costs = np.random.default_rng(0).normal(size=40)
    >>> flow, value = robust_flow(costs, np.ones(40), radius=1e-6)
    >>> bool(abs(value - GridPaths().best(costs[None])[0]) < 1e-4)
    True
    """
    flow = cp.Variable(len(location), nonneg=True)
    costs = Uncertain(len(location), name="costs")
    into, need = balance()
    problem = RobustProblem(
        cp.Minimize(costs @ flow),
        [into @ flow == need],
        {costs: Ellipsoid(location, scale, radius)},
    )
    decision = problem.solve()
    return np.asarray(decision.value(flow)), float(decision.objective)


def balance(side: int = 5) -> tuple[Array, Array]:
    """Flow out minus flow in at every node but the last, and what it must be."""
    grid = GridPathOracle(side)
    rows = np.zeros((side * side, grid.n_edges))
    for row in range(side):
        for column in range(side):
            for edge, end in (
                (grid.east(row, column), (row, column + 1)),
                (grid.south(row, column), (row + 1, column)),
            ):
                if max(end) < side:
                    rows[row * side + column, edge] = 1.0
                    rows[end[0] * side + end[1], edge] = -1.0
    need = np.zeros(side * side - 1)
    need[0] = 1.0
    return rows[:-1], need
