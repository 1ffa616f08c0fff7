"""The sets of many contexts, and which contexts have none.

A model may fail at one context (a missing covariate, a prediction that is not a number)
and is asked for many at once. One bad context is then found by halving, and the others
are decided.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ..checks import Array, briefly
from ..conic.program import Indices
from ..errors import InvalidParameter
from ..guarantees import Calibration
from ..loss_set.batch import Batch, SetBatch
from ..loss_set.source import SetSource, budget_of
from ..losses import Loss
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    Needs,
    Numbers,
    Outcomes,
    Prediction,
    Table,
    count_rows,
    is_sparse,
    take_rows,
)
from .keys import UncertainKey
from .probes import Probes, Riders

#: Contexts that are tried, spread over all, before an error is taken for bad contexts.
PROBES = 100
#: What can stand in for covariates.
PREDICTIONS = (Prediction, JointPrediction)

#: Covariates, or predictions, or one of these by name of a key.
Contexts: TypeAlias = "Table | AnyPrediction | Mapping[str, Any]"

_LOG = logging.getLogger(__name__)


def count_contexts(X: Contexts) -> int:
    """Rows of covariates, or of predictions."""
    if isinstance(X, dict):
        for name, part in X.items():
            if not isinstance(part, PREDICTIONS):
                raise InvalidParameter(
                    "Policy.decide(X) must be covariates, or a dict from names of "
                    f"parameters to Predictions, got {briefly(part)} for {name!r}."
                )
        counts = {len(part) for part in X.values()}
        if len(counts) != 1:
            raise InvalidParameter(
                "Predictions of several parameters must have as many rows, got "
                f"{sorted(counts)}."
            )
        return int(counts.pop())
    return len(X) if isinstance(X, PREDICTIONS) else count_rows(X)


def contexts_to_decide(
    owner: str,
    keys: tuple[UncertainKey, ...],
    losses: tuple[tuple[Loss, ...] | None, ...],
    X: Contexts | None,
    probes: Probes | None,
) -> ContextSets:
    """What a call of `decide` is about; one context, if no set needs covariates.

    Probes, if a promise hangs on them, are asked along with covariates.
    """
    if X is None:
        for key in keys:
            if key.predicted is not None:
                raise InvalidParameter(
                    f"{owner}(X) needs covariates, as a set is a LossSet."
                )
        return ContextSets(keys, losses, None)
    foreign = isinstance(X, (*PREDICTIONS, dict))
    rows = count_contexts(X) if foreign else count_rows(X)
    if not rows:
        raise InvalidParameter(f"{owner}(X) needs at least one context.")
    again: Any = X
    # Covariates in a form whose rows can be taken again and again.
    if isinstance(X, list):
        again = np.asarray(X)
    elif not isinstance(X, np.ndarray) and is_sparse(X):
        again = X.tocsr()
    riders = None if foreign or probes is None else probes.riders(rows)
    return ContextSets(keys, losses, again, rows, foreign, riders)


@dataclass
class ContextSets:
    """The sets of a call of `decide`.

    Attributes
    ----------
    keys : the uncertain keys
    losses : for each key the losses it was compiled for, or None
    X : covariates, or predictions, of all contexts
    rows : number of contexts
    foreign : whether X are predictions in place of covariates
    riders : probes to ask the models along with contexts, or None
    hopeful : whether some context is sure to be predicted, here or elsewhere
    among : contexts that are decided alike, if more than those of this call
    """

    keys: tuple[UncertainKey, ...]
    losses: tuple[tuple[Loss, ...] | None, ...]
    X: Any
    rows: int = 1
    foreign: bool = False
    riders: Riders | None = None
    hopeful: bool = field(default=False, repr=False)
    among: int = field(default=1, repr=False)

    @property
    def total(self) -> int:
        """Number of contexts by which a solver is chosen."""
        return max(self.rows, self.among)

    def at(self, rows: Indices) -> list[Batch | None]:
        """For each key its batch of sets at some rows, or None for a set value."""
        batches: list[Batch | None] = []
        at: slice | Indices = rows
        if len(rows) > 1 and rows[-1] - rows[0] == len(rows) - 1:
            # Rows come in order, each once: these follow each other.
            at = slice(int(rows[0]), int(rows[-1]) + 1)
        for number, (key, losses) in enumerate(
            zip(self.keys, self.losses, strict=True)
        ):
            source, X = key.predicted, self.X
            if losses is None or source is None:
                batches.append(None)
                continue
            given = X.get(key.name) if isinstance(X, dict) else X
            if given is None:
                raise InvalidParameter(
                    f"The predictions must have one for {key.name!r}, got {sorted(X)}."
                )
            if isinstance(given, PREDICTIONS):
                batch: Batch = predicted_sets(losses, common_budget(source), given[at])
            elif self.riders is not None:
                batch = self.riders.predict_set(number, source, _taken(given, at))
            else:
                batch = source.predict_set(_taken(given, at))
            require_compiled(key, losses, batch)
            batches.append(batch)
        return batches

    def where_possible(self, rows: Indices) -> tuple[list[Batch | None], Indices]:
        """The batches at those rows that can be predicted, and these rows.

        If hardly any context can be, the error is the caller's or the model's, and is
        raised as it is.
        """
        try:
            return self.at(rows), rows
        except Exception as error:
            # Whatever a model raises.
            if not self._any_possible():
                raise
            good = self._halve(rows, error)
            return (self.at(good) if good.size else []), good

    def first(self) -> list[Batch | None]:
        """The batches at some contexts, to see how wide predictions are."""
        if self.X is None:
            raise InvalidParameter(
                "Policy.save() must come after a first decide(X): how wide the blocks "
                "of a Combined loss are is known from its predictions only."
            )
        return self.where_possible(self._spread())[0]

    def _spread(self) -> Indices:
        return np.unique(np.linspace(0, self.rows - 1, PROBES).astype(int))

    def _any_possible(self) -> bool:
        if not self.hopeful:
            each = self._spread()[:, None]
            self.hopeful = any(self._failure(i) is None for i in each)
        return self.hopeful

    def _halve(self, rows: Indices, error: Exception) -> Indices:
        """The rows that can be predicted, of some that cannot all be."""
        if len(rows) == 1:
            _LOG.warning("context %d cannot be predicted: %s", rows[0], error)
            return rows[:0]
        good = []
        for half in np.array_split(rows, 2):
            failure = self._failure(half)
            good.append(half if failure is None else self._halve(half, failure))
        return np.concatenate(good)

    def _failure(self, rows: Indices) -> Exception | None:
        try:
            self.at(np.asarray(rows))
        except Exception as error:
            return error
        return None


@dataclass(frozen=True, eq=False)
class GivenSets:
    """Sets that were predicted before: many budgets are tried on the same contexts.

    Attributes
    ----------
    keys : the uncertain keys
    batches : for each key its batch of sets, or None for a set value
    rows : number of contexts
    total : number of contexts by which a solver is chosen: all that are looked at, if
        only some are looked at together
    """

    keys: tuple[UncertainKey, ...]
    batches: list[Batch | None]
    rows: int
    total: int = 1

    def where_possible(self, rows: Indices) -> tuple[list[Batch | None], Indices]:
        """The batches at some rows, and these rows."""
        if len(rows) == self.rows:
            return self.batches, rows
        return [None if b is None else b[rows] for b in self.batches], rows

    def first(self) -> list[Batch | None]:
        """The batches, to see how wide predictions are."""
        return self.batches


def _taken(covariates: Any, rows: slice | Indices) -> Any:
    """Rows of covariates that a model may write to."""
    if isinstance(rows, slice) and type(covariates) is np.ndarray:
        return covariates[rows].copy()
    return take_rows(covariates, rows)


def require_compiled(key: UncertainKey, losses: tuple[Loss, ...], batch: Batch) -> None:
    """Sets must be those a key was compiled for.

    Oracles of the user's own, which have no losses, are checked where they are asked.
    """
    if not losses:
        return
    width = batch.parts[0].prediction.width
    if width != key.size:
        raise InvalidParameter(
            f"The sets for {key.name!r} must have dimension {key.size}, got {width}."
        )
    pairs = list(zip(losses, batch.parts, strict=False))
    same = len(losses) == len(batch.parts) and all(
        loss.settled(part.prediction) == part.loss for loss, part in pairs
    )
    if not same:
        raise InvalidParameter(
            f"The LossSet for {key.name!r} was fitted again after the policy was "
            "compiled. Compile the problem again."
        )


def common_budget(source: SetSource) -> float | None:
    """The budget of all contexts, or None where it differs between them."""
    calibration = getattr(source, "calibration_", None)
    if calibration is not None and not isinstance(calibration, Calibration):
        # A weighted budget is that of a typical context only.
        return None
    budget = budget_of(source)
    return float(budget) if isinstance(budget, float | int) else None


def predicted_sets(
    losses: tuple[Loss, ...], budget: float | Array | None, prediction: AnyPrediction
) -> SetBatch:
    """The sets of given predictions at one budget, or at one each, shape (n,)."""
    if len(losses) != 1 or budget is None:
        raise InvalidParameter(
            "Predictions alone do not tell the sets: the LossSet is a union of folds, "
            "or its budget differs between contexts. Give covariates: with the "
            "LossSet, or with the model where budgets differ by group."
        )
    if not losses[0].has_slots:
        raise InvalidParameter(
            "Predictions of labels do not tell the names of the classes. Give "
            "covariates."
        )
    joint = isinstance(prediction, JointPrediction)
    if joint != isinstance(losses[0].needs, tuple):
        wanted = "a Prediction" if joint else "a JointPrediction, one part a block,"
        raise InvalidParameter(
            f"Policy.decide(X) must be {wanted} for the loss "
            f"{type(losses[0]).__name__}, got a {type(prediction).__name__}."
        )
    parts = (
        prediction.parts if isinstance(prediction, JointPrediction) else (prediction,)
    )
    needs = losses[0].needs if joint else (losses[0].needs,)
    for part, need in zip(parts, needs, strict=False):
        if isinstance(part, Prediction):
            _check_numbers(part, need)
    losses[0].check(prediction)
    outcomes = Outcomes((Numbers(prediction.width),))
    budgets = np.broadcast_to(np.asarray(budget, dtype=float), len(prediction)).copy()
    loss = losses[0].settled(prediction)
    return SetBatch(loss, prediction, budgets, outcomes, ())


def _check_numbers(prediction: Prediction, need: Needs) -> None:
    """Many contexts, finite predictions, positive spreads (intervals may have none)."""
    location, scale = prediction.location, prediction.scale
    if np.ndim(location) != 2 or (scale is not None and scale.shape != location.shape):
        raise InvalidParameter(
            "Prediction(location=..., scale=...) must be of shape (n, m) for n "
            f"contexts, got {np.shape(location)} and {np.shape(scale)}."
        )
    if not np.isfinite(location).all():
        raise InvalidParameter("Prediction(location=...) must be finite.")
    if scale is None:
        return
    wide = scale >= 0 if need == "interval" else scale > 0
    if not (wide & np.isfinite(scale)).all():
        raise InvalidParameter("Prediction(scale=...) must be positive and finite.")
