"""Every row evaluated after calibration on rows of other folds, at alpha and around it.

An order statistic of a few hundred rows is noisier than shapes differ. Shapes rank much
alike at levels near each other, so costs are compared on average over several.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold

from ..checks import Array
from ..errors import InfiniteBudget
from ..evaluation import Evaluation
from ..evaluation.comparison import Outcome
from ..guarantees import Calibration, Guarantee, Marginal, OrderStatistic
from ..guarantees import get as get_guarantee
from ..predictions import Table, can, count_rows, take_rows
from .choice import costs_of

#: Violation levels that costs are compared at, in units of alpha.
AROUND = (0.4, 0.7, 1.0, 1.3, 1.6)
#: Those between which the level of other rows is expected: of a few hundred rows it is
#: that of a violation within .15 alpha or so.
NEAR = (0.7, 1.0, 1.3)
_COLUMNS = ("status", "decided", "violated", "certified", "realised", "regret")


class Candidate(Protocol):
    """What can be chosen: it calibrates itself, and is evaluated."""

    def calibrate(self, X: Any, Y: Any, alpha: float, /, **more: Any) -> Any: ...
    def evaluate(self, X: Any, Y: Any, /, n_jobs: int | None = None) -> Evaluation: ...


@dataclass(frozen=True, eq=False)
class Crossed:
    """A candidate out of fold.

    Attributes
    ----------
    at_alpha : Evaluation, at the level that is asked for
    around : dict from shares of alpha to Evaluation values, the share 1 among them
        Fewer than `AROUND` where rows are too few for a level, or no search is shared.
    expected : between which budgets folds had their levels near alpha; None where no
        search is shared
    """

    at_alpha: Evaluation
    around: dict[float, Evaluation]
    expected: tuple[float, float] | None = None


def compared(
    crossings: Mapping[str, Crossed], by: str, sense: float
) -> dict[str, Array]:
    """Costs to be made small, shape (n,) each: means over the levels that all have."""
    shares = set.intersection(*(set(each.around) for each in crossings.values()))
    columns = [
        costs_of(
            {name: each.around[share] for name, each in crossings.items()}, by, sense
        )
        for share in sorted(shares)
    ]
    return {
        name: np.asarray(np.mean([column[name] for column in columns], axis=0))
        for name in crossings
    }


def crossed(
    policy: Candidate,
    X: Table,
    Y: Outcome,
    alpha: float,
    guarantee: str | Guarantee,
    folds: int,
    n_jobs: int | None,
) -> Crossed:
    """Every row evaluated after calibration on rows of other folds."""
    size = count_rows(X)
    parts = list(KFold(folds, shuffle=True, random_state=0).split(np.empty(size)))
    shared = _shared(policy, X, Y, alpha, guarantee, n_jobs)
    around: dict[float, Evaluation] = {}
    near: list[Array] = []
    if shared is not None:
        for share in AROUND:
            budgets = shared.budgets(parts, share * alpha, size)
            if budgets is not None:
                around[share] = shared.evaluated(X, Y, budgets, n_jobs)
                near += [budgets] if share in NEAR else []
    if 1.0 not in around:
        own = _alone(policy, X, Y, alpha, guarantee, parts, n_jobs)
        return Crossed(own, {1.0: own})
    expected = float(np.min(near)), float(np.max(near))
    return Crossed(around[1.0], around, expected)


def _alone(
    policy: Candidate,
    X: Table,
    Y: Outcome,
    alpha: float,
    guarantee: str | Guarantee,
    parts: list[tuple[Any, Any]],
    n_jobs: int | None,
) -> Evaluation:
    """Each fold calibrated by itself."""
    pieces = []
    for rest, held in parts:
        own = copy.copy(policy)
        with warnings.catch_warnings():
            # Part of the rows may be too few; then nothing is decided, and counts.
            warnings.simplefilter("ignore", InfiniteBudget)
            own.calibrate(*_rows(X, Y, rest), alpha, guarantee=guarantee, n_jobs=n_jobs)
        pieces.append(own.evaluate(*_rows(X, Y, held), n_jobs=n_jobs))
    return _joined(pieces, [held for _, held in parts])


@dataclass(frozen=True)
class _Recording(Marginal):
    """The marginal promise, which keeps the scores that it is given."""

    scores: list[Array] = field(default_factory=list, compare=False)

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> Calibration:
        self.scores.append(np.asarray(scores, dtype=float))
        return super().calibrate(scores, alpha, X)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Scores of all rows, of which those above a level are exact.

    The score of a row is a fixed function of it, so that every fold may read its own
    order statistic off one search.
    """

    policy: Any
    promise: OrderStatistic
    scores: Array
    exact_above: float

    def budgets(
        self, parts: list[tuple[Any, Any]], alpha: float, size: int
    ) -> Array | None:
        """The budget of each row's fold; None where the search went not far enough."""
        budgets = np.empty(size)
        for rest, held in parts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InfiniteBudget)
                own = float(self.promise.calibrate(self.scores[rest], alpha).budget)
            if not np.isfinite(own) or own < self.exact_above:
                return None
            budgets[held] = own
        return budgets

    def evaluated(
        self, X: Table, Y: Outcome, budgets: Array, n_jobs: int | None
    ) -> Evaluation:
        """Every row at its budget; folds that agree are evaluated together."""
        pieces, places = [], []
        for budget in np.unique(budgets):
            rows = np.flatnonzero(budgets == budget)
            own = self.policy.at(float(budget))
            pieces.append(own.evaluate(*_rows(X, Y, rows), n_jobs=n_jobs, regret=False))
            places.append(rows)
        return _joined(pieces, places)


def _shared(
    policy: Candidate,
    X: Table,
    Y: Outcome,
    alpha: float,
    guarantee: str | Guarantee,
    n_jobs: int | None,
) -> _Shared | None:
    """One search for all folds, where budgets are order statistics of one LossSet."""
    keys: Any
    promise, keys = get_guarantee(guarantee), getattr(policy, "keys", ())
    alone = len(keys) == 1 and keys[0].predicted is not None and can(policy, "at")
    if not alone or not isinstance(promise, OrderStatistic):
        return None
    own, kept = copy.copy(policy), _Recording()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteBudget)
        own.calibrate(X, Y, min(2 * alpha, 0.5), guarantee=kept, n_jobs=n_jobs)
    budget = float(cast(Any, own).certificate_.budget)
    return _Shared(policy, promise, kept.scores[-1], budget)


def _joined(pieces: list[Evaluation], places: list[Any]) -> Evaluation:
    """Pieces of an evaluation, back in the order of the rows."""
    back = np.argsort(np.concatenate(places))
    whole: dict[str, Any] = {
        name: np.concatenate([vars(piece)[name] for piece in pieces])[back]
        for name in _COLUMNS
    }
    return Evaluation(**whole)


def _rows(X: Table, Y: Outcome, rows: Any) -> tuple[Any, Any]:
    if isinstance(Y, Mapping):
        return take_rows(X, rows), {key: take_rows(Y[key], rows) for key in Y}
    return take_rows(X, rows), take_rows(Y, rows)
