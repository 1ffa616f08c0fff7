"""Gamma deviance: the loss for positive outcomes with constant relative error.

loss(y) = sum_j 2 (y_j / mean_j - 1 - log(y_j / mean_j)) / weight_j,  y > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..checks import Array, BoolArray
from ..deferred import cp
from ..epigraph import Epigraph
from ..predictions import AnyPrediction
from .base import Forecast, location_of
from .poisson import require_positive_mean
from .separable import SmoothLoss


@dataclass(frozen=True)
class Gamma(SmoothLoss):
    """Sum of gamma deviances; +inf for outcomes of zero and less.

    Examples
    --------
    >>> Gamma().components(np.array([2.0]), np.array([2.0 * np.e])).round(6)
    array([1.436564])
    """

    nonneg: ClassVar[bool] = True

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Unit deviances."""
        change = np.asarray(outcome / location_of(prediction) - 1, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = change - np.log1p(np.maximum(change, -1.0))
        # Near the mean the terms cancel: there the series is exact to rounding.
        series = 1 / 2 - change / 3 + change**2 / 4 - change**3 / 5 + change**4 / 6
        deviance = 2 * np.where(np.abs(change) < 1e-3, change**2 * series, far)
        return np.where(np.isnan(deviance), np.inf, deviance)

    def domain(
        self, prediction: Forecast, outcome: cp.Expression
    ) -> list[cp.Constraint]:
        """Amounts are positive (the closure, for a solver)."""
        del prediction
        return [outcome >= 0]

    def admits(self, prediction: Forecast, outcome: Array) -> BoolArray:
        """Whether every amount is positive."""
        del prediction
        return np.asarray((outcome > 0).all(axis=-1))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """2 (y / mean - 1 - log(y / mean))."""
        mean = location_of(prediction)
        ratio = cp.multiply(1 / mean, outcome)
        penalties = ratio - 1 - cp.log(ratio)
        return cp.sum(cp.multiply(2 / self._weights(mean), penalties))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """sum_j -2 u log(1 - mean_j v_j / (2u))."""
        mean = location_of(prediction)
        weights = self._weights(mean)
        level = multiplier * np.ones(len(weights))
        shrunk = level - cp.multiply(mean, cp.multiply(weights / 2, slope))
        entropy = cp.rel_entr(level, shrunk)
        return Epigraph(cp.sum(cp.multiply(2 / weights, entropy)))

    def check(self, prediction: AnyPrediction) -> None:
        """Means must be positive."""
        super().check(prediction)
        require_positive_mean("Gamma", location_of(prediction))

    def attain(self, slope: Array, prediction: Forecast) -> Array:
        """1 / (1 / mean - slope / 2); infinitely far for slopes from 2 / mean on."""
        left = 1 / location_of(prediction) - slope / 2
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.maximum(left, 0.0))
