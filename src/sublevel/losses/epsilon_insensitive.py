"""Epsilon-insensitive loss: the loss of support vector regression.

    loss(y) = sum_j max(|y_j - prediction_j| - epsilon, 0) / weight_j.

The set is a box of half-width epsilon, grown by a cross-polytope.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_nonnegative
from ..deferred import cp
from ..epigraph import Epigraph, magnitude
from ..errors import InvalidParameter
from ..norm_ball import aligned
from .base import Forecast, location_of, per_row
from .separable import SteepLoss


@dataclass(frozen=True)
class EpsilonInsensitive(SteepLoss):
    """Sum of absolute residuals beyond a tolerance.

    Parameters
    ----------
    epsilon : float, at least 0
        Residual that costs nothing, in the units of the outcome.

    Examples
    --------
    >>> EpsilonInsensitive(epsilon=0.5).components(np.zeros(2), np.array([0.3, 2.0]))
    array([0. , 1.5])
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_nonnegative("EpsilonInsensitive", epsilon=self.epsilon)
        if self.epsilon == np.inf:
            raise InvalidParameter(
                "EpsilonInsensitive(epsilon=...) must be finite, got inf."
            )

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Absolute residuals beyond epsilon."""
        location = location_of(prediction)
        beyond = np.abs(outcome - location) - self.epsilon
        # At a budget of 0 the set is the box: its corners are in it, as rounded.
        rounding = 4 * np.finfo(float).eps * (np.abs(location) + self.epsilon)
        return np.asarray(np.where(beyond <= rounding, 0.0, beyond))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Weighted sum of hinges of the absolute residuals."""
        location = location_of(prediction)
        penalties = cp.pos(cp.abs(outcome - location) - self.epsilon)
        return cp.sum(cp.multiply(1 / self._weights(location), penalties))

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """The same hinges in units of excess times weight."""
        location = location_of(prediction)
        width = excess * self._weights(location)
        residual = cp.abs(cp.multiply(1 / width, outcome - location))
        return cp.sum(cp.pos(residual - self.epsilon / width))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v + epsilon ||v||_1 where weight_j |v_j| <= u."""
        location = location_of(prediction)
        steep = cp.multiply(self._weights(location), magnitude(slope))
        return Epigraph(
            location @ slope + self.epsilon * cp.sum(magnitude(slope)),
            [steep <= multiplier],
        )

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Every component to epsilon; then all of the budget where it pays most."""
        location = location_of(prediction)
        direction = np.asarray(direction, dtype=float)
        weights = self._weights(location)
        free = location + self.epsilon * np.sign(direction)
        step = aligned(weights * direction, 1)
        return np.asarray(free + per_row(budget) * weights * step)
