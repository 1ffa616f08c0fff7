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
from ..calibration.levels import Everywhere, as_levels, refine
from ..calibration.search import Looks, Search
from ..checks import Array
from ..errors import InvalidParameter, SolvesFailed
from ..loss_set.source import RemembersTraining, budget_of
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
#: Levels at which decisions change, of all points, that are looked at one by one.
MOST_CHANGES = 50_000


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
    tally : how many decisions were computed, and could not be
    taken : what decisions did, by point and number of its last change of sets
    """

    policy: Policy
    labelled: LabelledContexts
    units: tuple[float, ...]
    fallback: Array | None = None
    n_jobs: int | None = None
    tally: Counter[str] = field(default_factory=Counter)
    taken: dict[tuple[int, int], tuple[float, bool]] = field(default_factory=dict)

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
    def has_sets(self) -> bool:
        """Yes: a decision is robust over its set."""
        return True

    @property
    def wave(self) -> int:
        """How many decisions are best asked for at once."""
        return WAVE if self.policy.one_by_one is None else 1

    @cached_property
    def changes(self) -> Array | None:
        """Levels at which the decision at each point may change, ascending: (N, k)."""
        return self.labelled.changes(self.units)

    def search(
        self,
        grid: npt.ArrayLike | None,
        owner: str,
        starts: bool = False,
        alpha: float | None = None,
    ) -> Search:
        """A search among the levels of a grid.

        Parameters
        ----------
        grid : levels to try, or None for all there are
        starts : whether a search begins at several levels, which must be fixed without
            the contexts that are counted
        alpha : the violation level, where there is one only
        """
        changes = self.changes
        finite = changes is not None and changes.size <= MOST_CHANGES
        if finite and changes is not None and grid is None and not starts:
            return Search(self, Everywhere(changes), True)
        levels = as_levels(grid, self.labelled.signed, owner)
        if alpha is not None and self.policy.one_by_one is not None:
            levels = refine(levels, self._training_scores(), alpha)
        return Search(self, levels, grid is None)

    def _training_scores(self) -> Array | None:
        """Losses of rows the only LossSet was trained on; None if there are none."""
        sources = [key.predicted for key in self.labelled.keys]
        given = [source for source in sources if source is not None]
        if len(given) != 1 or not isinstance(given[0], RemembersTraining):
            return None
        return given[0].training_scores()

    def look(self, levels: Array, rows: Rows) -> Looks:
        """What decisions do at levels (k,), each of one point (k,).

        Where sets change at some levels only, decisions in between are those at the
        last change, and are computed once.
        """
        changes = self.changes
        if changes is None:
            return self._take(levels, rows)
        # Below the least cost the likeliest labels are left.
        last = np.maximum(np.sum(changes[rows] <= levels[:, None], axis=1) - 1, 0)
        places = list(zip(rows.tolist(), last.tolist(), strict=True))
        missing = sorted(set(places) - set(self.taken))
        if missing:
            at = np.array(missing)
            looks = self._take(changes[at[:, 0], at[:, 1]], at[:, 0])
            pairs = zip(looks.miss.tolist(), looks.decided.tolist(), strict=True)
            self.taken.update(zip(missing, pairs, strict=True))
        each = [self.taken[place] for place in places]
        return Looks(
            np.array([miss for miss, _ in each]),
            np.array([decided for _, decided in each], dtype=bool),
        )

    def _take(self, levels: Array, rows: Rows) -> Looks:
        keys = []
        each = zip(self.labelled.keys, self.labelled.batches, self.units, strict=True)
        for key, batch, unit in each:
            if batch is None:
                keys.append(key)
            else:
                source = Precomputed(batch[rows], levels * unit)
                keys.append(key.with_source(source))
        policy = self.policy.over(tuple(keys), self.fallback)
        decisions = policy.decide(np.arange(len(rows)), n_jobs=self.n_jobs)
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
