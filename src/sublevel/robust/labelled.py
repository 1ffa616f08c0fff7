"""Contexts whose outcomes are known, ready to be scored and decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_matrix
from ..errors import InvalidParameter
from ..loss_set.batch import Batch
from ..loss_set.marks import Hashes, mark_rows, refuse_seen
from ..losses.labels import LabelLoss
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    Prediction,
    Table,
    count_rows,
    require_aligned,
)
from ..sets import UncertaintySet
from .keys import UncertainKey
from .model.uncertain import Uncertain

#: A predicted spread, for a prediction of 1, at which a loss that can be negative is.
NARROW = 1e-3
#: Combinations of labels that are listed.
MOST_COMBINATIONS = 4096

#: Outcomes: of the only key, or of each by name.
Outcome: TypeAlias = "Table | Mapping[Any, Any]"


@dataclass(frozen=True, eq=False)
class LabelledContexts:
    """N contexts with their outcomes.

    Attributes
    ----------
    keys : the uncertain keys
    batches : for each key its batch of sets, or None for a set value
    outcomes : for each key the outcome vectors, shape (N, dim)
    """

    keys: tuple[UncertainKey, ...]
    batches: tuple[Batch | None, ...]
    outcomes: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.outcomes[0])

    def scores(self, owner: str) -> list[Array]:
        """For each key the budget from which on outcomes are in their sets, (N,).

        For a set value 0 inside, and inf outside. An outcome whose sign is not the
        declared one is in no set, and neither is one that is infinite.
        """
        scores = []
        for key, batch, vectors in zip(
            self.keys, self.batches, self.outcomes, strict=True
        ):
            if batch is None:
                score = np.where(_members(key, vectors, owner), 0.0, np.inf)
            else:
                score = np.full(len(vectors), np.inf)
                for part in batch.parts:
                    # In a union an outcome needs to be in one set only.
                    own = part.loss.score(part.prediction, vectors)
                    score = np.minimum(score, own)
            outside = (vectors[:, key.nonneg] < 0).any(axis=1)
            outside |= ~np.isfinite(vectors).all(axis=1)
            scores.append(np.where(outside, np.inf, score))
        return scores

    def changes(self, units: Sequence[float]) -> Array | None:
        """Levels at which the sets of each context change, ascending: (N, k).

        None where sets change all the time. Those of labels hold one more combination
        at each of its costs; a set value never changes.

        Parameters
        ----------
        units : for each key the budget that level 1 stands for
        """
        costs = []
        for batch, unit in zip(self.batches, units, strict=True):
            if batch is None:
                continue
            part = batch.parts[0]
            if len(batch.parts) > 1 or not isinstance(part.loss, LabelLoss):
                return None
            each = _label_costs(part.loss, part.prediction)
            if each is None:
                return None
            costs.append(each / unit)
        if not costs:
            return None
        return np.sort(np.concatenate(costs, axis=1), axis=1)

    @property
    def signed(self) -> bool:
        """Whether some loss may be negative, whatever the data at hand."""
        for batch in self.batches:
            for part in () if batch is None else batch.parts:
                # The least loss is negative where the predicted spread is small.
                if part.loss.floor(_narrow(part.prediction[:1])).min() < 0:
                    return True
        return False

    @property
    def level_unit(self) -> float:
        """Size of an ordinary level: the loss's, where only one is calibrated."""
        given = [batch for batch in self.batches if batch is not None]
        if len(given) != 1:
            return 1.0
        return float(np.mean([part.loss.level_unit() for part in given[0].parts]))

    @property
    def unit_is_open(self) -> bool:
        """Whether a loss still lacks a unit it could have learned."""
        given = [batch for batch in self.batches if batch is not None]
        return any(part.loss.is_open for batch in given for part in batch.parts)

    def points(self) -> list[Array]:
        """For each key the outcomes predicted, or a set value's middle: (N, dim)."""
        return points_of(self.keys, self.batches, len(self))


def points_of(
    keys: Sequence[UncertainKey], batches: Sequence[Batch | None], n: int
) -> list[Array]:
    """For each key the outcomes predicted, or a set value's middle: (n, dim)."""
    points = []
    for key, batch in zip(keys, batches, strict=True):
        if batch is None:
            assert isinstance(key.source, UncertaintySet)
            middle = np.mean(key.source.bounds(), axis=0)
            points.append(np.tile(middle, (n, 1)))
        else:
            points.append(np.asarray(batch.points))
    return points


def label(
    keys: tuple[UncertainKey, ...],
    X: Table | None,
    Y: Outcome,
    owner: str,
    unseen: bool = False,
) -> LabelledContexts:
    """Predict, and meet the predictions with their outcomes.

    Parameters
    ----------
    X : covariates of N contexts; None where every set is a value
    Y : outcomes, N rows; for several uncertain parameters a dict by name
    unseen : whether to refuse rows a model was trained on
    """
    batches: list[Batch | None] = []
    outcomes = []
    for key in keys:
        given: Any = Y
        source = key.predicted
        if isinstance(Y, dict) or len(keys) > 1:
            given = outcomes_of_key(Y, key, keys, owner)
        if source is None:
            batches.append(None)
            shape = (count_rows(given), key.size)
            outcomes.append(as_matrix(owner, "Y", given, shape, False, sized=False))
            continue
        require_aligned(given, X, owner, "Y")
        if unseen:
            refuse_seen(source.training_marks, X, given, owner)
        batch = source.predict_set(X, budget=1.0)  # type: ignore[arg-type]
        batches.append(batch)
        outcomes.append(batch.outcomes.encode(given, owner))
    counts = set()
    for vectors, sets in zip(outcomes, batches, strict=True):
        counts |= {len(vectors), len(vectors if sets is None else sets)}
    if len(counts) != 1:
        raise InvalidParameter(
            f"{owner}: X and the outcomes of all parameters must have as many rows, "
            f"got {sorted(counts)}."
        )
    return LabelledContexts(keys, tuple(batches), tuple(outcomes))


def fold_marks(
    keys: tuple[UncertainKey, ...], X: Table | None, Y: Outcome, owner: str
) -> list[Hashes | None]:
    """For each key marks of its rows, by which they are recognised."""
    if X is None:
        return [None for _ in keys]
    return [mark_rows(X, outcomes_of_key(Y, key, keys, owner)) for key in keys]


def outcomes_of_key(
    Y: Outcome, key: UncertainKey, keys: Sequence[UncertainKey], owner: str
) -> Any:
    """A key's outcomes."""
    if len(keys) == 1 and not isinstance(Y, dict):
        return Y
    names = [other.name for other in keys]
    if not isinstance(Y, dict):
        raise InvalidParameter(
            f"{owner}(Y) must be a dict with the outcomes of each of {names}."
        )
    by_name = {k.name() if isinstance(k, Uncertain) else str(k): Y[k] for k in Y}
    if set(by_name) != set(names):
        raise InvalidParameter(
            f"{owner}(Y) must have the outcomes of each of {names}, got "
            f"{sorted(by_name)}."
        )
    return by_name[key.name]


def _members(key: UncertainKey, vectors: Array, owner: str) -> npt.NDArray[np.bool_]:
    contains = getattr(key.source, "contains", None)
    if contains is None:
        raise InvalidParameter(
            f"{owner}() must know whether outcomes are in the set for {key.name!r}, "
            "and its oracle cannot tell. Give sl.robust.Oracle(..., contains=...)."
        )
    return np.asarray(contains(vectors), dtype=bool)


def _label_costs(loss: LabelLoss, prediction: AnyPrediction) -> Array | None:
    """Costs of all combinations of labels, (N, k); None if there are too many."""
    costs = loss.costs(prediction)
    if prod(block.shape[1] for block in costs) > MOST_COMBINATIONS:
        return None
    every = np.zeros((len(costs[0]), 1))
    for block in costs:
        every = (every[:, :, None] + block[:, None, :]).reshape(len(every), -1)
    return every


def _narrow(prediction: AnyPrediction) -> AnyPrediction:
    if isinstance(prediction, JointPrediction):
        return JointPrediction(tuple(_narrow(part) for part in prediction.parts))
    if not isinstance(prediction, Prediction):
        return prediction
    ones = np.ones(prediction.location.shape)
    if prediction.factor is not None:
        return Prediction(
            ones, factor=NARROW * ones[..., None] * np.eye(ones.shape[-1])
        )
    return Prediction(ones, None if prediction.scale is None else NARROW * ones)
