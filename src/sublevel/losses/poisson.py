"""Poisson deviance: the loss of count regression.

    loss(y) = sum_j 2 (y_j log(y_j / mean_j) - y_j + mean_j) / weight_j,  y >= 0.

The set grows with the mean, as counts do, and never leaves y >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..checks import Array, BoolArray
from ..deferred import cp, special
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..predictions import AnyPrediction
from .base import Forecast, location_of
from .separable import SmoothLoss


@dataclass(frozen=True)
class Poisson(SmoothLoss):
    """Sum of Poisson deviances; +inf for negative outcomes.

    Examples
    --------
    >>> Poisson().components(np.array([2.0, 2.0]), np.array([2.0, 0.0]))
    array([0., 4.])
    """

    nonneg: ClassVar[bool] = True

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Unit deviances."""
        mean, outcome = location_of(prediction), np.asarray(outcome, dtype=float)
        change = np.maximum(outcome, 0.0) / mean - 1
        with np.errstate(invalid="ignore"):
            far = special.xlogy(1 + change, 1 + change) - change
        # Near the mean the terms cancel: there the series is exact to rounding.
        near = np.where(np.isfinite(change), change, 0.0)
        series = 1 / 2 - near / 6 + near**2 / 12 - near**3 / 20 + near**4 / 30
        near = change**2 * series
        deviance = 2 * mean * np.where(np.abs(change) < 1e-3, near, far)
        return np.where(outcome < 0, np.inf, deviance)

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """2 kl_div(y, mean) in units of the largest mean."""
        mean = location_of(prediction)
        unit = float(np.max(mean))
        penalties = cp.kl_div(outcome / unit, mean / unit)
        return cp.sum(cp.multiply(2 * unit / (excess * self._weights(mean)), penalties))

    def domain(
        self, prediction: Forecast, outcome: cp.Expression
    ) -> list[cp.Constraint]:
        """Counts are not negative."""
        del prediction
        return [outcome >= 0]

    def admits(self, prediction: Forecast, outcome: Array) -> BoolArray:
        """Whether no count is negative."""
        del prediction
        return np.asarray((outcome >= 0).all(axis=-1))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """2 kl_div(y, mean)."""
        mean = location_of(prediction)
        penalties = cp.kl_div(outcome, mean)
        return cp.sum(cp.multiply(2 / self._weights(mean), penalties))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """sum_j 2 mean_j u (exp(v_j / (2u)) - 1)."""
        mean = location_of(prediction)
        weights = self._weights(mean)
        level = multiplier * np.ones(len(weights))
        lifted = cp.Variable(len(weights))
        cone = cp.ExpCone(cp.multiply(weights / 2, slope), level, lifted)
        excess = cp.multiply(2 / weights, cp.multiply(mean, lifted - level))
        return Epigraph(cp.sum(excess), [cone])

    def check(self, prediction: AnyPrediction) -> None:
        """Means must be positive."""
        super().check(prediction)
        require_positive_mean("Poisson", location_of(prediction))

    def attain(self, slope: Array, prediction: Forecast) -> Array:
        """Mean exp(slope / 2)."""
        return np.asarray(location_of(prediction) * np.exp(slope / 2))


def require_positive_mean(owner: str, mean: Array) -> None:
    """Deviances are defined for positive predicted means only."""
    if (mean <= 0).any():
        where = np.argwhere(mean <= 0)[0]
        raise InvalidParameter(
            f"{owner} needs positive predictions, got {mean[tuple(where)]:.4g} in row "
            f"{int(where[0])}. Use a model with a log link, or clip its predictions."
        )
