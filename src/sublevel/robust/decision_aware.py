"""Calibrate the decision, not the set: budgets as small as the decisions allow.

A policy's violation (a broken constraint, or a cost above the certified one) is rarer
than an outcome outside its set. Calibrating on violations themselves gives the same
promise with a smaller budget, for the decision rule at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .at_budget import Precomputed
from .envelope import envelope_level, risk_level, pass_in_sequence
from .known import Known
from .levels import as_levels
from .realised import TOLERANCE, realise
from .sets_at import is_predicted

METHODS = ("envelope", "learn-then-test", "risk")


@dataclass(frozen=True)
class Search:
    """One search for the level of a policy.

    Attributes
    ----------
    policy : the policy to calibrate
    known : its calibration contexts with their outcomes
    units : for each key, the budget that level 1 stands for
    fallback : what is done where there is no decision, or None
    n_jobs : workers
    """

    policy: Any
    known: Known
    units: tuple[float, ...]
    fallback: Any
    n_jobs: int | None

    @property
    def scores(self) -> Array:
        """The level from which on each outcome is in its sets, shape (N,)."""
        pairs = zip(self.known.scores, self.units, strict=True)
        return np.asarray(np.max([score / unit for score, unit in pairs], axis=0))

    def excess(self, level: float, rows: Any) -> Array:
        """Largest relative miss of a promise at some contexts, at a level."""
        given = zip(self.policy._sources(), self.known.batches, self.units, strict=True)
        sources = [
            source if batch is None else Precomputed(batch, level * unit)
            for source, batch, unit in given
        ]
        policy = self.policy._over(sources, self.fallback)
        decisions = policy.decide(np.asarray(rows), n_jobs=self.n_jobs)
        outcomes = [vectors[rows] for vectors in self.known.outcomes]
        happened = realise(self.policy.problem, decisions, outcomes)
        return np.asarray(np.max(happened.excess, axis=1, initial=-np.inf))

    def open(self, level: float) -> Any:
        """The contexts that can violate at a level: outcomes outside their sets."""
        if self.fallback is None:
            return np.flatnonzero(self.scores > level)
        return np.arange(len(self.known))


def find_level(
    search: Search, allowed: int, alpha: float, method: str, grid: Any
) -> float:
    """The lowest level that keeps the promise; inf if none.

    Parameters
    ----------
    allowed : how many calibration points may violate
    grid : levels to try, or None for a grid that needs no data
    """
    scores = search.scores
    levels = as_levels(grid, bool((scores >= 0).all())).downwards(scores)

    def violates(level: float, rows: Any) -> Any:
        return search.excess(level, rows) > TOLERANCE

    def count(level: float) -> int:
        rows = search.open(level)
        return int(np.sum(violates(level, rows))) if rows.size else 0

    def losses(level: float) -> Array:
        found, rows = np.zeros(len(scores)), search.open(level)
        if rows.size:
            found[rows] = np.clip(search.excess(level, rows), 0.0, 1.0)
        return found

    if method == "envelope":
        safe = search.fallback is None
        return envelope_level(scores, levels, violates, allowed, safe)
    if method == "learn-then-test":
        return pass_in_sequence(levels, count, allowed)
    return risk_level(levels, losses, alpha)


def level_units(policy: Any) -> tuple[float, ...]:
    """The budget that level 1 stands for: 1 where only one set is calibrated.

    Several LossSets are scaled together, by a common factor of the budgets they were
    calibrated to, on other data.
    """
    sources = policy._sources()
    predicted = [is_predicted(source) for source in sources]
    if not any(predicted):
        raise InvalidParameter(
            "Policy.calibrate() needs a LossSet to calibrate; every set of this policy "
            "is a value."
        )
    if sum(predicted) == 1:
        return tuple(1.0 for _ in sources)
    found = [getattr(source, "budget_", 1.0) for source in sources]
    for value, scaled in zip(found, predicted, strict=True):
        if scaled and not (isinstance(value, float) and 0 < value < np.inf):
            raise InvalidParameter(
                "Policy.calibrate() scales several LossSets together, from the budgets "
                f"they were calibrated to on other data, got {value!r}. Calibrate each "
                "with LossSet.calibrate first."
            )
    return tuple(found)
