"""Contexts whose outcomes are known, ready to be scored and decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array, as_matrix
from ...errors import InvalidParameter
from ...loss_set.marks import refuse_seen
from ...predictions import JointPrediction, Prediction, count_rows
from ..modelling.contexts import parts_of
from ..modelling.sets_at import is_predicted, named


@dataclass(frozen=True, eq=False)
class Known:
    """N contexts with their outcomes.

    Attributes
    ----------
    keys : the uncertain parameters, as they share sets
    sources : for each key its LossSet or set value
    batches : for each key its batch of sets, or None for a set value
    outcomes : for each key the outcome vectors, shape (N, dim)
    """

    keys: Sequence[Any]
    sources: list[Any]
    batches: list[Any]
    outcomes: list[Array]

    def __len__(self) -> int:
        return len(self.outcomes[0])

    def scores(self, owner: str) -> list[Array]:
        """For each key the budget from which on outcomes are in their sets, (N,).

        For a set value 0 inside, and inf outside. An outcome whose sign is not the
        declared one is in no set.
        """
        found = []
        for k, batch in enumerate(self.batches):
            vectors = self.outcomes[k]
            if batch is None:
                inside = _members(self.sources[k], vectors, named(self.keys[k]), owner)
                score = np.where(inside, 0.0, np.inf)
            else:
                score = _least_loss(batch, vectors)
            outside = (vectors[:, _nonneg(self.keys[k])] < 0).any(axis=1)
            found.append(np.where(outside, np.inf, score))
        return found

    @property
    def signed(self) -> bool:
        """Whether some loss may be negative, whatever the data at hand."""
        given = [batch for batch in self.batches if batch is not None]
        return any(_may_be_negative(part) for b in given for part in parts_of(b))

    def points(self) -> list[Array]:
        """For each key the outcomes predicted, or a set value's middle: (N, dim)."""
        found = []
        for batch, source in zip(self.batches, self.sources, strict=True):
            if batch is None:
                middle = np.mean(source.bounds(), axis=0)
                found.append(np.tile(middle, (len(self), 1)))
            else:
                found.append(np.asarray(batch.points))
        return found


def know(policy: Any, X: Any, Y: Any, owner: str, unseen: bool = False) -> Known:
    """Predict, and meet the predictions with their outcomes.

    Parameters
    ----------
    X : covariates of N contexts; None where every set is a value
    Y : outcomes, N rows; for several uncertain parameters a dict by name
    unseen : whether to refuse rows a model was trained on
    """
    keys, sources = list(policy.problem.uncertainty), policy._given()
    given = [_of_key(Y, key, keys, owner) for key in keys]
    batches, outcomes = [], []
    for source, told in zip(sources, given, strict=True):
        if is_predicted(source):
            if unseen:
                refuse_seen(getattr(source, "_seen", None), X, told, owner)
            batch = source.predict_set(X, budget=1.0)
            vectors = batch.outcomes.encode(told, owner)
        else:
            batch = None
            vectors = as_matrix(owner, "Y", told, (count_rows(told), source.dim))
        batches.append(batch)
        outcomes.append(vectors)
    counts = {len(vectors) for vectors in outcomes}
    counts |= {len(batch) for batch in batches if batch is not None}
    if len(counts) != 1:
        raise InvalidParameter(
            f"{owner}: X and the outcomes of all parameters must have as many rows, "
            f"got {sorted(counts)}."
        )
    return Known(keys, sources, batches, outcomes)


def _members(source: Any, vectors: Array, name: str, owner: str) -> Any:
    if getattr(source, "contains", None) is None:
        raise InvalidParameter(
            f"{owner}() must know whether outcomes are in the set for {name!r}, and "
            "its oracle cannot tell. Give sl.robust.Oracle(..., contains=...)."
        )
    return source.contains(vectors)


def _least_loss(batch: Any, vectors: Array) -> Array:
    """In a union an outcome needs to be in one set only."""
    parts = parts_of(batch)
    found = [part.loss.score(part.prediction, vectors) for part in parts]
    return np.asarray(np.min(found, axis=0))


def _nonneg(key: Any) -> Any:
    """Which entries of a key were declared not to be negative, shape (dim,)."""
    return np.concatenate([np.full(p.size, p.is_nonneg()) for p in key])


def _may_be_negative(part: Any) -> bool:
    """Whether the least loss is negative where the predicted spread is small."""
    return bool(part.loss.floor(_narrow(part.prediction[:1])).min() < 0)


def _narrow(said: Any) -> Any:
    if isinstance(said, JointPrediction):
        return JointPrediction(tuple(_narrow(part) for part in said.parts))
    if not isinstance(said, Prediction):
        return said
    ones = np.ones(said.location.shape)
    return Prediction(ones, None if said.scale is None else 1e-3 * ones)


def _of_key(Y: Any, key: Any, keys: Sequence[Any], owner: str) -> Any:
    if not isinstance(Y, dict):
        if len(keys) == 1:
            return Y
        names = [named(other) for other in keys]
        raise InvalidParameter(
            f"{owner}(Y) must be a dict with the outcomes of each of {names}."
        )
    by_name = {k if isinstance(k, str) else k.name(): v for k, v in Y.items()}
    if set(by_name) != {named(other) for other in keys}:
        raise InvalidParameter(
            f"{owner}(Y) must have the outcomes of each of "
            f"{[named(other) for other in keys]}, got {sorted(by_name)}."
        )
    return by_name[named(key)]
