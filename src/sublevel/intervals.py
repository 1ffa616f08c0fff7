"""Intervals of a mean, from independent numbers.

Student's interval is symmetric, and misses too often where numbers are skewed: costs,
regrets, and differences of them, many of which may be zero. The studentised bootstrap
learns the skewness from the numbers themselves. The interval here holds both: it ends
where the farther of them does.

No method has its coverage for every law: a rare, huge value that is not in the sample
moves the mean as far as one likes (Bahadur and Savage 1956).
"""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
from scipy.special import ndtr, stdtrit

from .checks import Array

#: Resamples behind a bootstrap interval.
RESAMPLES = 9999
#: Resamples behind a studentised one, and their seed: the same numbers have the same
#: interval, whatever their order.
STUDENTISED, _SEED = 4999, 0
#: Numbers that are drawn at once.
_AT_ONCE = 1_000_000
#: Spread of a resample, relative to the sample's, that is none but rounding.
_NOTHING = 1e-9


def mean_interval(values: Array, level: float) -> tuple[float, float]:
    """Interval of the mean of numbers that may be skewed; nan for none.

    Student's interval, extended to the studentised bootstrap's where that goes
    farther. An end is infinite where the numbers do not bound the mean on that side:
    fewer than six of them, or fewer than about five that differ from the rest. If all
    are equal so are both ends.

    Parameters
    ----------
    values : array of shape (n,)
    level : confidence, strictly between 0 and 1

    References
    ----------
    Hall (1988), The bootstrap and the sample mean; Hesterberg (2015), who widens
    bootstrap quantiles for small samples as Student's exceed the normal ones.

    Examples
    --------
    A long tail on the right makes room on the right:

    >>> values = np.exp(np.linspace(-2, 2, 30))
    >>> low, high = mean_interval(values, 0.95)
    >>> narrow = t_interval(values, 0.95)
    >>> bool(low <= narrow[0]), bool(high > narrow[1] + 0.1)
    (True, True)
    """
    low, high = t_interval(values, level)
    n = values.size
    if n == 1:
        return -inf, inf
    spread = float(values.std(ddof=1)) if n > 1 else 0.0
    if not spread > 0:
        return low, high
    mean, error = float(values.mean()), spread / sqrt(n)
    ratios = _studentised((np.sort(values) - mean) / spread)
    student = float(stdtrit(n - 1, (1 + level) / 2))
    tail = float(ndtr(-student * sqrt(n / (n - 1))))
    beyond = max(0, int((len(ratios) + 1) * tail) - 1)
    return (
        min(low, mean - error * float(ratios[-1 - beyond])),
        max(high, mean - error * float(ratios[beyond])),
    )


def _studentised(standard: Array) -> Array:
    """Errors of the means of resamples in units of their own, ascending.

    Parameters
    ----------
    standard : array of shape (n,), of mean 0 and standard deviation 1
    """
    n = standard.size
    rng = np.random.default_rng(_SEED)
    parts = []
    left, most = STUDENTISED, max(1, _AT_ONCE // n)
    while left > 0:
        drawn = standard[rng.integers(n, size=(min(left, most), n))]
        mean, spread = drawn.mean(axis=1), drawn.std(axis=1, ddof=1)
        ratio = sqrt(n) * mean / np.where(spread > _NOTHING, spread, 1.0)
        # All numbers of the resample are equal: as wrong as can be, and sure of it.
        parts.append(np.where(spread > _NOTHING, ratio, np.copysign(inf, mean)))
        left -= most
    return np.sort(np.concatenate(parts))


def t_interval(values: Array, level: float) -> tuple[float, float]:
    """Student's interval of the mean; nan for fewer than two values.

    Examples
    --------
    >>> low, high = t_interval(np.array([0.0, 2.0]), 0.5)
    >>> round(low, 6), round(high, 6)
    (0.0, 2.0)
    """
    n = values.size
    if n < 2:
        return nan, nan
    student = float(stdtrit(n - 1, (1 + level) / 2))
    reach = student * float(values.std(ddof=1)) / sqrt(n)
    mean = float(values.mean())
    return mean - reach, mean + reach


def bootstrap_interval(
    values: Array, level: float, random_state: int
) -> tuple[float, float]:
    """Percentiles of the mean over resamples; nan for fewer than two values.

    Examples
    --------
    >>> bootstrap_interval(np.full(5, 3.0), 0.95, random_state=0)
    (3.0, 3.0)
    """
    n = values.size
    if n < 2:
        return nan, nan
    rng = np.random.default_rng(random_state)
    # Few resamples at a time: all at once would need 9999 n numbers.
    means = [values[rng.integers(n, size=n)].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
