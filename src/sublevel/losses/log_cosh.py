"""Log-cosh loss: a smooth cousin of the absolute error.

loss(y) = sum_j log cosh(y_j - prediction_j) / weight_j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..deferred import cp
from ..epigraph import Epigraph
from ..norm_ball import aligned
from .base import Forecast, location_of, per_row
from .separable import SmoothLoss


@dataclass(frozen=True)
class LogCosh(SmoothLoss):
    """Sum of log cosh of the residuals.

    Examples
    --------
    >>> LogCosh().components(np.zeros(1), np.array([1000.0])).round(6)
    array([999.306853])
    """

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Log cosh of the residuals, without overflow."""
        residual = np.abs(outcome - location_of(prediction))
        near = np.log1p(2 * np.sinh(np.minimum(residual, 1.0) / 2) ** 2)
        far = residual + np.log1p(np.exp(-2 * residual)) - np.log(2)
        return np.asarray(np.where(residual < 1, near, far))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Log cosh r = log(1 + exp(2 r)) - r - log 2."""
        location = location_of(prediction)
        residual = outcome - location
        penalties = cp.logistic(2 * residual) - residual - np.log(2)
        return cp.sum(cp.multiply(1 / self._weights(location), penalties))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v + sum_j [(u + v) log(1 + v/u) + (u - v) log(1 - v/u)] / 2."""
        location = location_of(prediction)
        weights = self._weights(location)
        weighted = cp.multiply(weights, slope)
        level = multiplier * np.ones(len(weights))
        entropy = cp.rel_entr(level + weighted, level)
        entropy += cp.rel_entr(level - weighted, level)
        return Epigraph(location @ slope + cp.sum(cp.multiply(0.5 / weights, entropy)))

    def attain(self, slope: Array, prediction: Forecast) -> Array:
        """Prediction + atanh(slope); infinitely far for slopes of 1 and more."""
        reach = np.arctanh(np.clip(np.abs(slope), 0.0, 1.0))
        return np.asarray(location_of(prediction) + np.sign(slope) * reach)

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Outcome that maximises `direction @ y` at loss <= budget."""
        core = super().worst_case(prediction, budget, direction)
        # Far out every slope rounds to 1, so slopes cannot tell how far: there the
        # loss grows by 1 / weight for each unit, and the steepest component takes
        # what budget is left.
        weights = self._weights(location_of(prediction))
        left = np.maximum(budget - self.score(prediction, core), 0.0)
        steepest = aligned(weights * np.asarray(direction, dtype=float), 1)
        return np.asarray(core + per_row(left) * weights * steepest)
