"""What decisions turn out to be worth once the outcomes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from .reading import TOLERANCE, Reading, relative


@dataclass(frozen=True, eq=False)
class Realised:
    """What happened at n contexts.

    Attributes
    ----------
    decided : shape (n,), whether there was a decision to speak of
    objective : shape (n,), the objective at the outcome; nan where there was none
    excess : shape (n, promises), relative amount by which each promise was missed;
        one promise an uncertain constraint, and the certified objective last if it is
        uncertain; -inf without a decision
    """

    decided: Any
    objective: Array
    excess: Array

    @property
    def worst(self) -> Array:
        """The largest miss of each context, shape (n,)."""
        return np.asarray(np.max(self.excess, axis=1, initial=-np.inf))

    @property
    def violated(self) -> Any:
        """Whether any promise was missed, shape (n,); False without a decision."""
        return self.worst > TOLERANCE


def is_decided(decisions: Any) -> Any:
    """Whether each context has a decision to act on, shape (n,)."""
    status = np.asarray(decisions.status)
    early = (status == "stopped_early") & np.isfinite(decisions.objective)
    return np.isin(status, ("optimal", "fallback")) | early


def realise(reading: Reading, decisions: Any, outcomes: list[Array]) -> Realised:
    """Evaluate the model at the outcomes, arrays of shape (n, dim) for each key."""
    decided = is_decided(decisions)
    rows = np.flatnonzero(decided)
    values = {v.id: decisions.value(v)[rows] for v in reading.variables}
    seen = [vectors[rows] for vectors in outcomes]
    scale = np.maximum(size_of(seen), _feared(decisions)[rows])
    excess = np.full((len(decided), reading.parts), -np.inf)
    excess[rows] = reading.missed(values, seen, scale)
    objective = np.full(len(decided), np.nan)
    certified = decisions.objective[rows]
    if not reading.aims:
        objective[rows] = _certain_objective(reading, certified, values, seen)
        return Realised(decided, objective, excess)
    objective[rows], size = reading.objective(values, seen)
    minimise = isinstance(reading.problem.objective, cp.Minimize)
    over = (objective[rows] - certified) * (1.0 if minimise else -1.0)
    # A fallback certifies nothing about the objective.
    promised = np.asarray(decisions.status)[rows] != "fallback"
    size = np.maximum(size, np.abs(np.where(promised, certified, 0.0)))
    missed = np.full(len(decided), -np.inf)
    missed[rows] = np.where(
        promised, relative(over, size, reading.unit(-1, scale)), -np.inf
    )
    return Realised(decided, objective, np.column_stack([excess, missed]))


def size_of(outcomes: list[Array]) -> Array:
    """The largest number among the outcomes of each context, shape (n,)."""
    found = [np.abs(o).max(axis=1, initial=0.0) for o in outcomes]
    return np.asarray(np.max(found, axis=0))


def _feared(decisions: Any) -> Array:
    """The largest number among the worst outcomes of each context, 0 without any."""
    found = np.zeros(len(decisions))
    for vectors in decisions.outcomes.values():
        flat = np.abs(np.asarray(vectors)).reshape(len(found), -1)
        found = np.fmax(found, np.nan_to_num(flat).max(axis=1, initial=0.0))
    return found


def _certain_objective(
    reading: Reading, certified: Array, values: dict[int, Array], seen: list[Array]
) -> Array:
    """The decision's own, and that of the fallback."""
    found = np.array(certified)
    rows = np.flatnonzero(np.isnan(found))
    if rows.size:
        kept = {name: value[rows] for name, value in values.items()}
        found[rows] = reading.objective(kept, [vectors[rows] for vectors in seen])[0]
    return found
