"""Decide a chunk of contexts with a compiled program, and audit every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from .chunk_solver import STATUSES, ChunkSolver, Clarabel, Solutions
from .compiling import Compiled
from .cone_program import ProgramData, Varying, fill
from .contexts import BatchOracle, FixedOracle, parts_of
from .residuals import residuals
from .row_check import check_rows
from .slots import slot_values

#: Relative gap, or violation, above which a decision does not pass its audit.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class ChunkResult:
    """Decisions of n contexts, with their audit.

    Attributes
    ----------
    status : strings of shape (n,)
    x : array of shape (n, nx), nan where there is no decision
    objective : array of shape (n,), the worst case recomputed by the audit
    gap : array of shape (n,), relative to what the solver promised
    violations : array of shape (n, number of uncertain constraints)
    binding : array of shape (n,), -1 where no constraint is uncertain
    outcomes : key number -> array of shape (n, dim)
    """

    status: Any
    x: Array
    objective: Array
    gap: Array
    violations: Array
    binding: Any
    outcomes: dict[int, Array]


def decide_chunk(
    compiled: Compiled, batches: list[Any], fixed: Array, rows: int
) -> ChunkResult:
    """Decide `rows` contexts.

    Parameters
    ----------
    batches : for each key a batch of sets, or None where the set is a value
    fixed : slot vector with the ordinary parameters' values
    """
    oracles = _oracles(compiled, batches)
    status = np.full(rows, "", dtype="<U13")
    for oracle in oracles:
        if isinstance(oracle, BatchOracle):
            status = np.where(status == "", oracle.trouble(), status)
    ready = np.flatnonzero(status == "")
    found = _empty(compiled, status, oracles)
    if not ready.size:
        return found
    kept = [batch if batch is None else batch[ready] for batch in batches]
    data = _data(compiled, kept, fixed, ready.size)
    _decide(compiled, data, _oracles(compiled, kept), Clarabel(), found, ready)
    # What one live solver got wrong, a fresh one may get right.
    failed = np.isin(found.status[ready], ("audit_failed", "solver_failed"))
    if failed.any():
        again, kept = ready[failed], [b if b is None else b[failed] for b in kept]
        data, oracles = _rows(data, failed), _oracles(compiled, kept)
        _decide(compiled, data, oracles, Clarabel(afresh=True), found, again)
    return found


def _decide(
    compiled: Compiled,
    data: ProgramData,
    oracles: list[Any],
    solver: ChunkSolver,
    found: ChunkResult,
    rows: Any,
) -> None:
    """Solve, audit, and write the answers into `found` at `rows`."""
    solved = solver.solve(data)
    found.status[rows] = np.array(STATUSES)[solved.status]
    best = np.flatnonzero(solved.status == 0)
    if not best.size:
        return
    x, at = solved.x[best], rows[best]
    oracles = [_narrow(oracle, best) for oracle in oracles]
    promised = solved.objective[best]
    report = check_rows(compiled.rows, compiled.parts, x, promised, oracles, TOLERANCE)
    gap = np.abs(report.objective_slack) / (1 + np.abs(promised))
    sound = residuals(_rows(data, best), x) <= TOLERANCE
    passed = (gap <= TOLERANCE) & report.kept & sound
    found.status[at] = np.where(passed, "optimal", "audit_failed")
    found.x[at], found.gap[at] = x, gap
    sense = compiled.program.sign
    found.objective[at] = promised - sense * report.objective_slack
    found.violations[at], found.binding[at] = report.violations, report.binding
    for key, worst in report.outcomes.items():
        found.outcomes[key][at] = worst


def _data(compiled: Compiled, batches: list[Any], fixed: Array, n: int) -> ProgramData:
    contexts: dict[str, Array] = {}
    for number, batch in enumerate(batches):
        if batch is not None:
            contexts |= slot_values(number, parts_of(batch))
    data = fill(compiled.program, fixed, contexts)
    return data if len(data) == n else _rows(data, np.zeros(n, dtype=int))


def _rows(data: ProgramData, rows: Any) -> ProgramData:
    blocks = [
        Varying(block.base, block.where, block.values[rows])
        for block in (data.q, data.A, data.b)
    ]
    return ProgramData(data.program, data.P, *blocks)


def _oracles(compiled: Compiled, batches: list[Any]) -> list[Any]:
    return [
        FixedOracle(region) if batch is None else BatchOracle(batch, nonneg)
        for region, nonneg, batch in zip(
            compiled.regions, compiled.nonneg, batches, strict=True
        )
    ]


def _narrow(oracle: Any, rows: Any) -> Any:
    if isinstance(oracle, FixedOracle):
        return oracle
    return BatchOracle(oracle.batch[rows], oracle.nonneg)


def _empty(compiled: Compiled, status: Any, oracles: list[Any]) -> ChunkResult:
    n = len(status)
    return ChunkResult(
        status,
        np.full((n, compiled.program.width), np.nan),
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full((n, compiled.parts), np.nan),
        np.full(n, -1),
        {k: np.full((n, oracle.dim), np.nan) for k, oracle in enumerate(oracles)},
    )


__all__ = ["ChunkResult", "Solutions", "decide_chunk"]
