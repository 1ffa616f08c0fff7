"""Absolute error: the loss of median regression, and the cross-polytope.

loss(y) = sum_j |y_j - prediction_j| / weight_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..deferred import cp
from ..epigraph import Epigraph, magnitude
from ..norm_ball import NormBall, aligned
from .base import Forecast, Slots, location_of, per_row
from .separable import SteepLoss


@dataclass(frozen=True)
class Absolute(SteepLoss):
    """Sum of absolute residuals, each divided by its weight.

    Examples
    --------
    >>> Absolute().worst_case(np.zeros(2), 3.0, np.array([1.0, -2.0]))
    array([ 0., -3.])
    """

    norm_power: ClassVar[int | None] = 1

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Absolute residuals."""
        return np.asarray(np.abs(outcome - location_of(prediction)))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Weighted 1-norm."""
        location = location_of(prediction)
        return cp.norm1(cp.multiply(1 / self._weights(location), outcome - location))

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """1-norm of the residuals in units of the half-widths."""
        location = location_of(prediction)
        width = excess * self._weights(location)
        return cp.norm1(cp.multiply(1 / width, outcome - location))

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The location, and how far the set reaches from it by component."""
        location = np.asarray(location_of(prediction), dtype=float)
        reach = per_row(budget) * self._weights(location)
        return {"location": location, "reach": np.broadcast_to(reach, location.shape)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Prediction'v + max_j reach_j |v_j|."""
        reach = cp.max(cp.multiply(slots["reach"], magnitude(direction)))
        return Epigraph(slots["location"] @ direction + reach)

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v where weight_j |v_j| <= u, +inf elsewhere."""
        location = location_of(prediction)
        steep = cp.multiply(self._weights(location), magnitude(slope))
        return Epigraph(location @ slope, [steep <= multiplier])

    def radius(self, budget: float) -> float:
        """The budget itself."""
        return float(budget)

    def ball(self, prediction: Forecast, budget: float) -> NormBall:
        """The cross-polytope."""
        location = location_of(prediction)
        return NormBall(location, self._weights(location), float(budget), 1)

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """All of the budget on the component where it pays most."""
        location = location_of(prediction)
        weights = self._weights(location)
        step = aligned(weights * np.asarray(direction), 1)
        return np.asarray(location + per_row(budget) * weights * step)
