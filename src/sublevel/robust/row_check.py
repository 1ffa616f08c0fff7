"""The audit of many decisions at once, row by row of the uncertain constraints.

For each row the sets' oracles name the worst outcome at every context, and the row is
evaluated there. A decision whose rows all hold keeps the user's constraints for every
outcome: the auxiliary variables of the rows are a witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array

#: Stands for a column: the value of the objective, where it is no variable.
GOAL = -1


@dataclass(frozen=True)
class RowCheck:
    """One uncertain row, as arrays.

    Attributes
    ----------
    part : number of the uncertain constraint it belongs to; -1 for the objective
    columns : columns of x the row speaks of, shape (k,); GOAL for the objective's value
    certain : array of shape (k + 1,), the row without the outcome; constant last
    slopes : key number -> sparse (entries, k + 1)
    entries : key number -> which entries of the key, shape (entries,)
    """

    part: int
    columns: Any
    certain: Array
    slopes: dict[int, Any]
    entries: dict[int, Any]

    def worst(
        self, x: Array, promised: Array, oracles: list[Any]
    ) -> tuple[Array, Array, dict[int, Any]]:
        """Slack at the worst outcome and size of the row, (n,); and the outcomes."""
        known = np.hstack([x[:, self.columns], np.ones((len(x), 1))])
        known[:, :-1][:, self.columns == GOAL] = promised[:, None]
        constant = known @ self.certain
        slack, outcomes = constant.copy(), {}
        for key, matrix in self.slopes.items():
            slope = np.asarray((matrix @ known.T).T)
            direction = np.zeros((len(x), oracles[key].dim))
            direction[:, self.entries[key]] = slope
            outcomes[key] = oracles[key].worst_case(direction)
            slack -= np.sum(slope * outcomes[key][:, self.entries[key]], axis=1)
        return slack, 1 + np.abs(constant), outcomes


@dataclass(frozen=True)
class RowReport:
    """What the rows of n decisions say.

    Attributes
    ----------
    violations : array of shape (n, number of uncertain constraints), in their units
    kept : array of shape (n,), whether every violation is within tolerance
    objective_slack : array of shape (n,), 0 where the objective is certain
    outcomes : key number -> array of shape (n, dim): the outcome worst for the
        objective, or for the constraint with the least slack
    binding : array of shape (n,), the constraint with the least slack, -1 if none
    """

    violations: Array
    kept: Any
    objective_slack: Array
    outcomes: dict[int, Array]
    binding: Any


def check_rows(
    rows: Sequence[RowCheck],
    parts: int,
    x: Array,
    promised: Array,
    oracles: list[Any],
    tolerance: float,
) -> RowReport:
    """Evaluate every row of n decisions at its worst outcome.

    Parameters
    ----------
    parts : number of uncertain constraints, the objective not counted
    x : array of shape (n, nx)
    promised : array of shape (n,), the solver's value of the objective
    oracles : for each key, an object with `dim` and `worst_case(directions)`
    """
    n = len(x)
    slacks = np.full((n, parts), np.inf)
    kept = np.ones(n, dtype=bool)
    objective = np.full(n, np.inf)
    tightest = np.full(n, np.inf)
    aims_objective = any(row.part < 0 for row in rows)
    outcomes = {k: o.worst_case(np.zeros((n, o.dim))) for k, o in enumerate(oracles)}
    for row in rows:
        slack, size, worst = row.worst(x, promised, oracles)
        if row.part < 0:
            objective = np.minimum(objective, slack)
        else:
            slacks[:, row.part] = np.minimum(slacks[:, row.part], slack)
            kept &= slack >= -tolerance * size
        if (row.part < 0) == aims_objective:
            closer = slack / size < tightest
            tightest = np.where(closer, slack / size, tightest)
            for key, found in worst.items():
                outcomes[key] = np.where(closer[:, None], found, outcomes[key])
    binding = np.argmin(slacks, axis=1) if parts else np.full(n, -1)
    slack = np.where(np.isfinite(objective), objective, 0.0)
    return RowReport(np.maximum(-slacks, 0.0), kept, slack, outcomes, binding)
