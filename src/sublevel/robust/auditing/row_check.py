"""A row of an uncertain constraint, evaluated at the worst outcome of many contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array

#: Stands for a column: the value of the objective.
GOAL = -1
#: Defines no auxiliary variable: a row of the user's constraint itself.
FINAL = -1


@dataclass(frozen=True)
class RowCheck:
    """One row of an uncertain constraint, as arrays.

    Attributes
    ----------
    part : number of the uncertain constraint it belongs to; -1 for the objective
    columns : columns of x the row speaks of, shape (k,); GOAL for the objective's value
    certain : sparse (k + 1, slots + 1), the row without the outcome, by slot of the
        program; constant last
    slopes : key number -> sparse (entries, k + 1), the direction that hurts
    entries : key number -> which entries of the key, shape (entries,)
    equal : whether it must be zero, not just nonnegative
    defines : column of x that the row bounds from below, or FINAL
    unit : exponent of the outcomes' unit
    """

    part: int
    columns: Any
    certain: Any
    slopes: dict[int, Any]
    entries: dict[int, Any]
    equal: bool = False
    defines: int = FINAL
    unit: int = 0

    def known(self, x: Array, promised: Array) -> Array:
        """What the row speaks of, with a one at the end: shape (n, k + 1)."""
        found = np.empty((len(x), len(self.columns) + 1))
        found[:, :-1] = x[:, self.columns]
        found[:, -1] = 1.0
        goal = np.flatnonzero(self.columns == GOAL)
        if goal.size:
            found[:, goal] = promised[:, None]
        return found

    def directions(self, known: Array) -> dict[int, Array]:
        """Key number -> the direction that hurts, shape (n, entries)."""
        return {
            key: np.ascontiguousarray((matrix @ known.T).T)
            for key, matrix in self.slopes.items()
        }

    def evaluate(
        self, x: Array, promised: Array, fixed: Array, oracles: list[Any]
    ) -> Evaluated:
        """The row at its worst outcome, for each of n decisions.

        Parameters
        ----------
        fixed : slot vector with the ordinary parameters' values
        oracles : for each key, an object with `worst_on(entries, directions)`
        """
        known = self.known(x, promised)
        certain = np.asarray(self.certain @ fixed)
        slack, size = known @ certain, np.abs(known) @ np.abs(certain)
        other, outcomes = slack.copy(), {}
        for key, slope in self.directions(known).items():
            outcomes[key] = oracles[key].worst_on(self.entries[key], slope)
            terms = slope * outcomes[key]
            slack -= terms.sum(axis=1)
            size += np.abs(terms).sum(axis=1)
            if self.equal:
                opposite = oracles[key].worst_on(self.entries[key], -slope)
                other -= np.sum(slope * opposite, axis=1)
        if self.equal:
            slack = -np.maximum(np.abs(slack), np.abs(other))
        return Evaluated(
            slack,
            size,
            float(certain[:-1][self.columns == GOAL].sum()),
            float(certain[:-1][self.columns == self.defines].sum()),
            outcomes,
        )


@dataclass(frozen=True)
class Evaluated:
    """A row at n decisions.

    Attributes
    ----------
    slack : array of shape (n,), what must not be negative
    size : array of shape (n,), sum of the sizes of the terms
    weight : coefficient of the objective's value in the row
    own : coefficient of the variable the row defines
    outcomes : key number -> array of shape (n, entries), where it was evaluated
    """

    slack: Array
    size: Array
    weight: float
    own: float
    outcomes: dict[int, Array]
