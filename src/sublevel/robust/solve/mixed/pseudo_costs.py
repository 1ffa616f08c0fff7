"""What rounding an integer column down or up has cost so far, by unit of change.

Columns of which little was seen are tried with a few pivots; then the past decides
(reliability branching; Achterberg, Koch & Martin 2005).
"""

from __future__ import annotations

import numpy as np

from ....checks import Array
from ....conic.program import Indices
from .node_program import NodeProgram

#: Seen this often, a column is not tried any more; columns tried at a node.
RELIABLE, MOST_TRIED = 8, 12
#: Gains no smaller than this share of the largest count as such.
SMALL = 1e-6


class PseudoCosts:
    """Gains by unit, of columns rounded down and up.

    Parameters
    ----------
    size : number of integer columns
    """

    def __init__(self, size: int) -> None:
        self._gains, self._seen = np.zeros((2, size)), np.zeros((2, size))

    def choose(self, node: NodeProgram, x: Array, columns: Indices, most: float) -> int:
        """The column to branch on: both sides gain much.

        Parameters
        ----------
        node : its solution is that of the node
        x : integer columns of the solution
        columns : those that are fractional
        most : what a side gains that is closed
        """
        share = x[columns] - np.floor(x[columns])
        room = np.array([share, 1 - share])
        gains = self._expected(columns) * room
        order = np.argsort(-_score(gains), kind="stable")[:MOST_TRIED]
        few = order[self._seen[:, columns[order]].min(axis=0) < RELIABLE]
        if len(few):
            worth = np.array(node.trials(columns[few]))
            tried = np.minimum(worth - node.value, most)
            finite = tried[np.isfinite(tried)].max(initial=0.0)
            tried = np.minimum(tried, 2 * finite + abs(node.value))
            gains[:, few] = tried
            for side in (0, 1):
                self.learn(side, columns[few], tried[side] / room[side, few])
        scores = _score(gains[:, order])
        return int(columns[order[int(np.argmax(scores))]])

    def learn(self, side: int, columns: Indices, gains: Array) -> None:
        """Gains by unit that were seen."""
        self._gains[side, columns] += gains
        self._seen[side, columns] += 1

    def _expected(self, columns: Indices) -> Array:
        """Gains by unit, shape (2, columns): of a column unseen, those of all."""
        total = self._seen.sum(axis=1)
        mean = np.where(total > 0, self._gains.sum(axis=1) / np.maximum(total, 1), 1.0)
        seen = self._seen[:, columns]
        own = self._gains[:, columns] / np.maximum(seen, 1)
        return np.where(seen > 0, own, mean[:, None])


def _score(gains: Array) -> Array:
    least = SMALL * max(float(gains.max(initial=0.0)), SMALL)
    return np.asarray(np.prod(np.maximum(gains, least), axis=0))
