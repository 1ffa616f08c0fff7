"""Pinball loss: the loss of quantile regression, and a lopsided cross-polytope.

    loss(y) = sum_j max(quantile r_j, (quantile - 1) r_j) / weight_j,
    r = y - prediction.

With a high quantile, outcomes above the prediction cost more than outcomes below, so
the set reaches further down than up: one-sided protection around a predicted quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_level
from ..deferred import cp
from ..epigraph import Epigraph
from .base import Forecast, location_of, per_row
from .separable import SteepLoss


@dataclass(frozen=True)
class Pinball(SteepLoss):
    """Sum of pinball penalties of the residuals.

    Parameters
    ----------
    quantile : float in (0, 1)

    Examples
    --------
    >>> Pinball(quantile=0.9).components(np.zeros(2), np.array([1.0, -1.0])).round(6)
    array([0.9, 0.1])
    """

    quantile: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_level("Pinball", quantile=self.quantile)

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Pinball penalties of the residuals."""
        residual = outcome - location_of(prediction)
        return np.asarray(
            np.maximum(self.quantile * residual, (self.quantile - 1) * residual)
        )

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Weighted sum of two hinges."""
        location = location_of(prediction)
        residual = outcome - location
        up, down = self.quantile, 1 - self.quantile
        penalties = up * cp.pos(residual) + down * cp.neg(residual)
        return cp.sum(cp.multiply(1 / self._weights(location), penalties))

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Pinball of the residuals in units of excess times weight."""
        location = location_of(prediction)
        width = excess * self._weights(location)
        residual = cp.multiply(1 / width, outcome - location)
        up, down = self.quantile, 1 - self.quantile
        return cp.sum(up * cp.pos(residual) + down * cp.neg(residual))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v where (quantile - 1) u <= weight_j v_j <= quantile u."""
        location = location_of(prediction)
        weighted = cp.multiply(self._weights(location), slope)
        up = [weighted <= self.quantile * multiplier]
        down = [weighted >= (self.quantile - 1) * multiplier]
        # The multiplier is not negative: where the sign is clear one side is enough.
        sides = up if slope.is_nonneg() else down if slope.is_nonpos() else up + down
        return Epigraph(location @ slope, sides)

    def steepness(self, prediction: Forecast, direction: npt.ArrayLike) -> Array:
        """max_j weight_j max(v_j / quantile, -v_j / (1 - quantile))."""
        gain = np.asarray(direction) * self._reach(prediction, direction)
        return np.asarray(np.max(gain, axis=-1))

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """All of the budget on the component and side where it pays most."""
        location = location_of(prediction)
        direction = np.asarray(direction, dtype=float)
        reach = self._reach(prediction, direction)
        best = np.argmax(direction * reach, axis=-1)
        chosen = np.arange(direction.shape[-1]) == best[..., None]
        chosen = chosen & (direction != 0)
        return np.asarray(location + np.where(chosen, per_row(budget) * reach, 0.0))

    def _reach(self, prediction: Forecast, direction: npt.ArrayLike) -> Array:
        """Signed residual that one unit of budget buys along the direction."""
        up, down = 1 / self.quantile, -1 / (1 - self.quantile)
        side = np.where(np.asarray(direction) > 0, up, down)
        return np.asarray(self._weights(location_of(prediction)) * side)
