"""What held-out residuals say about the assertions of Theorem A.

Evidence against an assertion, never proof of one: residuals can refute independence,
kappa = 1, the lack of a bias or a total loss that is the same at every context, but a
bias on contexts too rare to be in the sample stays unseen.

A forest predicts what should not depend on the context. What it predicts better than
the mean does, on rows it was not trained on, is evidence; what it misses is no proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ..checks import Array, as_matrix, briefly, require_level
from ..errors import InvalidParameter
from ..predictions import Table, is_frame, is_sparse, split_columns
from .residual_checks import (
    Fact,
    look_at_bias,
    look_at_correlation,
    look_at_skewness,
    look_at_tails,
    normal_from_student,
    normal_scores,
    varies,
)

#: The fewest rows in which chance and evidence can be told apart.
FEWEST = 20

#: The numbers of a Diagnosis, in its order.
NUMBERS = (
    "bias",
    "skewness",
    "excess_kurtosis",
    "correlation",
    "bias_given",
    "correlation_given",
    "r_squared",
)


@dataclass(frozen=True)
class Diagnosis:
    """Numbers that would be zero, or below it, under the assertions.

    The last three are None without contexts; they are out of fold, and each is that of
    the component, or pair, it is least likely to be chance in.

    Parameters
    ----------
    bias : float
        Mean over standard deviation, the largest in absolute value over components.
    skewness : float
        Of the component that is least likely to be symmetric.
    excess_kurtosis : float
        The largest over components; at most 0 if strictly sub-Gaussian.
    correlation : float
        Of the pair of components it shows most in; 0 for one component.
    bias_given : float or None
        R^2: how much of the residuals the contexts predict.
    correlation_given : float or None
        R^2: how much of products of two components' residuals (as normal scores) the
        contexts predict; 0 for one component.
    r_squared : float or None
        How much of the total loss, on a logarithmic scale, the contexts predict.
    evidence : tuple of str
        What is more than chance, and what it speaks against.
    surprises : tuple of float
        The numbers above, in their order, in standard errors from zero.
    limit : float
        Standard errors from which on a number is more than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.theory import study_residuals
    >>> coins = np.random.default_rng(0).random((500, 2)) < 0.1
    >>> study = study_residuals(coins - 0.1)
    >>> round(study.skewness, 1), len(study.evidence)
    (2.7, 2)
    """

    bias: float
    skewness: float
    excess_kurtosis: float
    correlation: float
    bias_given: float | None
    correlation_given: float | None
    r_squared: float | None
    evidence: tuple[str, ...]
    surprises: tuple[float, ...] = field(default=(), compare=False)
    limit: float = field(default=inf, compare=False)


def study_residuals(
    residuals: npt.ArrayLike, X: Table | None = None, delta: float = 0.001
) -> Diagnosis:
    """Look for evidence against the assertions of Theorem A.

    Parameters
    ----------
    residuals : array of shape (N, m), at least 20 rows
        Outcome minus prediction, in units of the predicted spread, on data the model
        has not seen.
    X : array of shape (N, p), optional
        Their contexts: numbers, or categories.
    delta : float
        Chance of false evidence, about, if residuals are normal, without bias,
        independent of each other and of the contexts; less if their tails are lighter.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.theory import study_residuals
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 1))
    >>> biased = rng.normal(size=(1000, 3)) + 2 * (X > 0.9)
    >>> for sentence in study_residuals(biased, X).evidence[-1:]:
    ...     print(sentence)
    Contexts predict the total loss (R^2 = 0.35): it is not the same at every context.
    """
    require_level("study_residuals", delta=delta)
    errors = as_matrix("study_residuals", "residuals", residuals, sized=False)
    if len(errors) < FEWEST:
        raise InvalidParameter(
            f"study_residuals(residuals=...) must have at least {FEWEST} rows, got "
            f"{len(errors)}."
        )
    # All that is looked for is free of units. In units of a power of two, which changes
    # no digit, squares neither vanish nor overflow.
    errors = np.ldexp(errors, -int(np.frexp(np.abs(errors).max())[1]))
    limit = float(-ndtri(delta / _tests(errors.shape[1], X is not None)))
    looks = (look_at_bias, look_at_skewness, look_at_tails, look_at_correlation)
    facts = [look(errors) for look in looks]
    if X is not None:
        contexts = _as_contexts(X, len(errors))
        given = (look_at_bias_given, look_at_correlation_given, look_at_total)
        facts += [look(errors, contexts) for look in given]
    values: dict[str, Any] = dict.fromkeys(NUMBERS)
    values |= {name: f.value for name, f in zip(NUMBERS, facts, strict=False)}
    return Diagnosis(
        **values,
        evidence=tuple(f.sentence.format(f.value) for f in facts if f.surprise > limit),
        surprises=tuple(fact.surprise for fact in facts),
        limit=limit,
    )


def _tests(width: int, given: bool) -> int:
    """How many one-sided tests share delta."""
    pairs = width * (width - 1) // 2
    # Bias, skewness and correlation have two sides, kurtosis has one.
    alone = 2 * width + 2 * width + width + 2 * pairs
    return alone + given * (width + min(pairs, MOST_PAIRS) + 1)


def _as_contexts(X: Table | None, size: int) -> Array:
    contexts = encode_contexts(X, size)
    if contexts is None:
        raise InvalidParameter(
            f"study_residuals(X=...) must have one row for each of the {size} "
            f"residuals, and columns, got {briefly(X)}."
        )
    return contexts


#: Pairs of components looked at given the contexts: more would take too long.
MOST_PAIRS = 100


def encode_contexts(X: Table | None, size: int) -> Array | None:
    """Contexts as numbers, shape (size, p), categories as codes.

    What is missing lies below the rest. None for what is no table of so many rows.

    Examples
    --------
    >>> encode_contexts([["b", 1.0], ["a", 3.0], ["b", np.nan]], 3).tolist()
    [[0.0, 1.0], [1.0, 3.0], [0.0, 0.0]]
    """
    if is_sparse(X):
        return None
    try:
        if is_frame(X) or isinstance(X, list | tuple):
            columns = split_columns(X)
        else:
            columns = split_columns(np.asarray(X).reshape(size, -1))
        table = np.stack([_as_numbers(column) for column in columns], axis=1)
    except (TypeError, ValueError):
        return None
    return table if len(table) == size else None


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
    predicted, plain = _predict(targets, contexts)
    missed = (targets - plain) ** 2
    gain = missed - (targets - predicted) ** 2
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
    predicted = cross_val_predict(forest, contexts, wanted, cv=folds)
    plain = np.empty_like(targets)
    for train, test in folds.split(targets):
        plain[test] = targets[train].mean(axis=0)
    return np.reshape(predicted, targets.shape), plain


def _as_numbers(column: npt.ArrayLike) -> Array:
    try:
        numbers = np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        import pandas as pd

        numbers = pd.factorize(np.asarray(column, dtype=object))[0].astype(float)
    finite = np.isfinite(numbers)
    return np.where(finite, numbers, numbers[finite].min() - 1 if finite.any() else 0.0)
