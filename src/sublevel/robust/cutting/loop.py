"""Cutting planes: solve for the outcomes seen so far, ask for worse ones, repeat.

The master problem protects against finitely many outcomes, so its value is a bound on
the robust one. The sets' oracles name the worst outcome of every row; where a row
fails, that outcome joins the master (Mutapcic & Boyd 2009). Nothing is asked of a set
but its oracle, so labels and unions are exact too.

A master that is unbounded is asked for a direction in which it improves for ever; a
row that fails in that direction is cut there. If none does, the robust problem has no
best decision either, provided it has any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import cvxpy as cp

from ...checks import Array
from ...errors import SolverFailed
from ..auditing.audit import TOLERANCE as AUDIT_TOLERANCE
from ..modelling.counterpart import Key, UncertainRow
from .scenarios import Joint, Scenarios

#: Decisions kept for the case that the rounds run out.
MOST_KEPT = 20


class Separation(NamedTuple):
    """A row at its worst outcome: by how much it fails, and relative to its size."""

    outcomes: Joint
    excess: float
    violation: float


@dataclass(frozen=True)
class Cutting:
    """How it went.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded" or "stopped_early"
    bound : what no robust decision beats; nan where unknown
    rounds : how often the master was solved
    scenarios : parameter -> outcomes, shape (n, size)
    kept : snapshots of the most promising masters' solutions
    """

    status: str
    bound: float
    rounds: int
    scenarios: dict[Any, Array]
    kept: list[Any]


class Loop:
    """Rounds of solving and separating.

    Parameters
    ----------
    master : LinearMaster or CvxpyMaster
    rows : the uncertain rows
    sets : the set of every key
    sign : 1.0 to minimise, -1.0 to maximise
    constraints : how many rows are constraints; the others bound the objective
    """

    def __init__(
        self,
        master: Any,
        rows: list[UncertainRow],
        sets: dict[Key, Any],
        sign: float,
        constraints: int,
    ) -> None:
        self._master, self._rows, self._sets = master, rows, sets
        self._sign, self._constraints = sign, constraints
        self._seen = Scenarios(rows, sets)
        self._kept: list[tuple[tuple[float, float], Any]] = []
        self._bound = float("nan")
        # Whether the master improves for ever, and any decision will do.
        self._endless = False

    def run(self, tolerance: float, max_rounds: int, scenarios: Any) -> Cutting:
        """Cut until no row fails, or the rounds run out."""
        start = self._seen.start(scenarios)
        if start:
            self._master.add(start)
        for rounds in range(1, max_rounds + 1):
            status = self._round(tolerance)
            if status is not None:
                return self._result(status, rounds)
        return self._result("stopped_early", max_rounds)

    def _round(self, tolerance: float) -> str | None:
        """One round; a status if it was the last."""
        status: str = self._master.solve()
        if status == cp.INFEASIBLE:
            return status
        if status == cp.UNBOUNDED and not self._master.look_along_ray():
            raise SolverFailed(
                "Cutting planes need a master problem with a finite value, and this "
                "one is unbounded. Give the variables bounds."
            )
        found = [self._separate(i, row) for i, row in enumerate(self._rows)]
        if status == cp.OPTIMAL and not self._endless:
            self._take_down(found)
        worse = [
            (i, at.outcomes)
            for i, at in enumerate(found)
            # A known outcome again: the solver is at the end of its accuracy.
            if at.violation > tolerance and self._seen.is_new(i, at.outcomes)
        ]
        if worse:
            self._master.add(worse)
            return None
        return self._finish(status)

    def _finish(self, status: str) -> str | None:
        """No row fails where the master stands: at a solution, or at infinity."""
        if status == cp.OPTIMAL:
            return cp.UNBOUNDED if self._endless else status
        self._endless = True
        self._master.drop_objective()
        return None

    def _separate(self, i: int, row: UncertainRow) -> Separation:
        outcomes, hurt = {}, 0.0
        for key in row.slopes:
            direction = self._master.direction(i, key)
            outcomes[key] = self._sets[key].worst_case(direction)
            hurt += float(direction @ outcomes[key])
        constant = self._master.constant(i)
        excess = hurt - constant
        return Separation(outcomes, excess, excess / (1 + abs(constant)))

    def _take_down(self, found: list[Separation]) -> None:
        """The bound, and the solution if it may turn out robust and good."""
        self._bound = self._master.bound
        broken = max((at.violation for at in found[: self._constraints]), default=0.0)
        excess = max((at.excess for at in found[self._constraints :]), default=0.0)
        value = self._sign * self._master.value + max(excess, 0.0)
        rank = (max(broken - AUDIT_TOLERANCE, 0.0), value)
        self._kept.append((rank, self._master.snapshot()))
        self._kept.sort(key=lambda item: item[0])
        del self._kept[MOST_KEPT:]

    def _result(self, status: str, rounds: int) -> Cutting:
        kept = [snapshot for _, snapshot in self._kept]
        by_parameter = self._seen.by_parameter()
        return Cutting(status, self._bound, rounds, by_parameter, kept)
