"""Squared error: the loss of least squares, and the ellipsoid of robust optimization.

    loss(y) = sum_j (y_j - prediction_j)^2 / weight_j.

Its sublevel set is a ball of radius sqrt(budget), stretched by sqrt(weight).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..deferred import cp
from ..epigraph import Epigraph
from ..norm_ball import NormBall, aligned
from .base import Forecast, Slots, location_of, per_row
from .separable import SeparableLoss


@dataclass(frozen=True)
class Squared(SeparableLoss):
    """Sum of squared residuals, each divided by its weight.

    Examples
    --------
    >>> loss = Squared(weights=(1.0, 4.0))
    >>> loss.components(np.zeros(2), np.array([1.0, 2.0]))
    array([1., 1.])
    >>> loss.worst_case(np.zeros(2), 4.0, np.array([0.0, 1.0]))
    array([0., 4.])
    """

    norm_power: ClassVar[int | None] = 2

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Squared residuals."""
        return np.asarray((outcome - location_of(prediction)) ** 2)

    def spread(self, prediction: Forecast) -> Array:
        """Half-width of the set at radius 1, by component."""
        if self.weights is None:
            return np.ones(location_of(prediction).shape[-1])
        return np.asarray(np.sqrt(self.weights))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Weighted sum of squares."""
        return self.unit_expression(prediction, outcome, 1.0)

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Sum of squares of the residuals in units of the half-widths."""
        width = np.sqrt(excess) * self.spread(prediction)
        residual = outcome - location_of(prediction)
        return cp.sum_squares(cp.multiply(1 / width, residual))

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The location, and how far the set reaches from it by component."""
        location = np.asarray(location_of(prediction), dtype=float)
        reach = np.sqrt(budget)[..., None] * self.spread(prediction)
        return {"location": location, "reach": np.broadcast_to(reach, location.shape)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Prediction'v + ||reach v||."""
        reach = cp.norm(cp.multiply(slots["reach"], direction), 2)
        return Epigraph(slots["location"] @ direction + reach)

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v + sum_j weight_j v_j^2 / (4 u)."""
        stretched = cp.multiply(self.spread(prediction), slope)
        shift = location_of(prediction) @ slope
        return Epigraph(shift + cp.quad_over_lin(stretched, 4 * multiplier))

    def radius(self, budget: float) -> float:
        """sqrt(budget); 0 below the least loss."""
        return float(np.sqrt(max(budget, 0.0)))

    def ball(self, prediction: Forecast, budget: float) -> NormBall:
        """The ellipsoid."""
        spread = self.spread(prediction)
        return NormBall(location_of(prediction), spread, float(np.sqrt(budget)), 2)

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """||sqrt(W) v||^2 / (2 price)^2."""
        slope = self.spread(prediction) * np.asarray(direction)
        return np.asarray(np.sum((slope / per_row(2 * price)) ** 2, axis=-1))

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Prediction + sqrt(budget) W v / ||sqrt(W) v||."""
        spread = self.spread(prediction)
        step = aligned(spread * np.asarray(direction), 2)
        step = per_row(np.sqrt(budget)) * spread * step
        return np.asarray(location_of(prediction) + step)
