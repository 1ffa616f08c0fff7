"""A policy at its calibration points, as a search asks about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..calibration.envelope import Ask, Rows
from ..calibration.levels import Everywhere, Geometric, Levels, as_levels, refine
from ..calibration.search import Looks, Search
from ..caller import warn_caller
from ..checks import Array
from ..errors import CoarseLevels, InvalidParameter, SolvesFailed
from ..loss_set.batch import Batch
from ..loss_set.source import RemembersTraining, budget_of
from ..predictions import Table
from .contexts import GivenSets, require_compiled
from .evaluating import realised
from .fallback import as_fallback, fall_back
from .judge.statuses import has_failed
from .keys import UncertainKey
from .labelled import LabelledContexts, Outcome, label
from .level_proofs import LevelProofs, proofs_of
from .outlook import Outlook
from .used_rows import refuse_same_fold

if TYPE_CHECKING:
    from .compiled_policy import CompiledPolicy

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
    wave : how many decisions are best asked for at once
    progress : whether to show a bar
    X : the contexts as they came, with their index; None where they are not at hand
    tally : how many decisions were computed, and could not be
    scores : the level from which on each outcome is in its sets, shape (N,)
    fallback_miss : relative miss of the fallback at each point, -inf if there is none
    has_fallback : whether something is done where there is no decision
    changes : levels at which the decision at each point may change, ascending, shape
        (N, k); None where it may at any
    taken : what decisions did, by point and number of its last change of sets
    proofs : what decisions prove of those at other levels; None where they cannot
    outlook : how far the search is
    """

    policy: CompiledPolicy
    labelled: LabelledContexts
    units: tuple[float, ...]
    fallback: Array | None = None
    n_jobs: int | None = None
    wave: int = WAVE
    progress: bool = False
    X: Table | None = None
    tally: Counter[str] = field(default_factory=Counter)
    scores: Array = field(init=False)
    fallback_miss: Array = field(init=False)
    has_fallback: bool = field(init=False)
    changes: Array | None = field(init=False)
    proofs: LevelProofs | None = field(init=False)
    outlook: Outlook = field(default_factory=Outlook)
    taken: dict[tuple[int, int], tuple[float, bool]] = field(default_factory=dict)

    #: A decision is robust over its set.
    has_sets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        scores = np.stack(self.labelled.scores("Policy.calibrate"))
        levels = np.max(scores / np.array(self.units)[:, None], axis=0)
        miss = np.full(len(levels), -np.inf)
        if self.fallback is not None:
            layout = self.policy.problem.prepared().layout
            nothing = layout.room(np.full(len(levels), "infeasible"))
            arrays = fall_back(nothing, self.fallback)
            miss = realised(self.policy, arrays, self.labelled.outcomes).miss
        proofs = None
        if self.fallback is None:
            proofs = proofs_of(self.policy, self.labelled, self.units[0])
        vars(self).update(
            scores=levels,
            proofs=proofs,
            fallback_miss=miss,
            has_fallback=self.fallback is not None,
            changes=self.labelled.changes(self.units),
        )

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
        labelled = self.labelled
        signed, unit = grid is None and labelled.signed, 1.0
        if signed:
            unit = labelled.level_unit
            if labelled.unit_is_open:
                self._warn_if_coarse(owner)
        levels: Levels = Geometric()
        if signed or grid is not None:
            levels = as_levels(grid, signed, owner, unit)
        if alpha is not None and self.wave == 1:
            levels = refine(levels, self._training_scores(), alpha)
        return Search(self, levels, grid is None)

    def _warn_if_coarse(self, owner: str) -> None:
        """Nothing tells the units of a loss but the data to calibrate on."""
        finite = np.abs(self.scores[np.isfinite(self.scores)])
        if finite.size and float(np.median(finite)) < 1:
            warn_caller(
                f"{owner}: levels are looked at in units of 1, which is coarse where "
                f"losses are of size {np.median(finite):.2g}. No other data tell the "
                "unit of the loss: call LossSet.fit(X_train, Y_train), which leaves "
                "fitted models alone, or give the loss its unit=, or grid=.",
                CoarseLevels,
            )

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
        batches: list[Batch | None] = []
        for batch, unit in zip(self.labelled.batches, self.units, strict=True):
            batches.append(
                None if batch is None else batch.at_budgets(rows, levels * unit)
            )
        sets = GivenSets(self.labelled.keys, batches, len(rows), len(self.scores))
        self.outlook.begin(len(rows))
        arrays, _ = self.policy.decide_sets(sets, self.n_jobs, bar=self.outlook.bar)
        if self.proofs is not None:
            self.proofs.learn(levels, rows, arrays)
        arrays = fall_back(arrays, self.fallback)
        outcomes = [vectors[rows] for vectors in self.labelled.outcomes]
        happened = realised(self.policy, arrays, outcomes)
        self.outlook.learn(rows, happened.miss)
        self.tally["solves"] += len(rows)
        self.tally["failed"] += int(has_failed(arrays.status).sum())
        return Looks(happened.miss, happened.decided)

    @property
    def proves(self) -> Ask | None:
        """Whether decisions are proved to be kept; None where they never are."""
        return None if self.proofs is None else self.proofs.kept

    @property
    def fails(self) -> Ask:
        """Whether decisions exist and cannot be computed, at levels and points (k,)."""
        return lambda levels, rows: np.isposinf(self.look(levels, rows).miss)

    def shown(self, alpha: float) -> AbstractContextManager[None]:
        """A bar of the whole search for a violation level, where there is to be one."""
        return self.outlook.shown(alpha * len(self.scores), self.progress)

    def budgets(self, level: float) -> dict[str, float]:
        """The budget of each LossSet at a level, by the name of its parameter."""
        return {
            key.name: level if isinf(level) else unit * level
            for key, unit in zip(self.labelled.keys, self.units, strict=True)
            if key.predicted is not None
        }

    def warn_of_failures(self, owner: str) -> None:
        """Tell of decisions that exist and could not be computed."""
        if self.tally["failed"]:
            warn_caller(
                f"{owner}: {self.tally['failed']} of {self.tally['solves']} decisions "
                "could not be computed, and were counted as violations. Look at the "
                "scale of the data, or try another solver.",
                SolvesFailed,
            )


def points_of(
    policy: CompiledPolicy,
    X: Table,
    Y: Outcome,
    owner: str,
    fallback: Mapping[Any, npt.ArrayLike] | Array | None,
    n_jobs: int | None,
    progress: bool = False,
) -> PolicyPoints:
    """A policy before any calibration, at contexts with their outcomes.

    Parameters
    ----------
    policy : to calibrate, or to look at
    X, Y : contexts and outcomes
    owner : who asks, for errors
    fallback : dict from variables to values, or these one after another, or None
    n_jobs, progress : as for `Policy.calibrate`
    """
    keys = policy.problem.keys
    # Level 1 is a budget of 1 where there is only one set to calibrate.
    alone = len(keys) == 1 and keys[0].predicted is not None
    units = (1.0,) if alone else level_units(keys)
    if len(keys) > 1:
        refuse_same_fold(keys, X, Y, owner)
    if not (fallback is None or isinstance(fallback, np.ndarray)):
        layout = policy.problem.prepared().layout
        fallback = as_fallback(layout.variables, fallback)
    labelled = label(keys, X, Y, owner, unseen=True)
    compiled = zip(keys, policy.compiled_losses, labelled.batches, strict=True)
    for key, losses, batch in compiled:
        if losses is not None and batch is not None:
            require_compiled(key, losses, batch)
    wave = WAVE if policy.one_by_one is None else 1
    return PolicyPoints(policy, labelled, units, fallback, n_jobs, wave, progress, X)


def level_units(keys: tuple[UncertainKey, ...]) -> tuple[float, ...]:
    """The budget that level 1 stands for: 1 where only one set is calibrated.

    Several LossSets are scaled together, by a common factor of the budgets they were
    calibrated to, on other data.
    """
    units: list[float] = []
    count = 0
    for key in keys:
        count += key.predicted is not None
    if not count:
        raise InvalidParameter(
            "Policy.calibrate() needs a LossSet to calibrate; every set of this policy "
            "is a value."
        )
    for key in keys:
        value: Any = 1.0
        if count > 1 and key.predicted is not None:
            value = budget_of(key.predicted)
        units.append(value)
        if isinstance(value, float) and value <= 0:
            raise InvalidParameter(
                "Policy.calibrate() scales several LossSets together, by a factor of "
                f"their budgets, and these must be positive, got {value:.4g}. Use one "
                "LossSet for all columns, or narrower quantiles."
            )
        if not (isinstance(value, float) and 0 < value < np.inf):
            raise InvalidParameter(
                "Policy.calibrate() scales several LossSets together, from the budgets "
                f"they were calibrated to on other data, got {value!r}. Calibrate each "
                "with LossSet.calibrate first."
            )
    return tuple(units)
