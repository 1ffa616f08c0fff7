"""What each label costs above the cheapest of its block, and what is left to spend."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ..checks import Array
from ..label_table import TOLERANCE, Labels, excess_costs


@dataclass(frozen=True, eq=False)
class LabelPrices:
    """Blocks of class costs and a budget, in the layouts that questions need.

    Parameters
    ----------
    costs : tuple of arrays of shape (classes,), one a block
    budget : float

    Examples
    --------
    >>> prices = LabelPrices((np.array([1.0, 3.0]), np.array([0.0])), budget=2.0)
    >>> prices.usable()
    array([ True, False,  True])
    """

    costs: tuple[Array, ...]
    budget: float

    @property
    def sizes(self) -> list[int]:
        """Number of classes of each block."""
        return [cost.size for cost in self.costs]

    def sums(self) -> Array:
        """Matrix of shape (blocks, dim) that sums the coordinates of each block."""
        return np.repeat(np.eye(len(self.costs)), self.sizes, axis=1)

    def table(self, tol: float = TOLERANCE) -> tuple[Array, float]:
        """Excess costs, shape (blocks, classes), inf where there is none; the room."""
        present = np.arange(max(self.sizes)) < np.array(self.sizes)[:, None]
        costs = np.full(present.shape, inf)
        costs[present] = np.concatenate(self.costs)
        excess, room, _ = excess_costs(costs, self.budget, tol)
        return np.where(present, excess, inf), room

    def row(self, tol: float = TOLERANCE) -> tuple[Array, float]:
        """The same excess costs in the order of an outcome, shape (dim,); the room."""
        excess, room = self.table(tol)
        blocks = zip(excess, self.sizes, strict=True)
        return np.concatenate([block[:size] for block, size in blocks]), room

    def usable(self) -> np.ndarray[Any, Any]:
        """Whether each class occurs in some member, shape (dim,)."""
        excess, room = self.row()
        return np.asarray(excess <= room)

    def shares(self) -> Array:
        """Part of the room that each usable class takes, shape (dim,); else zero."""
        excess, room = self.row()
        return np.where(excess <= room, excess, 0.0) / (room if room > 0 else 1.0)

    def inequalities(self) -> tuple[Array, Array]:
        """Rows A and bounds b of { y >= 0, block sums 1, shares'y <= 1 }."""
        sums, each, share = self.sums(), np.eye(sum(self.sizes)), self.shares()
        excluded = each[~self.usable()]
        cost_row = share[None, :] if share.any() else np.zeros((0, share.size))
        rows = [-each, sums, -sums, excluded, cost_row]
        bounds = [0.0, 1.0, -1.0, 0.0, 1.0]
        return np.concatenate(rows), np.repeat(bounds, [len(block) for block in rows])

    def listed(self, most: int) -> Labels | None:
        """Every affordable combination, shape (n, blocks), unless over `most`."""
        excess, room = self.table()
        labels, spent = np.zeros((1, 0), dtype=np.intp), np.zeros(1)
        for row in excess:
            trial = spent[:, None] + row
            parent, label = np.nonzero(trial <= room)
            # Every partial combination has a completion, so many now is many later.
            if parent.size > most:
                return None
            labels = np.column_stack([labels[parent], label])
            spent = trial[parent, label]
        return labels
