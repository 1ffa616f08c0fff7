"""What held-out residuals say about the assertions of Theorem A.

Evidence against an assertion, never proof of one: residuals can refute independence,
kappa = 1 or a total loss that is the same at every context, but a bias on contexts too
rare to be in the sample stays unseen.
"""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from ..checks import Array, as_matrix, require_level
from ..errors import InvalidParameter


@dataclass(frozen=True)
class Diagnosis:
    """Numbers that would be zero, or below it, under the assertions.

    Parameters
    ----------
    skewness : float
        The largest in absolute value over components.
    excess_kurtosis : float
        The largest over components; at most 0 if strictly sub-Gaussian.
    correlation : float
        The largest in absolute value over pairs of components; 0 for one component.
    r_squared : float or None
        How much of the total loss the contexts predict, out of fold; None without
        contexts.
    evidence : tuple of str
        What is more than chance, and what it speaks against.
    surprises : tuple of float
        The numbers above, in their order, in standard errors from zero.
    limit : float
        Standard errors from which on a number is more than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import diagnose
    >>> coins = np.random.default_rng(0).random((500, 2)) < 0.1
    >>> found = diagnose(coins - 0.1)
    >>> round(found.skewness, 1), len(found.evidence)
    (3.1, 2)
    """

    skewness: float
    excess_kurtosis: float
    correlation: float
    r_squared: float | None
    evidence: tuple[str, ...]
    surprises: tuple[float, ...] = field(default=(), compare=False)
    limit: float = field(default=inf, compare=False)


def diagnose(residuals: Any, X: Any = None, delta: float = 0.001) -> Diagnosis:
    """Look for evidence against the assertions of Theorem A.

    Parameters
    ----------
    residuals : array of shape (N, m)
        Outcome minus prediction, in units of the predicted spread, on data the model
        has not seen.
    X : array of shape (N, p), optional
        Their contexts, as numbers.
    delta : float
        Chance of false evidence if all assertions hold, in large samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import diagnose
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 1))
    >>> biased = rng.normal(size=(1000, 3)) + 2 * (X > 0.9)
    >>> for sentence in diagnose(biased, X).evidence[-1:]:
    ...     print(sentence)
    Contexts predict the total loss (R^2 = 0.48): it is not the same at every context.
    """
    require_level("diagnose", delta=delta)
    errors = as_matrix("diagnose", "residuals", residuals)
    size, width = errors.shape
    if size < 10:
        raise InvalidParameter(
            f"diagnose(residuals=...) must have at least 10 rows, got {size}."
        )
    pairs = width * (width - 1) // 2
    # Two-sided for skewness and correlation, one-sided for the others.
    tests = 2 * width + width + 2 * pairs + (X is not None)
    limit = float(-ndtri(delta / tests))
    centred = errors - errors.mean(axis=0)
    facts = [_skewness(centred), _kurtosis(centred), _correlation(centred)]
    if X is not None:
        facts.append(_predictability(_total(errors), _as_contexts(X, size)))
    return Diagnosis(
        skewness=facts[0].value,
        excess_kurtosis=facts[1].value,
        correlation=facts[2].value,
        r_squared=facts[3].value if X is not None else None,
        evidence=tuple(f.sentence.format(f.value) for f in facts if f.surprise > limit),
        surprises=tuple(f.surprise for f in facts),
        limit=limit,
    )


class _Fact(NamedTuple):
    """A number, its standard errors from zero, and what it would mean."""

    value: float
    surprise: float
    sentence: str


def _skewness(centred: Array) -> _Fact:
    third = centred**3 - 3 * (centred**2).mean(axis=0) * centred
    value = (centred**3).mean(axis=0) / _power(centred, 3)
    worst = int(np.argmax(np.abs(value)))
    return _Fact(
        float(value[worst]),
        float(np.abs(_surprises(third)).max()),
        "Residuals are skewed (skewness {:.2f}): kappa = 1 and no bias cannot both be.",
    )


def _kurtosis(centred: Array) -> _Fact:
    second = (centred**2).mean(axis=0)
    # Minus the first-order effect of estimating the variance.
    fourth = centred**4 - 6 * second * centred**2 + 3 * second**2
    value = (centred**4).mean(axis=0) / _power(centred, 4) - 3
    return _Fact(
        float(value.max()),
        float(_surprises(fourth).max()),
        "Residuals have heavy tails (excess kurtosis {:.2f}): kappa = 1 and the same "
        "spread and bias at every context cannot both be.",
    )


def _correlation(centred: Array) -> _Fact:
    width = centred.shape[1]
    value = surprise = 0.0
    for one in range(width):
        products = centred[:, one, None] * centred[:, one + 1 :]
        if not products.shape[1]:
            continue
        scale = _power(centred[:, one + 1 :], 1) * _power(centred[:, [one]], 1)
        found = products.mean(axis=0) / scale
        here = float(found[int(np.argmax(np.abs(found)))])
        value = max(value, here, key=abs)
        surprise = max(surprise, float(np.abs(_surprises(products)).max()))
    return _Fact(
        value,
        surprise,
        "Residuals of two components are correlated ({:.2f}): independence given the "
        "context and no bias cannot both be.",
    )


def _predictability(total: Array, contexts: Array) -> _Fact:
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(5, shuffle=True, random_state=0)
    forest = ExtraTreesRegressor(30, min_samples_leaf=5, random_state=0)
    said = cross_val_predict(forest, contexts, total, cv=folds)
    plain = np.empty_like(total)
    for train, test in folds.split(total):
        plain[test] = total[train].mean()
    gain = (total - plain) ** 2 - (total - said) ** 2
    r_squared = float(gain.sum() / ((total - plain) ** 2).sum())
    return _Fact(
        r_squared,
        float(_surprises(gain[:, None])[0]),
        "Contexts predict the total loss (R^2 = {:.2f}): it is not the same at every "
        "context.",
    )


def _total(errors: Array) -> Array:
    return np.asarray((errors**2).sum(axis=1))


def _power(centred: Array, power: int) -> Array:
    """Standard deviations, to a power; 1 where there is no spread."""
    spread = centred.std(axis=0)
    return np.asarray(np.where(spread > 0, spread, 1.0) ** power)


def _surprises(values: Array) -> Array:
    """Means in units of their standard errors, column by column."""
    error = values.std(axis=0, ddof=1) / sqrt(len(values))
    return np.asarray(values.mean(axis=0) / np.where(error > 0, error, np.inf))


def _as_contexts(X: Any, size: int) -> Array:
    contexts = as_matrix("diagnose", "X", X)
    if len(contexts) != size:
        raise InvalidParameter(
            f"diagnose(X=...) must have one row for each of the {size} residuals, got "
            f"{len(contexts)}."
        )
    return contexts
