"""Contexts whose outcomes are known, ready to be scored and decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array, as_matrix
from ..errors import InvalidParameter
from ..predictions import count_rows
from .contexts import parts_of
from .sets_at import is_predicted, named


@dataclass(frozen=True)
class Known:
    """N contexts with their outcomes.

    Attributes
    ----------
    batches : for each key its batch of sets, or None for a set value
    outcomes : for each key the outcome vectors, shape (N, dim)
    scores : for each key the budget from which on its outcomes are in their sets,
        shape (N,); for a set value 0 inside and inf outside
    """

    batches: list[Any]
    outcomes: list[Array]
    scores: list[Array]

    def __len__(self) -> int:
        return len(self.outcomes[0])


def know(policy: Any, X: Any, Y: Any, owner: str) -> Known:
    """Predict, and meet the predictions with their outcomes.

    Parameters
    ----------
    X : covariates of N contexts; None where every set is a value
    Y : outcomes, N rows; for several uncertain parameters a dict by name
    """
    keys, sources = policy._keys(), policy._given()
    batches, outcomes, scores = [], [], []
    for key, source in zip(keys, sources, strict=True):
        given = _of_key(Y, key, keys, owner)
        if is_predicted(source):
            batch = source.predict_set(X, budget=1.0)
            vectors = batch.outcomes.encode(given, owner)
            score = _least_loss(batch, vectors)
        else:
            batch = None
            vectors = as_matrix(owner, "Y", given, (count_rows(given), source.dim))
            score = np.where(source.contains(vectors), 0.0, np.inf)
        batches.append(batch)
        outcomes.append(vectors)
        scores.append(score)
    counts = {len(vectors) for vectors in outcomes}
    counts |= {len(batch) for batch in batches if batch is not None}
    if len(counts) != 1:
        raise InvalidParameter(
            f"{owner}: X and the outcomes of all parameters must have as many rows, "
            f"got {sorted(counts)}."
        )
    return Known(batches, outcomes, scores)


def _least_loss(batch: Any, vectors: Array) -> Array:
    """In a union an outcome needs to be in one set only."""
    parts = parts_of(batch)
    found = [part.loss.score(part.prediction, vectors) for part in parts]
    return np.asarray(np.min(found, axis=0))


def _of_key(Y: Any, key: Any, keys: Any, owner: str) -> Any:
    if not isinstance(Y, dict):
        if len(keys) == 1:
            return Y
        names = [named(other) for other in keys]
        raise InvalidParameter(
            f"{owner}(Y) must be a dict with the outcomes of each of {names}."
        )
    by_name = {k if isinstance(k, str) else k.name(): v for k, v in Y.items()}
    if named(key) not in by_name:
        raise InvalidParameter(
            f"{owner}(Y) must have the outcomes of {named(key)!r}, got "
            f"{sorted(by_name)}."
        )
    return by_name[named(key)]
