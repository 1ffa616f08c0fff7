"""Exact linear optimisation for many cost vectors at once.

An oracle is any callable that maps costs of shape (n, m) to decisions of shape (n, m),
row by row a minimiser of cost @ decision over the feasible set. `SPOPlusRegressor`
takes one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array, as_matrix
from ...errors import InvalidParameter

Oracle = Callable[[Array], Array]


@dataclass(frozen=True)
class SimplexOracle:
    """Put everything on the cheapest component: decisions >= 0 that sum to one.

    Among equally cheap components the first is taken. To maximise a return, pass minus
    the return as cost.

    Examples
    --------
    >>> SimplexOracle()(np.array([[3.0, 1.0, 2.0], [-1.0, 0.0, 0.0]]))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """

    def __call__(self, costs: Any) -> Array:
        found = as_matrix("SimplexOracle", "costs", costs)
        decisions = np.zeros_like(found)
        decisions[np.arange(len(found)), found.argmin(axis=1)] = 1.0
        return decisions


@dataclass(frozen=True)
class GridPathOracle:
    """Cheapest path through a square grid, moving east or south.

    From the north-west corner to the south-east one, by dynamic programming over
    anti-diagonals: 2 (side - 1) vectorised steps for any number of cost vectors.
    Costs may be negative. On a tie the path goes east.

    Edges are numbered row by row: the side - 1 edges east within a row of nodes, then
    the side edges south to the next row, 2 side (side - 1) in all (Elmachtoub & Grigas
    2022 use side=5, so 40 edges).

    Parameters
    ----------
    side : int
        Nodes along a side of the grid, at least 2.

    Examples
    --------
    A 2 x 2 grid has the edges east (top), south (left), south (right), east (bottom).

    >>> GridPathOracle(side=2)(np.array([[1.0, 5.0, 1.0, 5.0], [5.0, 1.0, 5.0, 1.0]]))
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """

    side: int = 5

    def __post_init__(self) -> None:
        if not (isinstance(self.side, int | np.integer) and self.side >= 2):
            raise InvalidParameter(
                f"GridPathOracle(side=...) must be a whole number of at least 2, "
                f"got {self.side!r}."
            )

    @property
    def n_edges(self) -> int:
        """Number of edges, hence of costs."""
        return 2 * self.side * (self.side - 1)

    def __call__(self, costs: Any) -> Array:
        shape = (None, self.n_edges)
        found = as_matrix("GridPathOracle", "costs", costs, shape)
        return self._walk(self._go_east(found))

    def east(self, row: Any, column: Any) -> Any:
        """Number of the edge that leaves a node eastwards."""
        return row * (2 * self.side - 1) + column

    def south(self, row: Any, column: Any) -> Any:
        """Number of the edge that leaves a node southwards."""
        return self.east(row, column) + self.side - 1

    def _go_east(self, costs: Array) -> Any:
        """Whether the cheapest path from a node starts eastwards: (n, side, side)."""
        last = self.side - 1
        # One row and one column beyond the grid: no way out there.
        to_go = np.full((len(costs), self.side + 1, self.side + 1), np.inf)
        to_go[:, last, last] = 0.0
        choice = np.zeros((len(costs), self.side, self.side), dtype=bool)
        for diagonal in range(2 * last - 1, -1, -1):
            row = np.arange(max(0, diagonal - last), min(diagonal, last) + 1)
            column = diagonal - row
            east = to_go[:, row, column + 1].copy()
            south = to_go[:, row + 1, column].copy()
            can = column < last
            east[:, can] += costs[:, self.east(row[can], column[can])]
            can = row < last
            south[:, can] += costs[:, self.south(row[can], column[can])]
            choice[:, row, column] = east <= south
            to_go[:, row, column] = np.minimum(east, south)
        return choice

    def _walk(self, go_east: Any) -> Array:
        """Follow the choices from the north-west corner."""
        which = np.arange(len(go_east))
        row = np.zeros(len(go_east), dtype=int)
        column = np.zeros_like(row)
        decisions = np.zeros((len(go_east), self.n_edges))
        for _ in range(2 * (self.side - 1)):
            east = go_east[which, row, column]
            edge = np.where(east, self.east(row, column), self.south(row, column))
            decisions[which, edge] = 1.0
            row, column = row + ~east, column + east
        return decisions


def ask(oracle: Oracle, costs: Array) -> Array:
    """The oracle's decisions, checked for shape and finiteness."""
    found = np.array(oracle(costs), dtype=float)
    if found.shape != costs.shape or not np.isfinite(found).all():
        raise InvalidParameter(
            f"An oracle must map costs of shape {costs.shape} to finite decisions of "
            f"the same shape, got shape {found.shape}."
        )
    return found
