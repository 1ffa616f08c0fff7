"""What contexts say about residuals, out of fold.

A forest predicts what should not depend on the context. What it predicts better than
the mean does, on rows it was not trained on, is evidence; what it misses is no proof.
"""

from math import sqrt
from typing import Any

import numpy as np

from ..checks import Array
from ..predictions import split_columns
from .residual_checks import Fact, normal_from_student, normal_scores, varies

#: Pairs of components looked at given the contexts: more would take too long.
MOST_PAIRS = 100


def encode_contexts(X: Any, size: int) -> Array | None:
    """Contexts as numbers, shape (size, p), categories as codes.

    What is missing lies below the rest. None for what is no table of so many rows.

    Examples
    --------
    >>> encode_contexts([["b", 1.0], ["a", 3.0], ["b", np.nan]], 3).tolist()
    [[0.0, 1.0], [1.0, 3.0], [0.0, 0.0]]
    """
    if hasattr(X, "tocsr"):
        return None
    try:
        plain = hasattr(X, "iloc") or isinstance(X, list | tuple)
        columns = split_columns(X if plain else np.asarray(X).reshape(size, -1))
        found = np.stack([_as_numbers(column) for column in columns], axis=1)
    except (TypeError, ValueError):
        return None
    return found if len(found) == size else None


def look_at_bias_given(errors: Array, contexts: Array) -> Fact:
    """How much of the residuals contexts predict, in the component with most."""
    return _predictability(
        errors,
        contexts,
        "Contexts predict the residuals (R^2 = {:.2f}): no bias at any context cannot "
        "be.",
    )


def look_at_correlation_given(errors: Array, contexts: Array) -> Fact:
    """How much of the products of two components' normal scores contexts predict.

    Zero if the correlation is the same everywhere. Of more than MOST_PAIRS pairs of
    components, some at random.
    """
    first, second = np.triu_indices(errors.shape[1], 1)
    if first.size > MOST_PAIRS:
        rng = np.random.default_rng(0)
        chosen = rng.choice(first.size, MOST_PAIRS, replace=False)
        first, second = first[chosen], second[chosen]
    scores = normal_scores(errors)
    return _predictability(
        scores[:, first] * scores[:, second],
        contexts,
        "Contexts predict products of two components' residuals (R^2 = {:.2f}): "
        "independence given the context cannot be.",
    )


def look_at_total(errors: Array, contexts: Array) -> Fact:
    """How much of the total loss contexts predict, on a logarithmic scale."""
    total = np.asarray((errors**2).sum(axis=1, keepdims=True))
    # As an offset the median keeps losses near zero from counting as extreme.
    typical = np.median(total) or total.mean() or 1.0
    return _predictability(
        np.log1p(total / typical),
        contexts,
        "Contexts predict the total loss (R^2 = {:.2f}): it is not the same at every "
        "context.",
    )


def _predictability(targets: Array, contexts: Array, sentence: str) -> Fact:
    """Of the column predicted best, held against chance."""
    if not targets.shape[1]:
        return Fact(0.0, 0.0, sentence)
    # Rounding errors of a constant are no evidence.
    targets = np.where(varies(targets), targets, 0.0)
    said, plain = _predict(targets, contexts)
    missed = (targets - plain) ** 2
    gain = missed - (targets - said) ** 2
    error = gain.std(axis=0, ddof=1) / sqrt(len(gain))
    students = gain.mean(axis=0) / np.where(error > 0, error, np.inf)
    worst = int(np.argmax(students))
    surprise = normal_from_student(float(students[worst]), len(gain) - 1)
    whole = float(missed[:, worst].sum())
    r_squared = float(gain[:, worst].sum()) / whole if whole > 0 else 0.0
    return Fact(r_squared, surprise, sentence)


def _predict(targets: Array, contexts: Array) -> tuple[Array, Array]:
    """By a forest and by the mean, both from the other folds, of the targets' shape."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(5, shuffle=True, random_state=0)
    leaf = max(5, len(targets) // 100)
    forest = ExtraTreesRegressor(20, min_samples_leaf=leaf, random_state=0)
    wanted = targets[:, 0] if targets.shape[1] == 1 else targets
    said = cross_val_predict(forest, contexts, wanted, cv=folds)
    plain = np.empty_like(targets)
    for train, test in folds.split(targets):
        plain[test] = targets[train].mean(axis=0)
    return np.reshape(said, targets.shape), plain


def _as_numbers(column: Any) -> Array:
    try:
        found = np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        import pandas as pd

        found = pd.factorize(np.asarray(column, dtype=object))[0].astype(float)
    known = np.isfinite(found)
    return np.where(known, found, found[known].min() - 1 if known.any() else 0.0)
