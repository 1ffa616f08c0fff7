"""Intervals of a mean, from independent numbers."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from scipy.stats import t

from .checks import Array

#: Resamples behind a bootstrap interval.
RESAMPLES = 9999


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
    reach = float(t.isf((1 - level) / 2, n - 1)) * float(values.std(ddof=1)) / sqrt(n)
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
