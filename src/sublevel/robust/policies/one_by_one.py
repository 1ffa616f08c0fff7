"""Decide contexts one at a time: for models no single cone program can serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import EmptySet, OutsideDomain, SolverFailed, Unbounded
from ..auditing.decision import Decision
from ..compiled.chunk import ChunkResult
from ..modelling.sets_at import set_value
from .gathering import Gathering

#: What one context's failure is called.
TROUBLES = {
    Unbounded: "unbounded_set",
    EmptySet: "empty_set",
    SolverFailed: "solver_failed",
    OutsideDomain: "outside_domain",
}


def decide_one(problem: Any, given: list[Any], engine: Any, solver: Any) -> Decision:
    """The decision at one context; a failure becomes a status.

    Parameters
    ----------
    given : for each key its set
    """
    try:
        pairs = zip(problem.uncertainty, given, strict=True)
        sets = {key: set_value(key, region) for key, region in pairs}
        found: Decision = problem._decide(sets, engine, solver)
    except tuple(TROUBLES) as error:
        status = next(s for kind, s in TROUBLES.items() if isinstance(error, kind))
        return Decision(status, float("nan"))
    return found


def as_result(decision: Decision, room: Gathering) -> ChunkResult:
    """A decision as a chunk of one."""
    found, audit = room.like([decision.status]), decision.audit
    if audit is None:
        return found
    found.values[0] = _flat(decision._values, room.variables)
    found.objective[0], found.gap[0] = audit.objective, audit.gap
    found.violations[0] = audit.violations
    found.binding[0] = -1 if audit.binding is None else audit.binding
    for number, key in enumerate(room.keys):
        found.outcomes[number][0] = _flat(decision._worst, key)
    return found


def _flat(values: dict[Any, Any], names: Sequence[Any]) -> Any:
    """Values one after another, column by column; nan for what is not known."""
    unknown = {name.id: np.full(name.shape, np.nan) for name in names}
    known = unknown | values
    return np.concatenate([np.ravel(known[name.id], order="F") for name in names])
