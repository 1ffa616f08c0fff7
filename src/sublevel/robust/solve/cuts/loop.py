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

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

import cvxpy as cp
import numpy.typing as npt

from ....checks import Array
from ....errors import SolverFailed
from ...judge.judgement import TOLERANCE
from ...judge.set_oracles import Region
from ...model.rows import UncertainRow
from ...model.uncertain import Key, Uncertain
from .held_rows import HeldRows
from .scenarios import Cut, Joint, Scenarios

#: Decisions kept for the case that the rounds run out.
MOST_KEPT = 20
#: How it may end before its end.
UNFINISHED = ("out_of_rounds", "out_of_time")


class Master(Protocol):
    """A problem at finitely many outcomes, to which more are added."""

    resolution: float
    is_vague: bool

    def add(self, cuts: Sequence[Cut]) -> None: ...

    def solve(self, seconds: float = ...) -> str: ...

    def refine(self) -> bool: ...

    def look_along_ray(self) -> bool: ...

    def drop_objective(self) -> None: ...

    def pin_integers(self) -> bool: ...

    @property
    def bound(self) -> float: ...

    @property
    def value(self) -> float: ...

    def constant(self, i: int) -> float: ...

    def direction(self, i: int, key: Key) -> Array: ...

    def values(self, variables: Sequence[cp.Variable]) -> Array: ...


class Separation(NamedTuple):
    """A row at its worst outcome: by how much it fails, and relative to its size."""

    outcomes: Joint
    excess: float
    violation: float


class Snapshot(NamedTuple):
    """A master's solution: entries of the user's variables, and what it promises."""

    values: Array
    promised: float
    resolution: float = 0.0


@dataclass(frozen=True)
class Cutting:
    """How it went.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded", "out_of_rounds" or "out_of_time"
    bound : what no robust decision beats; nan where unknown
    rounds : how often the master was solved
    scenarios : parameter -> outcomes, shape (n, size)
    kept : the most promising masters' solutions, the last one first if it is optimal
    """

    status: str
    bound: float
    rounds: int
    scenarios: dict[Uncertain, Array]
    kept: list[Snapshot]


class Loop:
    """Rounds of solving and separating.

    Parameters
    ----------
    master : LinearMaster or CvxpyMaster
    rows : the uncertain rows
    sets : the set of every key
    sign : 1.0 to minimise, -1.0 to maximise
    constraints : how many rows are constraints; the others bound the objective
    variables : the user's variables
    held : constraints that are held against outcomes as they were written
    """

    def __init__(
        self,
        master: Master,
        rows: Sequence[UncertainRow],
        sets: Mapping[Key, Region],
        sign: float,
        constraints: int,
        variables: Sequence[cp.Variable],
        held: Sequence[HeldRows] = (),
    ) -> None:
        self._held = held
        self._master, self._rows, self._sets = master, rows, sets
        self._sign, self._constraints = sign, constraints
        self._variables = variables
        self._seen = Scenarios(rows, sets, len(held))
        self._kept: list[tuple[tuple[float, float], Snapshot]] = []
        self._bound = float("nan")
        self._deadline = inf
        # Whether the master improves for ever, and any decision will do.
        self._endless = False

    def run(
        self,
        tolerance: float,
        max_rounds: int,
        scenarios: Mapping[Uncertain, npt.ArrayLike] | None,
        deadline: float = inf,
    ) -> Cutting:
        """Cut until no row fails, or rounds or time, by `time.monotonic`, run out."""
        self._deadline = deadline
        start = self._seen.start(scenarios)
        if start:
            self._master.add(start)
        return self._rounds(tolerance, max_rounds)

    def settle(self, tolerance: float, max_rounds: int) -> Cutting | None:
        """After an optimum: pin its integers, and solve for the rest once more."""
        if not self._master.pin_integers():
            return None
        bound, kept = self._bound, list(self._kept)
        self._kept = []
        settled = self._rounds(tolerance, max_rounds)
        self._bound, self._kept = bound, kept
        return settled if settled.status == cp.OPTIMAL else None

    def refine(self, tolerance: float, max_rounds: int) -> Cutting | None:
        """After an optimum of too few digits: once more with more of them."""
        if not self._master.refine():
            return None
        refined = self._rounds(tolerance, max_rounds)
        return refined if refined.status == cp.OPTIMAL else None

    def _rounds(self, tolerance: float, max_rounds: int) -> Cutting:
        for rounds in range(1, max_rounds + 1):
            status = self._round(tolerance)
            if status is not None:
                return self._result(status, rounds)
        return self._result("out_of_rounds", max_rounds)

    def _round(self, tolerance: float) -> str | None:
        """One round; a status if it was the last."""
        left = self._deadline - time.monotonic()
        status = self._master.solve(left) if left > 0 else "stopped_early"
        if status == "stopped_early":
            return "out_of_time"
        if status == cp.INFEASIBLE:
            return status
        if status == cp.UNBOUNDED and not self._master.look_along_ray():
            raise SolverFailed(
                "Cutting planes need a master problem with a finite value, and this "
                "one is unbounded. Give the variables bounds."
            )
        separations = [self._separate(i, row) for i, row in enumerate(self._rows)]
        written = self._hold()
        if status == cp.OPTIMAL and not self._endless:
            self._take_down(separations, written)
        worse = [
            (i, at.outcomes)
            for i, at in [*enumerate(separations), *written]
            # The same outcome again: the solver is at the end of its accuracy.
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
        excess, size = hurt - constant, max(abs(hurt), abs(constant))
        return Separation(outcomes, excess, excess / size if size > 0 else 0.0)

    def _hold(self) -> list[tuple[int, Separation]]:
        """What is held as written, at the worst outcomes of the solution."""
        worst = []
        for number, part in enumerate(self._held, len(self._rows)):
            values = self._master.values(self._variables)
            promised = self._sign * self._master.value
            worst += [
                (number, Separation(*miss)) for miss in part.worst(values, promised)
            ]
        return worst

    def _take_down(
        self, separations: list[Separation], written: list[tuple[int, Separation]]
    ) -> None:
        """The bound, and the solution if it may turn out robust and good."""
        self._bound = self._master.bound
        goal = [part.is_goal for part in self._held]
        start = len(self._rows)
        rows = separations[: self._constraints]
        rows += [at for i, at in written if not goal[i - start]]
        broken = max((at.violation for at in rows), default=0.0)
        goals = separations[self._constraints :]
        goals += [at for i, at in written if goal[i - start]]
        excess = max((at.excess for at in goals), default=0.0)
        value = self._sign * self._master.value + max(excess, 0.0)
        rank = (max(broken - TOLERANCE, 0.0), value)
        master = self._master
        values = master.values(self._variables)
        snapshot = Snapshot(values, master.value, master.resolution)
        self._last = snapshot
        self._kept.append((rank, snapshot))
        self._kept.sort(key=lambda item: item[0])
        del self._kept[MOST_KEPT:]

    def _result(self, status: str, rounds: int) -> Cutting:
        kept = [snapshot for _, snapshot in self._kept]
        if status == cp.OPTIMAL:
            kept = [self._last, *kept]
        by_parameter = self._seen.by_parameter()
        return Cutting(status, self._bound, rounds, by_parameter, kept)
