"""What residuals say by themselves, in standard errors from what is asserted.

Wild residuals inflate sample moments, and with them any standard error made of those:
the worse the residuals, the less would show. So the errors here are those of what
is asserted (normal residuals are the extreme case), or come from bounded scores.
"""

from math import copysign, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri, ndtri_exp

from ..checks import Array

#: Residuals count as at most so many robust spreads when asymmetry is looked for.
REACH = 3.0

#: Halvings of an interval after which its ends are next to each other.
HALVINGS = 60

#: Differences of this size, relative to the values, are due to rounding.
ROUNDING = 1e-12

#: A median absolute deviation times this estimates the spread of normal residuals.
_TO_SPREAD = 1.4826


class Fact(NamedTuple):
    """A number, its standard errors from zero, what it would mean, and where it is."""

    value: float
    surprise: float
    sentence: str
    where: str = ""


def look_at_bias(errors: Array) -> Fact:
    """The mean in units of the spread, by Student's test of every component.

    Examples
    --------
    >>> look_at_bias(3 + np.random.default_rng(0).normal(size=(50, 1))).value > 2
    True
    """
    size = len(errors)
    spread = errors.std(axis=0, ddof=1)
    value = errors.mean(axis=0) / np.where(varies(errors), spread, np.inf)
    worst = float(value[int(np.argmax(np.abs(value)))])
    return Fact(
        worst,
        normal_from_student(abs(worst) * sqrt(size), size - 1),
        "Residuals are {:.2f} spreads from zero on average: no bias cannot be.",
    )


def look_at_skewness(errors: Array) -> Fact:
    """The skewness of the component that is least likely to be symmetric."""
    surprises = [abs(_asymmetry(column)) for column in errors.T]
    worst = int(np.argmax(surprises))
    return Fact(
        float((_standardised(errors)[:, worst] ** 3).mean()),
        surprises[worst],
        "Residuals are skewed (skewness {:.2f}): kappa = 1 and no bias cannot both be.",
    )


def look_at_tails(errors: Array) -> Fact:
    """The largest excess kurtosis, held against that of normal samples.

    By the cube-root transformation of Anscombe and Glynn (1983): the kurtosis of a
    normal sample is far from normal itself.
    """
    from scipy.stats import kurtosistest

    value = (_standardised(errors) ** 4).mean(axis=0) - 3
    worst = int(np.argmax(value))
    surprise = value[worst] / sqrt(24 / len(errors))
    if value[worst] > 0:
        # Far below zero the transformation has a pole, and light tails are no evidence.
        surprise = kurtosistest(errors[:, worst]).statistic
    return Fact(
        float(value[worst]),
        float(surprise),
        "Residuals have heavy tails (excess kurtosis {:.2f}): kappa = 1 and the same "
        "spread and bias at every context cannot both be.",
    )


def look_at_correlation(errors: Array) -> Fact:
    """The correlation of the pair of components that it shows most in.

    Held against chance by products of normal scores, which no outlier dominates and
    which a spread common to both components does not move. 0 for one component.
    """
    scores, plain = normal_scores(errors), _standardised(errors)
    value = surprise = 0.0
    for one in range(errors.shape[1] - 1):
        products = scores[:, [one]] * scores[:, one + 1 :]
        sizes = np.abs(_self_normalised(products, _null(scores, one)))
        worst = int(np.argmax(sizes))
        if sizes[worst] > surprise:
            surprise = float(sizes[worst])
            value = float((plain[:, one] * plain[:, one + 1 + worst]).mean())
    return Fact(
        value,
        surprise,
        "Residuals of two components are correlated ({:.2f}): independence given the "
        "context and no bias cannot both be.",
    )


def look_at_dependence(errors: Array) -> Fact:
    """How much two components go together that need not be correlated.

    Cosines of the ranks (uniform scores), the first two: products of the second of one
    component with the first or second of the other see what is larger, or more spread
    out, at both ends of the other. They are bounded, and have mean zero and variance
    one if the components are independent, whatever their laws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> one = rng.normal(size=1000)
    >>> fact = look_at_dependence(np.stack([one, one * rng.choice([-1, 1], 1000)], 1))
    >>> fact.value > 0.5, fact.surprise > 10
    (True, True)
    """
    from scipy.stats import rankdata

    size, width = errors.shape
    value = surprise = 0.0
    if width > 1:
        ranks = (rankdata(errors, axis=0) - 0.5) / size
        first, second = (np.sqrt(2) * np.cos(k * np.pi * ranks) for k in (1, 2))
        first, second = (
            np.where(varies(errors), part - part.mean(axis=0), 0.0)
            for part in (first, second)
        )
        both = np.triu(second.T @ second, 1), second.T @ first
        np.fill_diagonal(both[1], 0.0)
        each = np.concatenate([part.ravel() for part in both]) / size
        value = float(each[int(np.argmax(np.abs(each)))])
        tests = 3 * width * (width - 1) // 2
        # Of both signs, and of all pairs.
        chance = log(2 * tests) + float(log_ndtr(-abs(value) * sqrt(size)))
        surprise = float(-ndtri_exp(min(chance, log(0.5))))
    return Fact(
        value,
        surprise,
        "Residuals of two components go together, correlated or not ({:.2f}): "
        "independence and the same spread at every context cannot both be.",
    )


def normal_scores(values: Array) -> Array:
    """Normal quantiles in place of the values, by rank and column, of mean zero.

    Examples
    --------
    >>> normal_scores(np.array([[1.0], [2.0], [1e9]])).ravel().round(2).tolist()
    [-0.67, 0.0, 0.67]
    """
    from scipy.stats import rankdata

    scores = ndtri(rankdata(values, axis=0) / (len(values) + 1))
    return np.asarray(scores - scores.mean(axis=0))


def _null(scores: Array, one: int) -> Array:
    """Mean square of products of scores, if the components are independent."""
    second = (scores**2).mean(axis=0)
    return np.asarray(second[one] * second[one + 1 :])


def _asymmetry(column: Array) -> float:
    """Third moment of pulled-in residuals, in standard errors.

    Residuals are pulled in to REACH spreads of the centre at which what is left has
    mean zero. An odd function of symmetric residuals is symmetric, so the sum over the
    root of the sum of squares is sub-Gaussian, whatever their tails.
    """
    centred = column - np.median(column)
    reach = REACH * _robust_spread(column)
    if not reach:
        return 0.0
    near = np.clip(centred - _centre(centred, reach), -reach, reach)
    inside = np.abs(near) < reach
    if not inside.any():
        # Two clusters of one size, infinitely far from each other: nothing is lopsided.
        return 0.0
    # Minus the first-order effect of estimating the centre.
    third = near**3 - 3 * (near[inside] ** 2).mean() * near
    return float(_self_normalised(third[:, None])[0])


def _centre(centred: Array, reach: float) -> float:
    """Where residuals of median zero, pulled in to the reach, have mean zero.

    The mean falls as the centre rises, and half of the residuals lie on either side of
    zero, so the centre is within reach of it: halving the interval ends, whatever the
    residuals.
    """
    low, high = -reach, reach
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if np.clip(centred - middle, -reach, reach).mean() > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _robust_spread(column: Array) -> float:
    """From the median absolute deviation, unless more than half are the same."""
    deviation = float(np.median(np.abs(column - np.median(column))))
    # Values that differ by their rounding are the same.
    if deviation > ROUNDING * float(np.abs(column).max()):
        return _TO_SPREAD * deviation
    return float(column.std()) if varies(column[:, None])[0] else 0.0


def _self_normalised(values: Array, least: npt.ArrayLike = 0.0) -> Array:
    """Sums by column over the roots of the sums of squares, those at least so large."""
    mean_square = np.maximum((values**2).mean(axis=0), least)
    error = np.sqrt(mean_square / len(values))
    return np.asarray(values.mean(axis=0) / np.where(error > 0, error, np.inf))


def normal_from_student(statistic: float, freedom: int) -> float:
    """The normal quantile as rare as Student's statistic (Wallace 1959)."""
    shrink = (8 * freedom + 1) / (8 * freedom + 3)
    return copysign(shrink * sqrt(freedom * log1p(statistic**2 / freedom)), statistic)


def _standardised(errors: Array) -> Array:
    """Minus the mean, over the spread; 0 where there is none."""
    centred = errors - errors.mean(axis=0)
    return np.asarray(centred / np.where(varies(errors), errors.std(axis=0), np.inf))


def varies(errors: Array) -> Any:
    """Whether each column varies by more than its rounding error."""
    return np.ptp(errors, axis=0) > ROUNDING * np.abs(errors).max(axis=0)
