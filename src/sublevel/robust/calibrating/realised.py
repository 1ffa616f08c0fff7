"""What decisions turn out to be worth once the outcomes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from .reading import Reading

#: Relative amount by which a promise must be missed to count as a violation.
TOLERANCE = 1e-6


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
    excess = np.full((len(decided), reading.parts), -np.inf)
    excess[rows] = reading.missed(values, seen)
    objective = np.full(len(decided), np.nan)
    objective[rows] = _objective(reading, decisions.objective[rows], values, seen)
    if reading.aims:
        minimise = isinstance(reading.problem.objective, cp.Minimize)
        certified = decisions.objective
        over = (objective - certified) * (1.0 if minimise else -1.0)
        over = over / (1 + np.abs(certified))
        # A fallback certifies nothing about the objective.
        certain = np.asarray(decisions.status) == "fallback"
        over = np.where(~decided | certain, -np.inf, over)
        excess = np.column_stack([excess, over])
    return Realised(decided, objective, excess)


def _objective(
    reading: Reading, certified: Array, values: dict[int, Array], seen: list[Array]
) -> Array:
    """Without an uncertain objective the decision's own, and that of the fallback."""
    if reading.aims:
        return reading.objective(values, seen)
    found = np.array(certified)
    rows = np.flatnonzero(np.isnan(found))
    if rows.size:
        kept = {name: value[rows] for name, value in values.items()}
        found[rows] = reading.objective(kept, [vectors[rows] for vectors in seen])
    return found
