"""Decide a chunk of contexts with a compiled program, and audit every decision."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array
from ..auditing.residuals import residuals
from ..auditing.row_audit import Claims, audit_rows
from ..modelling.cone_program import ProgramData, fill
from ..modelling.contexts import BatchOracle, FixedOracle, parts_of
from .chunk_solver import STATUSES, ChunkSolver, Clarabel, Solutions
from .compiling import Compiled
from .slots import slot_values

#: Relative gap, or violation, above which a decision does not pass its audit.
TOLERANCE = 1e-5

_LOG = logging.getLogger(__name__)
_FAILED = STATUSES.index("solver_failed")


@dataclass(frozen=True)
class ChunkResult:
    """Decisions of n contexts, with their audit.

    Attributes
    ----------
    status : strings of shape (n,)
    values : array of shape (n, entries of the user's variables, one after another),
        nan where there is no decision
    objective : array of shape (n,), the worst case recomputed by the audit
    gap : array of shape (n,), relative to what the solver promised
    violations : array of shape (n, number of uncertain constraints)
    binding : array of shape (n,), -1 where no constraint is uncertain
    outcomes : key number -> array of shape (n, dim)
    """

    status: Any
    values: Array
    objective: Array
    gap: Array
    violations: Array
    binding: Any
    outcomes: dict[int, Array]

    def __len__(self) -> int:
        return len(self.status)


def no_decisions(status: Any, width: int, parts: int, dims: list[int]) -> ChunkResult:
    """A result without decisions, to be filled in."""
    n = len(status)
    return ChunkResult(
        np.array(status, dtype="<U20"),
        np.full((n, width), np.nan),
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full((n, parts), np.nan),
        np.full(n, -1),
        {k: np.full((n, dim), np.nan) for k, dim in enumerate(dims)},
    )


@dataclass(frozen=True)
class ChunkTask:
    """What all chunks of a call share; it goes to the workers.

    Attributes
    ----------
    compiled : the compiled program and its rows
    fixed : slot vector with the ordinary parameters' values
    outputs : columns of x that are the user's variables, one after another
    solver : what solves a chunk at first
    """

    compiled: Compiled
    fixed: Array
    outputs: Any
    solver: ChunkSolver

    def decide(self, batches: list[Any], rows: int) -> ChunkResult:
        """Decide `rows` contexts; a failed one is a status.

        Parameters
        ----------
        batches : for each key a batch of sets, or None where the set is a value
        """
        oracles = self._oracles(batches)
        status = np.full(rows, "", dtype="<U20")
        for oracle in oracles:
            if isinstance(oracle, BatchOracle):
                status = np.where(status == "", oracle.trouble(), status)
        dims = [oracle.dim for oracle in oracles]
        found = no_decisions(status, len(self.outputs), self.compiled.parts, dims)
        at = np.flatnonzero(status == "")
        if at.size:
            data, scale = self._data(batches, at)
            self._solve(self.solver, data, scale, oracles, found, at)
            # What one solver got wrong, or gave up, a fresh one may get right.
            lost = np.flatnonzero(found.status[at] != "optimal")
            if lost.size:
                again = Clarabel(afresh=True)
                given = data.at(lost), scale[lost], oracles
                self._solve(again, *given, found, at[lost])
        return found

    def _solve(
        self,
        solver: ChunkSolver,
        data: ProgramData,
        scale: Array,
        oracles: list[Any],
        found: ChunkResult,
        at: Any,
    ) -> None:
        """Solve, audit, and write the answers into `found` at some rows."""
        solved = _solutions(solver, data)
        found.status[at] = np.array(STATUSES)[solved.status]
        best = np.flatnonzero(solved.status == 0)
        if not best.size:
            return
        at, x, promised = at[best], solved.x[best], solved.objective[best]
        sound = residuals(data.at(best), x, TOLERANCE) <= TOLERANCE
        claims = self._claims(x, promised, scale[best], oracles, at)
        told = audit_rows(self.compiled.rows, self.compiled.parts, claims)
        passed = sound & (told.gap <= TOLERANCE) & (told.worst <= TOLERANCE)
        found.status[at] = np.where(passed, "optimal", "audit_failed")
        slack = self.compiled.program.sign * told.objective_slack
        found.objective[at] = claims.promised - slack
        found.values[at], found.gap[at] = claims.x[:, self.outputs], told.gap
        found.violations[at], found.binding[at] = told.violations, told.binding
        for key, worst in told.outcomes.items():
            found.outcomes[key][at] = worst

    def _claims(
        self, x: Array, promised: Array, scale: Array, oracles: list[Any], at: Any
    ) -> Claims:
        """Solutions in the user's units, and the sets they are held against."""
        units = self.compiled.units
        if units is not None:
            x = x * scale[:, None] ** units.columns
            promised = promised * scale**units.goal
        oracles = [oracle.narrowed(at) for oracle in oracles]
        return Claims(x, promised, self.fixed, oracles, scale)

    def _data(self, batches: list[Any], at: Any) -> tuple[ProgramData, Array]:
        """The program's data at some rows, each in its own unit."""
        program, units = self.compiled.program, self.compiled.units
        contexts: dict[str, Array] = {}
        for number, batch in enumerate(batches):
            if batch is not None:
                contexts |= slot_values(number, parts_of(batch[at]))
        contexts = {k: v for k, v in contexts.items() if k in program.slots}
        scale = np.ones(len(at))
        if units is not None and contexts:
            scale = units.scale(contexts)
            contexts = units.measured(contexts, scale)
        data = fill(program, self.fixed, contexts)
        return (data if contexts else data.at(np.zeros(len(at), dtype=int))), scale

    def _oracles(self, batches: list[Any]) -> list[Any]:
        return [
            FixedOracle(region) if batch is None else BatchOracle(batch, nonneg)
            for region, nonneg, batch in zip(
                self.compiled.regions, self.compiled.nonneg, batches, strict=True
            )
        ]


def _solutions(solver: ChunkSolver, data: ProgramData) -> Solutions:
    """What a solver says, where it can be a solution."""
    n, shape = len(data), (len(data), data.program.width)
    nothing = Solutions(np.full(n, _FAILED), np.full(shape, np.nan), np.full(n, np.nan))
    try:
        found = solver.solve(data)
        fits = np.shape(found.x) == shape
        fits &= np.shape(found.status) == np.shape(found.objective) == (n,)
        if not fits:
            raise ValueError(f"solutions must be of shape {shape}")
        status = np.array(found.status, dtype=int)
    except BaseException as error:
        # A batch never dies of one solver, not even of a panic, which is no Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        _LOG.exception("%s failed on a chunk", type(solver).__name__)
        return nothing
    real = np.isfinite(found.objective) & np.isfinite(found.x).all(axis=1)
    status[(status == 0) & ~real] = _FAILED
    status[(status < 0) | (status >= len(STATUSES))] = _FAILED
    return Solutions(status, np.asarray(found.x), np.asarray(found.objective))
