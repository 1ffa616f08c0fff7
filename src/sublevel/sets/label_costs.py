"""What labels cost, how many combinations a budget allows, and one of them at random.

A table for each block says how many ways the later blocks can be labelled at each
cost; equal costs are merged. Drawing forward through the tables is exactly uniform.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ..checks import Array, BoolArray
from ..errors import InvalidParameter
from ..labels.table import Labels, excess_costs


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

    def table(self) -> tuple[Array, float]:
        """Excess costs, shape (blocks, classes), inf where there is none; the room."""
        present = np.arange(max(self.sizes)) < np.array(self.sizes)[:, None]
        costs = np.full(present.shape, inf)
        costs[present] = np.concatenate(self.costs)
        excess, room, _ = excess_costs(costs, self.budget)
        return np.where(present, excess, inf), room

    def row(self) -> tuple[Array, float]:
        """The same excess costs in the order of an outcome, shape (dim,); the room."""
        excess, room = self.table()
        blocks = zip(excess, self.sizes, strict=True)
        return np.concatenate([block[:size] for block, size in blocks]), room

    def usable(self) -> BoolArray:
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


#: Most distinct partial costs for which combinations are counted.
MOST_COSTS = 1_000_000


@dataclass(frozen=True, eq=False)
class LabelCount:
    """Numbers of affordable completions, from the last block to the first.

    Parameters
    ----------
    excess : array of shape (blocks, classes)
        Cost of each class above the least of its block; inf where there is none.
    room : float
        Largest total excess.

    Examples
    --------
    >>> count = LabelCount(np.array([[0.0, 1.0], [0.0, 1.0]]), room=1.0)
    >>> count.total()
    3.0
    """

    excess: Array
    room: float

    def total(self) -> float:
        """Number of affordable combinations."""
        return float(self._tables()[0][1][-1])

    def draw(self, size: int, rng: np.random.Generator) -> Labels:
        """Combinations drawn uniformly, shape (size, blocks)."""
        tables = self._tables()
        spent = np.zeros(size)
        labels = np.empty((size, len(self.excess)), dtype=np.intp)
        for k, excess in enumerate(self.excess):
            trial = spent[:, None] + excess
            ways = _ways(tables[k + 1], self.room - trial)
            # Whatever the rounding, the cheapest class always has a completion.
            reached = np.cumsum(np.maximum(ways, excess == 0.0), axis=1)
            level = rng.random(size) * reached[:, -1]
            labels[:, k] = np.argmax(reached > level[:, None], axis=1)
            spent = trial[np.arange(size), labels[:, k]]
        return labels

    def _tables(self) -> list[tuple[Array, Array]]:
        """For blocks k, k + 1, ...: sorted costs and running counts, each (n,)."""
        tables = [(np.zeros(1), np.ones(1))]
        for excess in self.excess[::-1]:
            costs, running = tables[0]
            counts = np.diff(running, prepend=0.0)
            tables.insert(0, self._merge(costs, counts, excess))
        return tables

    def _merge(self, costs: Array, counts: Array, excess: Array) -> tuple[Array, Array]:
        sums = np.add.outer(excess[excess <= self.room], costs)
        weights = np.broadcast_to(counts, sums.shape)[sums <= self.room]
        # Sums of the same costs in another order differ by rounding only.
        grain = 1e-12 * self.room if self.room > 0 else 1.0
        keys, group = np.unique(
            np.round(sums[sums <= self.room] / grain), return_inverse=True
        )
        if keys.size > MOST_COSTS:
            raise InvalidParameter(
                f"LabelSet(costs=...) must have at most {MOST_COSTS} distinct partial "
                "costs for its members to be counted or sampled. Round the costs, "
                "lower the budget or use fewer blocks."
            )
        return keys * grain, np.cumsum(np.bincount(group, weights=weights))


def _ways(table: tuple[Array, Array], room: Array) -> Array:
    """Number of completions whose cost fits in the room, of the shape of `room`."""
    costs, running = table
    # Rounded costs may exceed the room they came from by half a grain.
    index = np.searchsorted(costs, room + 1e-11 * np.abs(costs[-1]), side="right")
    return np.where(room >= 0.0, np.append(0.0, running)[index], 0.0)
