"""Decide one context of a model with integer variables, and judge the decision."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ....checks import Array
from ....conic.program import ProgramData, fill
from ....conic.solver import FAILED, INFEASIBLE, OPTIMAL, Clarabel
from ....sets import UncertaintySet
from ...decisions import DecisionArrays, Layout
from ...judge.set_oracles import FixedOracle
from ...model.uncertain import Key
from ..arrays import Compiled
from ..chunk import ChunkTask
from ..compiled import with_integers
from .incumbent import Candidate
from .integers import Integers
from .memory import Memory
from .mixed_program import has_polyhedra, mixed_program
from .named import solve_by_name
from .outer import Outcome, OuterApproximation


@dataclass(frozen=True, eq=False)
class MixedTask:
    """A compiled program with integer columns, at one context.

    Attributes
    ----------
    compiled : the program, whose integer columns are not pinned, and its judge
    slots : all slots of the context
    ordinary : values of the ordinary parameters
    layout : what the columns of decisions are
    memory : what earlier contexts left behind
    """

    compiled: Compiled
    slots: Array
    ordinary: Array
    layout: Layout
    memory: Memory

    @property
    def has_polyhedra(self) -> bool:
        """Whether the program can be cut out of a polyhedron."""
        return has_polyhedra(self.compiled.program)

    def decide(self, options: Integers, solver: str | None = None) -> DecisionArrays:
        """The decision, with its bound, judged.

        Parameters
        ----------
        options : gap and limits
        solver : name of a solver that takes integers and cones together; by default
            HiGHS, on polyhedra around the cones
        """
        deadline = time.monotonic() + options.time_limit
        data = fill(self.compiled.program, self.slots, {}, 1)
        if solver is not None:
            integer = self.compiled.integer
            return self._written(solve_by_name(data, integer, solver, options))
        relaxed = self._relaxed(data)
        if relaxed is None:
            return self.layout.room(["infeasible"])
        outcome = OuterApproximation(
            mixed_program(data, self.compiled.integer),
            relaxed,
            self._pinned,
            self.memory,
            self.slots,
            options,
            deadline,
        ).solve()
        return self._written(outcome)

    def _relaxed(self, data: ProgramData) -> Array | None:
        """The solution without integrality; nan if it was not computed, None if there
        is none: that is believed when it is said twice.
        """
        if all(kind != "soc" for kind, _ in data.program.cones):
            return np.full(data.program.width, np.nan)
        for effort in (0, 1):
            solved = Clarabel(effort).solve(data)
            if solved.status[0] == OPTIMAL:
                return np.array(solved.x[0])
            if solved.status[0] != INFEASIBLE:
                return np.full(data.program.width, np.nan)
        return None

    def _pinned(self, whole: Array) -> Candidate | None:
        """The best solution with these integers."""
        compiled = with_integers(self.compiled, whole)
        if not compiled.program.width:
            return None
        data = fill(compiled.program, self.slots, {}, 1)
        solved = Clarabel().solve(data)
        if solved.status[0] == FAILED:
            solved = Clarabel(effort=1).solve(data)
        if solved.status[0] != OPTIMAL:
            return None
        x = np.empty(self.compiled.program.width)
        x[self.compiled.integer] = whole
        others = np.ones(len(x), dtype=bool)
        others[self.compiled.integer] = False
        x[others] = solved.x[0]
        value = compiled.program.sign * float(solved.objective[0])
        return Candidate(whole, x, value)

    def _written(self, outcome: Outcome) -> DecisionArrays:
        """The best solution, judged, with its integers exact and the rest solved."""
        if outcome.best is None:
            decision = self.layout.room([outcome.status])
        else:
            decision = self._judged(outcome.best)
            if decision.status[0] == "optimal":
                decision.status[0] = outcome.status
        if np.isfinite(outcome.bound) and outcome.status != "infeasible":
            decision.bound[0] = self._bound(outcome.bound, decision)
        decision.rounds[0] = outcome.rounds
        return decision

    def _judged(self, best: Candidate) -> DecisionArrays:
        """What the judge says; where the rest cannot be solved for, of all of it."""
        compiled = with_integers(self.compiled, best.whole)
        if compiled.program.width:
            task = ChunkTask(
                compiled, self.slots, self.ordinary, self.layout, Clarabel()
            )
            decision = task.decide([None] * len(compiled.regions), 1)
            if decision.status[0] == "optimal":
                return decision
        values = self.compiled.values(best.x[None])
        promised = np.array([self.compiled.program.sign * best.value])
        regions = [region for region in compiled.regions if region is not None]
        oracles = [
            FixedOracle(region, nonneg)
            for region, nonneg in zip(regions, compiled.nonneg, strict=True)
        ]
        if self.compiled.ruler.cost is None:
            # It is worth what it is worth, and nothing is promised.
            promised = np.array([np.nan])
        judged = self.compiled.ruler.judge(values, promised, self.ordinary, oracles)
        decision = self.layout.room(["optimal" if judged.passed[0] else "audit_failed"])
        decision.take(judged, values)
        return decision

    def _bound(self, bound: float, decision: DecisionArrays) -> float:
        """In the user's sense, and never better than the decision itself."""
        sign = self.compiled.program.sign
        objective = sign * float(decision.objective[0])
        if np.isfinite(objective):
            bound = min(bound, objective)
        return sign * bound


def at_sets(
    compiled: Compiled, sets: Mapping[Key, UncertaintySet], keys: tuple[Key, ...]
) -> Compiled:
    """The program of all contexts, to be judged over the sets of one."""
    return replace(compiled, regions=tuple(sets[key] for key in keys))
