"""Decide a chunk of contexts with a compiled program, and judge every decision."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.batched.careful import CarefulBatched
from ...conic.batched.choice import Automatic
from ...conic.batched.solver import Batched
from ...conic.forms import ClosedForm, CompiledForm
from ...conic.program import Indices, ProgramData, fill
from ...conic.solver import FAILED, OPTIMAL, STATUSES, Clarabel, Solutions, Solver
from ...loss_set.batch import Batch
from ..decisions import DecisionArrays, Layout
from ..judge.judgement import Judgement
from ..judge.set_oracles import BatchOracle, FixedOracle, SetOracle
from .arrays import Compiled
from .slot_values import end_values, require_filled, slot_values

_LOG = logging.getLogger(__name__)

#: What solves again, each with more trouble than the one before.
_AGAIN = Clarabel(effort=1), Clarabel(effort=2)
#: Solvers that check the rays by which they prove that there is no solution.
_OWN = (Clarabel, Batched, CarefulBatched, ClosedForm, CompiledForm)
#: Most numbers of the contexts that are decided in one go. A formula takes so little
#: time that it counts whether what is read and judged is still in the cache.
_MOST_NUMBERS, _MOST_BY_FORMULA = 2_000_000, 500_000


@dataclass(frozen=True)
class ChunkTask:
    """What all chunks of a call share; it goes to the workers.

    Attributes
    ----------
    compiled : the compiled program and its judge
    slots : slot vector with the ordinary parameters' values
    ordinary : the same values, one parameter after another
    layout : what the columns of decisions are
    solver : what solves a chunk at first
    """

    compiled: Compiled
    slots: Array
    ordinary: Array
    layout: Layout
    solver: Solver

    def for_contexts(self, contexts: int) -> ChunkTask:
        """The task of a call with that many contexts: its solver is settled."""
        if not isinstance(self.solver, Automatic | ClosedForm):
            return self
        solver = self.solver.chosen(self.compiled.program, contexts)
        return replace(self, solver=solver)

    @property
    def most_contexts(self) -> int:
        """Contexts that are best decided in one go, at the most."""
        program = self.compiled.program
        by_formula = isinstance(self.solver, ClosedForm | CompiledForm)
        most = _MOST_BY_FORMULA if by_formula else _MOST_NUMBERS
        return max(1, most // (len(program.indices) + program.height + program.width))

    def decide(self, batches: Sequence[Batch | None], rows: int) -> DecisionArrays:
        """Decide `rows` contexts; a failed one is a status.

        Parameters
        ----------
        batches : for each key a batch of sets, or None where the set is a value
        """
        compiled = self.compiled
        oracles: list[SetOracle] = []
        status: npt.NDArray[np.str_] = np.full(rows, "", dtype="<U20")
        for region, nonneg, batch in zip(
            compiled.regions, compiled.nonneg, batches, strict=True
        ):
            if batch is not None:
                oracle = BatchOracle(batch, nonneg)
                oracles.append(oracle)
                status = np.where(status == "", oracle.trouble(), status)
            elif region is not None:
                oracles.append(FixedOracle(region, nonneg))
        decisions = self.layout.room(status)
        at = np.flatnonzero(status == "")
        if at.size:
            contexts: dict[str, Array] = {}
            for number, batch in enumerate(batches):
                if batch is not None:
                    some = batch if len(at) == rows else batch[at]
                    parts, signs = some.parts, compiled.nonneg[number]
                    contexts |= slot_values(number, parts)
                    if compiled.has_ends:
                        slots = compiled.program.slots
                        contexts |= end_values(number, parts, signs, slots)
                    require_filled(number, compiled.program.slots, contexts)
            for name in contexts.keys() - compiled.program.slots:
                del contexts[name]
            data = fill(compiled.program, self.slots, contexts, len(at))
            # What one solver got wrong, gave up, or has too few digits of, one that
            # takes more trouble may get right.
            for solver in (self.solver, *_again(self.solver)):
                clean = self._solve(solver, data, oracles, decisions, at)
                unclear = np.flatnonzero(~clean)
                if not unclear.size:
                    break
                data, at = data.at(unclear), at[unclear]
        return decisions

    def _solve(
        self,
        solver: Solver,
        data: ProgramData,
        oracles: Sequence[SetOracle],
        decisions: DecisionArrays,
        at: Indices,
    ) -> npt.NDArray[np.bool_]:
        """Solve, judge, and write what is better than before; which are settled."""
        solved = _solutions(solver, data)
        optimal = solved.status == OPTIMAL
        best, earlier = np.flatnonzero(optimal), decisions.status[at]
        before = earlier == "optimal"
        if len(best) == len(optimal):
            clean = np.zeros(len(at), dtype=bool)
        else:
            status = np.array(STATUSES)[solved.status]
            # That there is no solution is believed when it is proved, or said twice.
            sure = earlier == status
            if solved.proved is not None:
                sure = sure | solved.proved
            clean = sure & ~optimal & (solved.status != FAILED)
            lost = np.flatnonzero(~optimal & ~before)
            decisions.put(at[lost], self.layout.room(status[lost]))
        if not best.size:
            return clean
        some = solved.x if len(best) == len(optimal) else solved.x[best]
        values = self.compiled.values(some)
        every = len(best) == len(decisions)
        narrowed = [o if every else o.narrowed(at[best]) for o in oracles]
        resolution = (
            np.zeros(len(at)) if solved.resolution is None else solved.resolution
        )
        judged = self.compiled.ruler.judge(
            values, solved.objective[best], self.ordinary, narrowed, resolution[best]
        )
        clean[best] = judged.clean
        passed = judged.passed
        # A decision that passed already gives way only to a clean one.
        take = np.flatnonzero(judged.clean | ~before[best])
        bound = np.full(len(data), np.nan) if solved.bound is None else solved.bound
        self._write(decisions, at[best][take], judged, take, values, bound[best])
        verdict = np.where(passed, "optimal", "audit_failed")
        decisions.status[at[best][take]] = verdict[take]
        return clean

    def _write(
        self,
        decisions: DecisionArrays,
        at: Indices,
        judged: Judgement,
        take: Indices,
        values: Array,
        bound: Array,
    ) -> None:
        if len(take) == len(decisions):
            # Rows come in order, each once: these are all of them.
            decisions.take(judged, values)
            decisions.bound[:] = bound
            return
        decisions.values[at], decisions.bound[at] = values[take], bound[take]
        decisions.objective[at] = judged.objective[take]
        decisions.gap[at], decisions.slack[at] = judged.gap[take], judged.slack[take]
        decisions.violations[at] = judged.violations[take]
        decisions.binding[at] = judged.binding[take]
        for mine, outcomes in zip(decisions.outcomes, judged.outcomes, strict=True):
            mine[at] = outcomes[take]


def _again(solver: Solver) -> tuple[Solver, ...]:
    """What solves again what a solver got wrong, gave up, or has too few digits of."""
    if type(solver) is Batched:
        return (CarefulBatched(solver), *_AGAIN)
    return _AGAIN


def _solutions(solver: Solver, data: ProgramData) -> Solutions:
    """What a solver says, where it can be a solution."""
    n = len(data.A.values)
    shape = (n, data.program.width)
    nan = np.full(n, np.nan)
    nothing = Solutions(np.full(n, FAILED), np.full(shape, np.nan), nan, nan)
    try:
        solved = solver.solve(data)
        fits = np.shape(solved.x) == shape
        fits &= np.shape(solved.status) == np.shape(solved.objective) == (n,)
        if not fits:
            raise ValueError(f"solutions must be of shape {shape}")
        status = np.array(solved.status, dtype=int)
        x, objective = _numbers(solved.x), _numbers(solved.objective)
        given = solved.bound
        fits = given is not None and np.shape(given) == (n,)
        bound = _numbers(given) if fits else nan
    except BaseException as error:
        # A batch never dies of one solver, not even of a panic, which is no Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        _LOG.exception("%s failed on a chunk", type(solver).__name__)
        return nothing
    real = np.isfinite(objective) & np.isfinite(x).all(axis=1)
    status[(status == OPTIMAL) & ~real] = FAILED
    status[(status < 0) | (status >= len(STATUSES))] = FAILED
    # A resolution, and a proof, are taken at the word of our own solvers only.
    exact = type(solver) in (Clarabel, CarefulBatched)
    own = solved.resolution if exact else None
    proved = solved.proved if type(solver) in _OWN else None
    return Solutions(status, x, objective, bound, own, proved)


def _numbers(values: object) -> Array:
    """What a solver gives as real numbers; complex ones and words are none."""
    given = np.asarray(values)
    if given.dtype.kind not in "fiu":
        raise ValueError(f"solutions must be real numbers, got {given.dtype}")
    return given.astype(float, copy=False)
