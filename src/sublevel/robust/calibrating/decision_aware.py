"""Calibrate the decision, not the set: budgets as small as the decisions allow.

A policy's violation (a broken constraint, or a cost above the certified one) is rarer
than an outcome outside its set. Calibrating on violations themselves gives the same
promise with a smaller budget, for the decision rule at hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...checks import Array
from ...errors import InvalidParameter
from ..modelling.sets_at import is_predicted
from .at_budget import Precomputed
from .envelope import envelope_scores, pass_in_sequence, risk_level
from .known import Known
from .levels import Levels
from .reading import TOLERANCE, Reading
from .realised import realise, size_of

#: Statuses of decisions that exist, but were not found.
FAILED = ("solver_failed", "audit_failed")
#: Decisions of a compiled policy computed at once: enough to share the work, few
#: enough not to compute many that turn out not to matter.
WAVE = 200


@dataclass(frozen=True, eq=False)
class Search:
    """One search for the level of a policy.

    Where a decision at a level exists it is robust, and cannot violate if the outcome
    is in its set. Where none exists nothing is done, and nothing violated; or the
    fallback, which violates at any level or at none. So a point at which the fallback
    keeps every constraint is safe at levels from its loss on. A solver that fails is
    another matter, and counts as a violation.

    Attributes
    ----------
    policy : the policy to calibrate, before any calibration
    known : its calibration contexts with their outcomes
    reading : of the policy's problem
    units : for each key, the budget that level 1 stands for
    levels : grid
    endless : whether the grid has no top
    fallback : what is done where there is no decision, or None
    n_jobs : workers
    tally : how many decisions were computed, and could not be
    """

    policy: Any
    known: Known
    reading: Reading
    units: tuple[float, ...]
    levels: Levels
    endless: bool
    fallback: Any = None
    n_jobs: int | None = None
    tally: Counter[str] = field(default_factory=Counter)

    @cached_property
    def scores(self) -> Array:
        """The level from which on each outcome is in its sets, shape (N,)."""
        pairs = zip(self.known.scores("Policy.calibrate"), self.units, strict=True)
        return np.asarray(np.max([score / unit for score, unit in pairs], axis=0))

    @cached_property
    def without(self) -> Array:
        """Relative miss of the fallback at each point, -inf if there is none."""
        n = len(self.known)
        if self.fallback is None:
            return np.full(n, -np.inf)
        values = {
            v.id: np.broadcast_to(self.fallback[v.name()], (n, *v.shape))
            for v in self.reading.variables
        }
        outcomes = self.known.outcomes
        missed = self.reading.missed(values, outcomes, size_of(outcomes))
        return np.asarray(np.max(missed, axis=1, initial=-np.inf))

    @property
    def safe(self) -> Any:
        """Points that cannot violate once the outcome is in its set, shape (N,)."""
        return self.without <= TOLERANCE

    @property
    def lost(self) -> Any:
        """Points that may violate at budgets above any, shape (N,)."""
        return (~self.safe | np.isinf(self.scores)) & self.endless

    def excess(self, levels: Array, rows: Any) -> Array:
        """Largest relative miss of a promise, at levels (n,) and points (n,)."""
        sources = [
            source if batch is None else Precomputed(batch[rows], levels * unit)
            for source, batch, unit in zip(
                self.known.sources, self.known.batches, self.units, strict=True
            )
        ]
        policy = self.policy._over(sources, self.fallback)
        decisions = policy.decide(np.arange(len(rows)), n_jobs=self.n_jobs)
        outcomes = [vectors[rows] for vectors in self.known.outcomes]
        worst = realise(self.reading, decisions, outcomes).worst
        # A decision that could not be computed has kept nothing.
        failed = np.isin(decisions.status, FAILED)
        self.tally["solves"] += len(rows)
        self.tally["failed"] += int(failed.sum())
        return np.where(failed, np.inf, worst)

    def envelope(self, enough: Callable[[Any], bool]) -> Array:
        """Envelope scores, as far down as needed, shape (N,)."""
        return envelope_scores(
            self.scores,
            self.levels.downwards(self.scores),
            lambda levels, rows: self.excess(levels, rows) > TOLERANCE,
            enough,
            self.safe,
            self.lost,
            self.fallback is None,
            WAVE if self.policy.one_by_one is None else 1,
        )

    def order_statistic(self, allowed: int) -> float:
        """The envelope score with `allowed` others above it; inf if none will do."""
        found = self.envelope(lambda above: int(np.sum(above)) > allowed)
        return float(np.sort(found)[len(found) - allowed - 1])

    def tested(self, allowed: int) -> float:
        """The level that Learn-then-Test stops at; inf if the first test fails."""
        if int(np.sum(self.lost)) > allowed:
            return np.inf

        def count(level: float) -> int:
            return int(np.sum(self._at(level) > TOLERANCE))

        levels = self.levels.downwards(self.scores)
        return pass_in_sequence(levels, count, allowed)

    def controlled(self, alpha: float) -> float:
        """The level at which the mean miss, at most 1, is controlled; inf if none."""
        levels = self.levels.downwards(self.scores)
        above = np.where(np.isinf(self.scores), 1.0, np.clip(self.without, 0.0, 1.0))
        return risk_level(
            levels,
            lambda level: np.clip(self._at(level), 0.0, 1.0),
            alpha,
            np.where(self.lost, above, 0.0),
        )

    def _at(self, level: float) -> Array:
        """The miss of every point at a level; -inf where there can be none."""
        rows = np.flatnonzero((self.scores > level) | ~self.safe)
        found = np.full(len(self.known), -np.inf)
        if rows.size:
            found[rows] = self.excess(np.full(len(rows), level), rows)
        return found


def level_units(sources: list[Any]) -> tuple[float, ...]:
    """The budget that level 1 stands for: 1 where only one set is calibrated.

    Several LossSets are scaled together, by a common factor of the budgets they were
    calibrated to, on other data.
    """
    predicted = [is_predicted(source) for source in sources]
    if not any(predicted):
        raise InvalidParameter(
            "Policy.calibrate() needs a LossSet to calibrate; every set of this policy "
            "is a value."
        )
    if sum(predicted) == 1:
        return tuple(1.0 for _ in sources)
    found: list[Any] = [
        getattr(source, "budget_", None) if scaled else 1.0
        for source, scaled in zip(sources, predicted, strict=True)
    ]
    for value in found:
        if not (isinstance(value, float) and 0 < value < np.inf):
            raise InvalidParameter(
                "Policy.calibrate() scales several LossSets together, from the budgets "
                f"they were calibrated to on other data, got {value!r}. Calibrate each "
                "with LossSet.calibrate first."
            )
    return tuple(found)
