"""Huber loss: quadratic near the prediction, linear far from it.

    loss(y) = sum_j h(y_j - prediction_j) / weight_j,
    h(r) = r^2 / 2 if |r| <= knee, knee |r| - knee^2 / 2 otherwise.

Its sublevel sets suit heavy-tailed residuals: one wild calibration outcome moves the
budget linearly, where the squared error would move it quadratically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_positive
from ..deferred import cp
from ..epigraph import Epigraph, magnitude
from ..norm_ball import aligned
from .base import Forecast, location_of, per_row
from .separable import SteepLoss


@dataclass(frozen=True)
class Huber(SteepLoss):
    """Sum over components of the Huber penalty of the residual.

    Parameters
    ----------
    knee : float
        Residual at which the penalty turns from quadratic to linear, in the units of
        the outcome.

    Examples
    --------
    >>> Huber(knee=1.0).components(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    knee: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Huber", knee=self.knee)

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Huber penalties of the residuals."""
        residual = np.abs(outcome - location_of(prediction))
        core = np.minimum(residual, self.knee)
        return np.asarray(core * (residual - core / 2))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Weighted sum of Huber penalties."""
        # CVXPY's huber is r^2 inside the knee: twice the textbook penalty used here.
        location = location_of(prediction)
        penalties = cp.huber(outcome - location, self.knee)
        return cp.sum(cp.multiply(0.5 / self._weights(location), penalties))

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Huber penalties of the residuals in units of the largest half-width."""
        location = location_of(prediction)
        weights = self._weights(location)
        left = float(weights.max()) * excess
        curved, straight = np.sqrt(2 * left), left / self.knee + self.knee / 2
        unit = curved if curved <= self.knee else straight
        penalties = cp.huber((outcome - location) / unit, self.knee / unit)
        return cp.sum(cp.multiply(unit**2 / (2 * excess * weights), penalties))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v + sum_j weight_j v_j^2 / (2u) where weight_j |v_j| <= knee u."""
        location = location_of(prediction)
        stretched, sizes = slope, magnitude(slope)
        if self.weights is not None:
            weights = self._weights(location)
            stretched = cp.multiply(np.sqrt(weights), slope)
            sizes = cp.multiply(weights, sizes)
        return Epigraph(
            location @ slope + cp.quad_over_lin(stretched, 2 * multiplier),
            [sizes <= self.knee * multiplier],
        )

    def steepness(self, prediction: Forecast, direction: npt.ArrayLike) -> Array:
        """max_j weight_j |v_j| / knee."""
        return super().steepness(prediction, direction) / self.knee

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """sum_j weight_j v_j^2 / (2 price^2) above the steepness."""
        price = np.asarray(price, dtype=float)
        weights = self._weights(location_of(prediction))
        curved = np.sum(weights * np.square(direction), axis=-1) / (2 * price**2)
        return np.where(price > self.steepness(prediction, direction), curved, np.inf)

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Residuals weight_j v_j / u, the steepest one taking what budget is left."""
        location = location_of(prediction)
        weights = self._weights(location)
        direction = np.asarray(direction, dtype=float)
        # Only the direction counts, so its squares need neither vanish nor overflow.
        length = np.max(np.abs(direction), axis=-1, keepdims=True)
        direction = direction / np.where(length > 0, length, 1.0)
        slope = weights * direction
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = np.sqrt(np.sum(slope * direction, axis=-1) / (2 * budget))
            steep = self.steepness(prediction, direction)
            residual = np.nan_to_num(slope / per_row(np.maximum(curved, steep)))
        core = location + residual
        left = np.maximum(budget - self.score(prediction, core), 0.0)
        # Past the knee the loss grows by knee / weight for each unit of the residual.
        step = aligned(slope, 1) * weights / self.knee
        at_knee = per_row(steep >= curved)
        return np.asarray(core + np.where(at_knee, per_row(left) * step, 0.0))
