"""Decisions that stay the best at larger sets, to the digits of a solver.

Where nothing is the best decision, at the largest sets, it has next to nothing at stake
and costs the same at every larger one. Such a decision x, optimal at radius r0 by the
dual's value d, costs  m + r |p|  at a radius r > r0, and nothing costs less than d
there: larger sets have no better decisions. If

    (r - r0) |p|  <=  e,        e what was left open at r0 between x and d,

then x is as good as optimal at r, as it is at r0. So it is a decision that a solver may
give there, and whether it keeps its word at r the judge says, without a solve. A
solver has the most trouble with just these: an objective of next to no size.

A solver may give another one. It costs at most d + 3 e at r, and at least d at r0, so
(r - r0) |p| <= 3 e, and at the outcome q it misses its word by no more than
(|q| - r) 3 e / (r - r0), e the most that was left open at such a level: solvers do not
always come as near. That must be less than the judge forgives: beside a large cost that
is certain, e is large, and what is at stake is not next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Array
from .decisions import DecisionArrays
from .judge.materiality import noise
from .judge.tape import Leaves
from .saddle_cuts import Cuts, Flags, Rows

if TYPE_CHECKING:
    from .solve.prepared import Prepared


class StillBest:
    """For each point the decision with nothing at stake at the lowest level so far.

    Parameters
    ----------
    prepared : the model and its judge
    centres : where sets are centred, shape (N, m)
    outcomes : what came, shape (N, m)
    distance : their whitened lengths |q|, shape (N,)
    """

    def __init__(
        self, prepared: Prepared, centres: Array, outcomes: Array, distance: Array
    ) -> None:
        self._prepared, self._centres, self._outcomes = prepared, centres, outcomes
        self._distance = distance
        n, m = outcomes.shape
        self._radius = np.full(n, np.inf)
        self._middle, self._length, self._open = np.zeros((3, n))
        #: The most that was left open at a point with so little at stake.
        self._widest = np.zeros(n)
        self._feared = np.zeros((n, m))
        self._values: dict[int, Array] = {}

    def learn(self, rows: Rows, cuts: Cuts, arrays: DecisionArrays) -> None:
        """Decisions of points (k,), as they were computed."""
        with np.errstate(invalid="ignore"):
            little = (cuts.radius > 0) & (cuts.reach >= 0) & (cuts.reach <= cuts.gap)
        np.maximum.at(self._widest, rows[little], cuts.gap[little])
        # Of several levels of a point the lowest is written last.
        order = np.flatnonzero(little)[np.argsort(-cuts.radius[little])]
        cuts = cuts.at(order)
        length = cuts.length
        for k, at in enumerate(order.tolist()):
            row = int(rows[at])
            if cuts.radius[k] < self._radius[row]:
                self._radius[row], self._open[row] = cuts.radius[k], cuts.gap[k]
                self._middle[row], self._length[row] = cuts.middle[k], length[k]
                self._feared[row] = arrays.outcomes[0][at]
                self._values[row] = arrays.values[at]

    def kept(self, radius: Array, rows: Rows) -> Flags:
        """Whether decisions at radii (k,) of points (k,) are seen to be kept."""
        kept = np.zeros(len(rows), dtype=bool)
        with np.errstate(invalid="ignore"):
            further = radius - self._radius[rows]
            same = further * self._length[rows] <= self._open[rows]
        at = np.flatnonzero((further > 0) & same)
        if at.size:
            kept[at] = self._is_kept(radius[at], rows[at])
        return kept

    def _is_kept(self, radius: Array, rows: Rows) -> Flags:
        """Whether the judge sees no miss of decisions that stay, nor of others as good.

        Shape (k,).
        """
        prepared = self._prepared
        sense, ruler = prepared.model.sense, prepared.ruler
        centre = self._centres[rows]
        # The worst outcome of a ball moves away from its centre.
        grown = (radius / self._radius[rows])[:, None]
        feared: Sequence[Array] = [centre + grown * (self._feared[rows] - centre)]
        cost = self._middle[rows] + radius * self._length[rows]
        values = np.stack([self._values[row] for row in rows.tolist()])
        outcomes, ordinary = [self._outcomes[rows]], prepared.ordinary()
        miss = ruler.realise(
            np.full(len(rows), "optimal"),
            values,
            np.zeros((len(rows), ruler.rows)),
            sense * cost,
            feared,
            outcomes,
            ordinary,
        ).miss
        # The solver's zeros are others in another solution.
        leaves = Leaves(values, outcomes, ordinary)
        forgiven = noise(ruler, leaves, feared, zeros=False)[:, -1]
        outside = np.maximum(self._distance[rows] - radius, 0.0)
        further = radius - self._radius[rows]
        others = outside * 3 * self._widest[rows] / further
        return np.asarray((miss <= 0) & (others <= forgiven))
