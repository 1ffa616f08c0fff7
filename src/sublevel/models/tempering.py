"""Tempering: from what a variance model says to a variance that holds out of fold.

A flexible variance model exaggerates: where it has seen small squares it promises less
noise than there is. Its out-of-fold predictions v tell by how much. The variance used is

    s = max(floor, level * v^power),   power in [0, 2],

with level and power at the minimum of the out-of-fold loss q / s + log s. A power of 1
trusts the model, 0 makes the variance constant, and the level makes the standardised
out-of-fold residuals have mean square 1. Two parameters cost about 1 / n nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..checks import Array
from ..errors import InvalidParameter

MOST_POWER = 2.0


@dataclass(frozen=True)
class Tempering:
    """The map from raw to final variances.

    Parameters
    ----------
    log_level : float, log of the variance where v = 1
    power : float in [0, 2]
    least, most : float, the range in which v is believed
    floor : float, the smallest variance, in the squared units of the outcome

    Examples
    --------
    >>> Tempering(0.0, 0.5, 1e-4, 100.0, floor=0.1)(np.array([4.0, 0.0, 1e9]))
    array([ 2. ,  0.1, 10. ])
    """

    log_level: float
    power: float
    least: float
    most: float
    floor: float

    def __call__(self, raw: Any) -> Array:
        believed = np.log(np.clip(_finite(raw), self.least, self.most))
        return np.maximum(np.exp(self.log_level + self.power * believed), self.floor)


def temper(
    raw: Array, squares: Array, weight: Array, least: float, floor: float
) -> Tempering:
    """The tempering with the smallest out-of-fold loss.

    Parameters
    ----------
    raw : array of shape (n,): out-of-fold predictions of squares / their mean
    squares : array of shape (n,): squared out-of-fold residuals
    weight : array of shape (n,): weights of the rows, summing to 1
    least : float > 0, relative to the mean of the squares
    floor : float > 0, in the squared units of the outcome

    Examples
    --------
    >>> q = np.array([1.0, 1.0, 16.0, 16.0])
    >>> found = temper(np.array([1.0, 1.0, 2.0, 2.0]), q, np.full(4, 0.25), 1e-4, 1e-4)
    >>> round(found.power, 6), found(np.array([1.0, 1.5]))
    (2.0, array([2.125, 4.781]))
    """
    used = np.maximum(squares, floor)
    # No region's variance is above the largest square that was seen anywhere.
    most = max(1.0, used[weight > 0].max() / np.average(used, weights=weight))
    believed = np.log(np.clip(_finite(raw), least, most))
    power = _best_power(believed, used, weight)
    # The best level for a given power is closed: the weighted mean of q / v^power.
    log_level = float(np.log(np.sum(weight * used * np.exp(-power * believed))))
    return Tempering(log_level, power, least, most, floor)


def _best_power(believed: Array, squares: Array, weight: Array) -> float:
    """Where the loss, with the level at its best, is smallest: it is convex."""

    def slope(power: float) -> float:
        shares = weight * squares * np.exp(-power * (believed - believed.min()))
        mean_share = np.sum(shares * believed) / np.sum(shares)
        return float(np.sum(weight * believed) - mean_share)

    if slope(0.0) >= 0:
        return 0.0
    if slope(MOST_POWER) <= 0:
        return MOST_POWER
    return float(brentq(slope, 0.0, MOST_POWER, xtol=1e-12))


def _finite(raw: Any) -> Array:
    values = np.asarray(raw, dtype=float)
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise InvalidParameter(
            "MeanVarianceRegressor(variance=...) must predict numbers, got nan for row "
            f"{row} of X. Check that row."
        )
    return values
