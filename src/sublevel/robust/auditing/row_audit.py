"""The audit of many decisions at once, row by row of the uncertain constraints.

For each row the sets' oracles name the worst outcome at every context, and the row is
evaluated there. Auxiliary variables (the t of t >= piece, for a maximum) are not
believed either: those that rows bound from below are set to the least value the worst
outcomes allow, innermost first. What is left says by how much the user's own constraint
holds, and what the objective is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ...checks import Array
from .row_check import FINAL, Evaluated, RowCheck

#: Share of the unit that is added to the size of what a row compares, so that rounding
#: at zero is not taken for an error.
FLOOR = 0.01


@dataclass(frozen=True)
class RowReport:
    """What the rows of n decisions say.

    Attributes
    ----------
    violations : array of shape (n, number of uncertain constraints), in their units
    worst : array of shape (n,), the largest violation relative to what its row compares
    objective_slack : array of shape (n,), 0 where the objective is certain
    gap : array of shape (n,), the same relative to the size of the objective's terms
    outcomes : key number -> array of shape (n, dim): the outcome worst for the
        objective, or for the constraint with the least slack
    binding : array of shape (n,), the constraint with the least slack, -1 if none
    """

    violations: Array
    worst: Array
    objective_slack: Array
    gap: Array
    outcomes: dict[int, Array]
    binding: Any


@dataclass(frozen=True)
class Claims:
    """What n decisions claim, and what they are held against.

    Attributes
    ----------
    x : array of shape (n, nx)
    promised : array of shape (n,), the solver's value of the objective
    fixed : slot vector with the ordinary parameters' values
    oracles : for each key, an object with `dim`, `worst_case` and `worst_on`
    scale : array of shape (n,), the unit of outcomes at each context
    """

    x: Array
    promised: Array
    fixed: Array
    oracles: list[Any]
    scale: Array


def audit_rows(rows: Sequence[RowCheck], parts: int, claims: Claims) -> RowReport:
    """Evaluate every row of n decisions at its worst outcome.

    Parameters
    ----------
    rows : those that define auxiliary variables first, innermost first
    parts : number of uncertain constraints, the objective not counted
    """
    return _Audit(rows, parts, claims).report()


class _Audit:
    """The state of one audit."""

    def __init__(self, rows: Sequence[RowCheck], parts: int, claims: Claims) -> None:
        n = len(claims.x)
        self.rows, self.claims, self.x = rows, claims, claims.x
        self.slacks, self.worst = np.full((n, parts), np.inf), np.zeros(n)
        self.objective, self.gap = np.full(n, np.inf), np.zeros(n)
        # The row whose outcome is told, and how tight the row was that chose it.
        self.source, self.tightest = np.full(n, -1), np.full(n, np.inf)
        # For each variable that was set, the row whose outcome set it.
        self.set_by: dict[int, Any] = {}
        self.aims_objective = any(row.part < 0 for row in rows)
        self.last: tuple[int, Evaluated] | None = None

    def report(self) -> RowReport:
        """Evaluate every row, and put together what they say."""
        numbered = enumerate(self.rows)
        for column, group in groupby(numbered, key=lambda item: item[1].defines):
            if column == FINAL:
                for number, row in group:
                    self._judge(number, row)
            else:
                self._set(column, list(group))
        n, parts = self.slacks.shape
        return RowReport(
            np.maximum(-self.slacks, 0.0),
            self.worst,
            np.where(np.isfinite(self.objective), self.objective, 0.0),
            self.gap,
            self._outcomes(),
            np.argmin(self.slacks, axis=1) if parts else np.full(n, -1),
        )

    def _evaluate(self, number: int, row: RowCheck) -> Evaluated:
        told = self.claims
        found = row.evaluate(self.x, told.promised, told.fixed, told.oracles)
        if row.slopes:
            self.last = number, found
        return found

    def _set(self, column: int, group: list[tuple[int, RowCheck]]) -> None:
        """Set an auxiliary variable to the least value its rows allow."""
        least, source = np.full(len(self.x), -np.inf), np.full(len(self.x), -1)
        for number, row in group:
            found = self._evaluate(number, row)
            needed = self.x[:, column] - found.slack / found.own
            source = np.where(needed > least, self._source(number, row), source)
            least = np.maximum(least, needed)
        if not self.set_by:
            self.x = self.x.copy()
        self.x[:, column], self.set_by[column] = least, source

    def _judge(self, number: int, row: RowCheck) -> None:
        """Count a row of the user's constraint, or of the objective."""
        found = self._evaluate(number, row)
        unit = FLOOR * self.claims.scale**row.unit
        relative = found.slack / (unit + found.size)
        if row.part < 0 and found.weight:
            slack = found.slack / abs(found.weight)
            self.gap = np.where(slack < self.objective, np.abs(relative), self.gap)
            self.objective = np.minimum(self.objective, slack)
        else:
            self.worst = np.maximum(self.worst, -relative)
        if row.part >= 0:
            least = np.minimum(self.slacks[:, row.part], found.slack)
            self.slacks[:, row.part] = least
        if (row.part < 0) == self.aims_objective:
            closer = relative < self.tightest
            self.tightest = np.where(closer, relative, self.tightest)
            self.source = np.where(closer, self._source(number, row), self.source)

    def _source(self, number: int, row: RowCheck) -> Any:
        """The row whose outcome a row is worst at: itself, or one it builds on."""
        if row.slopes:
            return number
        for column in row.columns.tolist():
            if column in self.set_by and column != row.defines:
                return self.set_by[column]
        return -1

    def _outcomes(self) -> dict[int, Array]:
        """Outcomes that are worst for the rows that matter most."""
        oracles = self.claims.oracles
        if self.last is not None and (self.source == self.last[0]).all():
            row, found = self.rows[self.last[0]], self.last[1].outcomes
            entries = [len(row.entries.get(k, ())) for k in range(len(oracles))]
            if entries == [oracle.dim for oracle in oracles] and not row.equal:
                return found
        directions = [np.zeros((len(self.x), oracle.dim)) for oracle in oracles]
        for number in np.unique(self.source[self.source >= 0]).tolist():
            row, at = self.rows[number], np.flatnonzero(self.source == number)
            known = row.known(self.x[at], self.claims.promised[at])
            for key, slope in row.directions(known).items():
                directions[key][np.ix_(at, row.entries[key])] = slope
        pairs = enumerate(zip(oracles, directions, strict=True))
        return {key: oracle.worst_case(at) for key, (oracle, at) in pairs}
