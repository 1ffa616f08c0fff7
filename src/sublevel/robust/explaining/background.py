"""What decisions were taken over, kept so that they can be explained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import Array
from ...loss_set.batch import Batch
from ...sets import LabelSet, UncertaintySet
from ...sets.label_set import names_of, one_hot
from ..contexts import ContextSets, GivenSets
from ..decisions import DecisionArrays, Decisions, in_short
from ..evaluating import realised
from ..judge.set_oracles import FixedOracle
from ..judge.statuses import is_decided
from ..judge.written_rows import Held
from ..keys import UncertainKey
from .decision_explanation import TIGHT, ConstraintRoom, DecisionExplanation
from .worst_outcome import WorstOutcome

if TYPE_CHECKING:
    from ..compiled_policy import CompiledPolicy

#: Shares of the budget at which the decision is looked at again.
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25)


@dataclass(frozen=True, eq=False)
class PolicyBackground:
    """The policy that decided, and the sets of the call.

    Attributes
    ----------
    policy : as it was
    sets : of the contexts that were decided
    scores : losses of the calibration's outcomes, ascending; None where unknown
    """

    policy: CompiledPolicy
    sets: ContextSets
    scores: Array | None

    def explain(
        self, decisions: Decisions, context: int, again: bool | None
    ) -> DecisionExplanation:
        """Why the decision at one context is as it is.

        Parameters
        ----------
        decisions : of the call
        context : which of them
        again : whether to decide again at other budgets; by default where the policy
            is compiled, so that it is quick
        """
        row = np.array([context])
        arrays = decisions.arrays.at(row)
        status = str(arrays.status[0])
        if status == "invalid_prediction":
            return self._without(status, decisions)
        batches = self._batches(row)
        if again is None:
            again = self.policy.one_by_one is None
        shares, objectives = np.zeros(0), np.zeros(0)
        if again:
            shares, objectives = self._again(batches)
        decided = bool(is_decided(arrays.status)[0]) and status != "fallback"
        unprotected = objectives[0] if again else np.nan
        blank = replace(self._without(status, decisions), unprotected=unprotected)
        if not decided:
            return replace(blank, shares=shares, objectives=objectives)
        outcomes = self._outcomes(batches, arrays)
        return replace(
            blank,
            objective=float(arrays.objective[0]),
            as_predicted=self._as_predicted(arrays, outcomes),
            constraints=self._constraints(batches, arrays),
            outcomes=outcomes,
            shares=shares,
            objectives=objectives,
        )

    def _batches(self, row: Any) -> list[Batch | None]:
        """The sets of one context, without the probes that ride with a call."""
        return replace(self.sets, riders=None).at(row)

    def _without(self, status: str, decisions: Decisions) -> DecisionExplanation:
        return DecisionExplanation(
            status,
            np.nan,
            np.nan,
            np.nan,
            self.policy.problem.prepared().model.sense,
            (),
            (),
            np.zeros(0),
            np.zeros(0),
            in_short(decisions.certificate),
        )

    def _constraints(
        self, batches: list[Batch | None], arrays: DecisionArrays
    ) -> tuple[ConstraintRoom, ...]:
        prepared = self.policy.problem.prepared()
        oracles = [
            FixedOracle(_region(key, batch), key.nonneg)
            for key, batch in zip(self.sets.keys, batches, strict=True)
        ]
        held = Held(arrays.values, prepared.ordinary(), oracles)
        rooms = []
        for number, part in enumerate(prepared.ruler.uncertain):
            extremes = part.worst(held)
            value, size = extremes.value[0], extremes.size[0]
            tight = bool(np.any(value >= -TIGHT * size))
            room = -float(value.max()) + 0.0
            rooms.append(ConstraintRoom(number, part.text, room, tight))
        return tuple(rooms)

    def _outcomes(
        self, batches: list[Batch | None], arrays: DecisionArrays
    ) -> tuple[WorstOutcome, ...]:
        outcomes = []
        for number, (key, batch) in enumerate(
            zip(self.sets.keys, batches, strict=True)
        ):
            lower, upper = _ends(key, batch)
            point, budget = np.full(key.size, np.nan), np.nan
            # Oracles of the user's own are a list, and predict nothing.
            if isinstance(batch, Batch):
                point, budget = batch.points[0], float(batch.parts[0].budgets[0])
            outcomes.append(
                WorstOutcome(
                    key.name,
                    _entries(key, _region(key, batch)),
                    point,
                    arrays.outcomes[number][0],
                    lower,
                    upper,
                    budget,
                    self._beyond(budget),
                    _labels(_region(key, batch), arrays.outcomes[number][0]),
                )
            )
        return tuple(outcomes)

    def _beyond(self, budget: float) -> float:
        """Share of the calibration's outcomes that a set of this budget leaves out."""
        if self.scores is None or np.isnan(budget):
            return np.nan
        return float(np.mean(self.scores > budget))

    def _as_predicted(
        self, arrays: DecisionArrays, outcomes: tuple[WorstOutcome, ...]
    ) -> float:
        points = [outcome.predicted[None] for outcome in outcomes]
        if any(np.isnan(point).any() for point in points):
            return np.nan
        return float(realised(self.policy, arrays, points).objective[0])

    def _again(self, batches: list[Batch | None]) -> tuple[Array, Array]:
        """Worst cases of the decisions at shares of the budget, nan without one."""
        shares = np.array(SHARES)
        given = [batch for batch in batches if batch is not None]
        plain = all(isinstance(b, Batch) and len(b.parts) == 1 for b in given)
        if not (given and plain):
            return np.zeros(1), np.full(1, np.nan)
        moved: list[Batch | None] = []
        for batch in batches:
            if batch is None:
                moved.append(None)
                continue
            part = batch.parts[0]
            # From what the prediction itself costs, which is below 0 for some losses.
            least = float(part.loss.score(part.prediction, batch.points)[0])
            budgets = least + shares * (float(part.budgets[0]) - least)
            if not np.isfinite(budgets).all():
                return np.zeros(1), np.full(1, np.nan)
            rows = np.zeros(len(shares), dtype=int)
            moved.append(batch.at_budgets(rows, budgets))
        sets = GivenSets(self.sets.keys, moved, len(shares))
        arrays, _ = self.policy.decide_sets(sets)
        decided = is_decided(arrays.status)
        return shares, np.where(decided, arrays.objective, np.nan)


def _region(key: UncertainKey, batch: Batch | None) -> Any:
    return key.source if batch is None else batch[0]


def _entries(key: UncertainKey, region: Any) -> tuple[str, ...]:
    """A name for each entry of an outcome; of labels, that of its class."""
    if isinstance(region, LabelSet):
        names = (str(name) for block in region.classes for name in block)
        return tuple(f"{key.name}[{name}]" for name in names)
    return tuple(head for part in key.parts for head in part.heads())


def _labels(region: Any, worst: Array) -> tuple[str, str] | None:
    """The worst labels and the likeliest, by the names of their classes."""
    if not isinstance(region, LabelSet) or not np.isfinite(worst).all():
        return None
    likeliest = one_hot(
        np.array([[cost.argmin() for cost in region.costs]]),
        [len(cost) for cost in region.costs],
    )
    first, second = names_of(region.classes, np.vstack([worst, likeliest]))
    return ", ".join(map(str, first)), ", ".join(map(str, second))


def _ends(key: UncertainKey, batch: Batch | None) -> tuple[Array, Array]:
    """Least and largest entries of the set; infinite where it does not say."""
    nothing = np.full(key.size, np.inf)
    region = _region(key, batch)
    if not isinstance(region, UncertaintySet):
        return -nothing, nothing
    try:
        return region.bounds()
    except Exception:
        # A set without an end in some direction has bounds in others only.
        return -nothing, nothing
