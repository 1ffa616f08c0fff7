"""Decide contexts one at a time: for models no single cone program can serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import EmptySet, SolverFailed, Unbounded
from ..predictions import take_rows
from .chunk import ChunkResult
from .decision import Decision

#: What one context's failure is called.
TROUBLES = {
    Unbounded: "unbounded_set",
    EmptySet: "empty_set",
    SolverFailed: "solver_failed",
}


def decide_one(problem: Any, X: Any, i: int, engine: str, solver: Any) -> Decision:
    """The decision at row i; a context that fails becomes a status."""
    given = None if X is None else take_rows(X, [i])
    try:
        found: Decision = problem.solve(given, engine=engine, solver=solver)
    except tuple(TROUBLES) as error:
        status = next(s for kind, s in TROUBLES.items() if isinstance(error, kind))
        return Decision(status, float("nan"))
    return found


def as_result(
    decision: Decision, variables: Sequence[Any], keys: Sequence[Any], parts: int
) -> ChunkResult:
    """A decision as a chunk of one: `x` holds the variables one after another."""
    width = sum(v.size for v in variables)
    dims = [sum(p.size for p in key) for key in keys]
    audit = decision.audit
    if audit is None:
        nothing = np.full(1, np.nan)
        return ChunkResult(
            np.array([decision.status], dtype="<U13"),
            np.full((1, width), np.nan),
            nothing,
            nothing,
            np.full((1, parts), np.nan),
            np.full(1, -1),
            {k: np.full((1, dim), np.nan) for k, dim in enumerate(dims)},
        )
    x = np.concatenate([np.ravel(decision._values[v.id], order="F") for v in variables])
    worst = [
        np.concatenate(
            [np.ravel(decision._worst.get(p.id, _unknown(p)), order="F") for p in key]
        )
        for key in keys
    ]
    return ChunkResult(
        np.array([decision.status], dtype="<U13"),
        x[None],
        np.array([audit.objective]),
        np.array([audit.gap]),
        np.array([audit.violations]).reshape(1, parts),
        np.array([-1 if audit.binding is None else audit.binding]),
        {k: found[None] for k, found in enumerate(worst)},
    )


def _unknown(parameter: Any) -> Any:
    return np.full(parameter.shape, np.nan)
