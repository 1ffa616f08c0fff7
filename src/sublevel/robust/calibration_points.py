"""A policy at its calibration points, as a search asks about it."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..calibration.envelope import Rows
from ..calibration.levels import as_levels
from ..calibration.search import Looks, Search
from ..checks import Array
from ..errors import InvalidParameter, SolvesFailed
from ..loss_set.source import budget_of
from .decisions import DecisionArrays
from .evaluating import realised
from .fallback import fall_back
from .judge.ruler import has_failed
from .keys import UncertainKey
from .labelled import LabelledContexts
from .sources import Precomputed

if TYPE_CHECKING:
    from .policy import Policy

#: Decisions of a compiled policy computed at once in a calibration: enough to share the
#: work, few enough not to compute many that turn out not to matter.
WAVE = 200


@dataclass(frozen=True, eq=False)
class PolicyPoints:
    """A policy at its calibration points, as a search asks about it.

    Attributes
    ----------
    policy : the policy to calibrate
    labelled : its calibration contexts with their outcomes
    units : for each key, the budget that level 1 stands for
    fallback : what is done where there is no decision, or None
    n_jobs : workers
    progress : whether to show a bar at each look
    tally : how many decisions were computed, and could not be
    """

    policy: Policy
    labelled: LabelledContexts
    units: tuple[float, ...]
    fallback: Array | None = None
    n_jobs: int | None = None
    progress: bool = False
    tally: Counter[str] = field(default_factory=Counter)

    @cached_property
    def scores(self) -> Array:
        """The level from which on each outcome is in its sets, shape (N,)."""
        pairs = zip(self.labelled.scores("Policy.calibrate"), self.units, strict=True)
        return np.asarray(np.max([score / unit for score, unit in pairs], axis=0))

    @property
    def has_fallback(self) -> bool:
        """Whether something is done where there is no decision."""
        return self.fallback is not None

    @cached_property
    def fallback_miss(self) -> Array:
        """Relative miss of the fallback at each point, -inf if there is none."""
        n = len(self.labelled)
        if self.fallback is None:
            return np.full(n, -np.inf)
        prepared = self.policy.problem.prepared()
        room = prepared.layout.room(np.full(n, "fallback"))
        arrays = fall_back(_emptied(room), self.fallback)
        return realised(self.policy, arrays, self.labelled.outcomes).miss

    @property
    def wave(self) -> int:
        """How many decisions are best asked for at once."""
        return WAVE if self.policy.one_by_one is None else 1

    def search(self, grid: npt.ArrayLike | None, owner: str) -> Search:
        """A search among the levels of a grid."""
        levels = as_levels(grid, self.labelled.signed, owner)
        return Search(self, levels, grid is None)

    def look(self, levels: Array, rows: Rows) -> Looks:
        """What decisions do at levels (k,), each of one point (k,)."""
        keys = []
        each = zip(self.labelled.keys, self.labelled.batches, self.units, strict=True)
        for key, batch, unit in each:
            if batch is None:
                keys.append(key)
            else:
                source = Precomputed(batch[rows], levels * unit)
                keys.append(key.with_source(source))
        policy = self.policy.over(tuple(keys), self.fallback)
        decisions = policy.decide(
            np.arange(len(rows)), n_jobs=self.n_jobs, progress=self.progress
        )
        outcomes = [vectors[rows] for vectors in self.labelled.outcomes]
        happened = realised(policy, decisions.arrays, outcomes)
        self.tally["solves"] += len(rows)
        self.tally["failed"] += int(has_failed(decisions.status).sum())
        return Looks(happened.miss, happened.decided)

    def warn_of_failures(self, owner: str) -> None:
        """Tell of decisions that exist and could not be computed."""
        if self.tally["failed"]:
            warnings.warn(
                f"{owner}: {self.tally['failed']} of {self.tally['solves']} decisions "
                "could not be computed, and were counted as violations. Look at the "
                "scale of the data, or try another solver.",
                SolvesFailed,
                stacklevel=4,
            )


def _emptied(room: DecisionArrays) -> DecisionArrays:
    room.status[:] = "infeasible"
    return room


def level_units(keys: tuple[UncertainKey, ...]) -> tuple[float, ...]:
    """The budget that level 1 stands for: 1 where only one set is calibrated.

    Several LossSets are scaled together, by a common factor of the budgets they were
    calibrated to, on other data.
    """
    predicted = [key.predicted for key in keys]
    if not any(source is not None for source in predicted):
        raise InvalidParameter(
            "Policy.calibrate() needs a LossSet to calibrate; every set of this policy "
            "is a value."
        )
    if sum(source is not None for source in predicted) == 1:
        return tuple(1.0 for _ in keys)
    units: list[Any] = [
        1.0 if source is None else budget_of(source) for source in predicted
    ]
    for value in units:
        if not (isinstance(value, float) and 0 < value < np.inf):
            raise InvalidParameter(
                "Policy.calibrate() scales several LossSets together, from the budgets "
                f"they were calibrated to on other data, got {value!r}. Calibrate each "
                "with LossSet.calibrate first."
            )
    return tuple(units)
