"""Decisions by cutting planes: to the end, or the best robust one on the way."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ....checks import (
    Array,
    as_numbers,
    briefly,
    is_whole,
    require_level,
    require_positive,
)
from ....errors import InvalidParameter
from ....sets import UncertaintySet
from ...decisions import DecisionArrays, Layout
from ...judge.judgement import TOLERANCE, Judgement
from ...judge.ruler import Ruler
from ...judge.set_oracles import FixedOracle, Region
from ...model.robust_model import RobustModel
from ...model.uncertain import Key, Uncertain, key_signs
from .cvxpy_master import CvxpyMaster
from .held_rows import HeldRows, held_rows
from .linear_master import LinearMaster
from .linear_model import LinearModel, linear_model
from .loop import UNFINISHED, Cutting, Loop, Master, Snapshot


@dataclass(frozen=True, eq=False)
class Cuts:
    """How to solve by cutting planes: `problem.solve(X, engine=Cuts(...))`.

    Parameters
    ----------
    tolerance : float, default 1e-7
        Relative violation at which a row counts as protected; at most 1e-5, what the
        audit lets pass.
    gap : float, default 1e-7
        Relative gap to which masters with integer variables are solved. A larger one
        is faster; `decision.gap` says how far from the optimum the decision can be.
    max_rounds : int, default 500
        When they run out, the decision is the best robust one so far, if there was
        one. Its status is "stopped_early", and its `gap` says how far from the
        optimum it can be; without one the status is "out_of_rounds".
    time_limit : float, default inf
        Seconds by the clock for one context, looked at between rounds and, where HiGHS
        is the master, within them. Then as for rounds that run out; without a robust
        decision the status is "out_of_time".
    scenarios : dict from Uncertain to array of shape (n, size), optional
        Outcomes to start from: `decision.scenarios` of an earlier solve. Those outside
        the sets of this one are left out, as they need no protection.

    Examples
    --------
    >>> import sublevel as sl
    >>> r, w = sl.Uncertain(2, name="returns"), cp.Variable(2, nonneg=True)
    >>> U = sl.sets.Ellipsoid([1.0, 1.2], radius=0.5)
    >>> problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: U})
    >>> early = problem.solve(engine=Cuts(max_rounds=3))
    >>> early.status, bool(early.objective <= early.bound), bool(early.gap > 1e-4)
    ('stopped_early', True, True)
    >>> problem.solve(engine=Cuts(scenarios=early.scenarios)).status
    'optimal'
    """

    tolerance: float = 1e-7
    gap: float = 1e-7
    max_rounds: int = 500
    scenarios: Mapping[Uncertain, npt.ArrayLike] | None = None
    time_limit: float = inf

    def __post_init__(self) -> None:
        require_positive("Cuts", tolerance=self.tolerance)
        require_level("Cuts", gap=self.gap)
        if self.time_limit != inf:
            require_positive("Cuts", time_limit=self.time_limit)
        if self.tolerance > TOLERANCE:
            raise InvalidParameter(
                f"Cuts(tolerance=...) must be at most {TOLERANCE:g}, or the "
                f"decision fails its audit, got {self.tolerance}."
            )
        if not is_whole(self.max_rounds, least=1):
            raise InvalidParameter(
                "Cuts(max_rounds=...) must be an integer of at least 1, got "
                f"{briefly(self.max_rounds)}."
            )
        if not (self.scenarios is None or isinstance(self.scenarios, Mapping)):
            raise InvalidParameter(
                "Cuts(scenarios=...) must be a dict from sl.Uncertain to outcomes, got "
                f"{type(self.scenarios).__name__}. Pass decision.scenarios."
            )
        for name, outcomes in (self.scenarios or {}).items():
            as_numbers("Cuts", f"scenarios[{name}]", outcomes)


@dataclass(frozen=True, eq=False)
class CutTask:
    """A model to be decided by cutting planes, context by context.

    Attributes
    ----------
    model, ruler, layout : the model, its judge, and what the columns of decisions are
    ordinary : values of the ordinary parameters
    linear : the model as arrays for HiGHS, if it is linear but for the outcomes
    """

    model: RobustModel
    ruler: Ruler
    layout: Layout
    ordinary: Array
    linear: LinearModel | None

    def decide(
        self, sets: Mapping[Key, Region], cuts: Cuts, solver: str | None
    ) -> tuple[DecisionArrays, Mapping[Any, Array]]:
        """The decision at one context, judged, and the outcomes that were used."""
        model = self.model
        held = held_rows(model, self.ruler, sets, self.ordinary)
        master = self._master(sets, cuts, solver, held)
        objective = len(model.robust[-1].rows) if model.has_uncertain_objective else 0
        constraints = len(model.rows) - objective
        loop = Loop(
            master, model.rows, sets, model.sense, constraints, model.variables, held
        )
        rounds = int(cuts.max_rounds)
        deadline = time.monotonic() + cuts.time_limit
        cutting = loop.run(cuts.tolerance, rounds, cuts.scenarios, deadline)
        decision = self._judged(cutting, sets)
        while self._is_poor(decision, master):
            refined = loop.refine(cuts.tolerance, rounds)
            if refined is None:
                break
            better = self._judged(refined, sets)
            if self._is_no_worse(better, decision):
                cutting, decision = refined, better
        if cutting.status == cp.OPTIMAL and self._is_rounded(cutting.kept[0]):
            decision = self._settled(decision, loop, cuts, sets)
        decision.bound[0], decision.rounds[0] = cutting.bound, cutting.rounds
        return decision, cutting.scenarios

    def _judged(self, cutting: Cutting, sets: Mapping[Key, Region]) -> DecisionArrays:
        """What the judge says of the last solution, or of the best that was kept."""
        if cutting.status == cp.OPTIMAL:
            last = cutting.kept[0]
            judged, values = self._judge(last, sets, last.promised)
            status = cp.OPTIMAL if judged.passed[0] else "audit_failed"
            return self._written(status, judged, values)
        if cutting.status not in UNFINISHED:
            return self.layout.room([cutting.status])
        best: tuple[float, Judgement, Array] | None = None
        for snapshot in cutting.kept:
            # What the master promised was for the outcomes it had; promise the truth.
            judged, values = self._judge(snapshot, sets, np.nan)
            cost = self.model.sense * float(judged.objective[0])
            if judged.passed[0] and (best is None or cost < best[0]):
                best = cost, judged, values
        if best is None:
            return self.layout.room([cutting.status])
        return self._written("stopped_early", *best[1:])

    def _is_poor(self, decision: DecisionArrays, master: Master) -> bool:
        """Whether more digits are asked for: to pass, or to be as good as it can be."""
        if decision.status[0] != cp.OPTIMAL:
            return bool(decision.status[0] == "audit_failed")
        return master.is_vague

    def _is_no_worse(self, one: DecisionArrays, other: DecisionArrays) -> bool:
        if one.status[0] != other.status[0]:
            return bool(one.status[0] == cp.OPTIMAL)
        sense = self.model.sense
        return not sense * one.objective[0] > sense * other.objective[0]

    def _settled(
        self,
        decision: DecisionArrays,
        loop: Loop,
        cuts: Cuts,
        sets: Mapping[Key, Region],
    ) -> DecisionArrays:
        """The decision with its integers exact, and the rest solved for again."""
        cutting = loop.settle(cuts.tolerance, int(cuts.max_rounds))
        if cutting is None:
            return decision
        settled = self._judged(cutting, sets)
        return settled if settled.status[0] == cp.OPTIMAL else decision

    def _is_rounded(self, snapshot: Snapshot) -> bool:
        """Whether whole numbers are not quite whole in a solution."""
        whole = snapshot.values[self.ruler.whole]
        return bool((whole != np.round(whole)).any())

    def _judge(
        self, snapshot: Snapshot, sets: Mapping[Key, Region], promised: float
    ) -> tuple[Judgement, Array]:
        values = self.ruler.tidied(snapshot.values[None])
        keys = self.model.keys
        oracles = [FixedOracle(sets[key], key_signs(key)) for key in keys]
        if not self.model.has_uncertain_objective:
            # It is worth what it is worth, and nothing is promised.
            promised = np.nan
        promise, finest = np.array([promised]), np.array([snapshot.resolution])
        judged = self.ruler.judge(values, promise, self.ordinary, oracles, finest)
        return judged, values

    def _written(self, status: str, judged: Judgement, values: Array) -> DecisionArrays:
        decision = self.layout.room([status])
        decision.take(judged, values)
        return decision

    def _master(
        self,
        sets: Mapping[Key, Region],
        cuts: Cuts,
        solver: str | None,
        held: list[HeldRows],
    ) -> Master:
        """HiGHS itself where the model is linear, CVXPY where it is curved."""
        model, linear = self.model, self.linear
        values = {k: s for k, s in sets.items() if isinstance(s, UncertaintySet)}
        if model.needs_sets:
            # What is certain depends on these sets.
            certain = model.all_certain(values)
            linear = linear_model(model.bounded_goal(), certain, model.rows)
        if linear is not None and solver in (None, "HIGHS") and not held:
            return LinearMaster(linear, cuts.gap)
        solver = solver or ("HIGHS" if model.is_mixed_integer else "CLARABEL")
        certain = model.all_certain(values)
        return CvxpyMaster(model.bounded_goal(), certain, model.rows, solver, held)
