"""Losses that are sums over components, each divided by a weight.

    loss(y) = sum_j penalty(y_j) / weight_j

The worst case equalises slopes: with multiplier u, component j goes where the penalty's
slope is weight_j v_j / u, and u is such that the losses add up to the budget.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .base import Forecast, location_of, per_row
from .weighted import WeightedLoss


@dataclass(frozen=True)
class SeparableLoss(WeightedLoss):
    """Base of losses that add up over components."""

    @abstractmethod
    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Loss of each component before weighting, shape (..., m)."""

    def separates(self, prediction: Forecast) -> bool:
        """Yes."""
        del prediction
        return True

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Loss by component, shape (..., m)."""
        penalty = np.asarray(self.penalty(prediction, outcome))
        if self.weights is None:
            return penalty
        self._check_width(np.shape(location_of(prediction))[-1])
        return np.asarray(penalty / np.asarray(self.weights))


@dataclass(frozen=True)
class SteepLoss(SeparableLoss):
    """Base of separable losses that grow linearly far out."""

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    def steepness(self, prediction: Forecast, direction: npt.ArrayLike) -> Array:
        """Most that one more unit of budget is worth far out, shape (...).

        Where a unit of residual costs one over the weight: max_j weight_j |v_j|.
        """
        slope = self._weights(location_of(prediction)) * np.asarray(direction)
        return np.asarray(np.max(np.abs(slope), axis=-1))

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Nothing above the steepness, everything at it and below."""
        steep = self.steepness(prediction, direction)
        return np.where(np.asarray(price) > steep, 0.0, np.inf)


@dataclass(frozen=True)
class SmoothLoss(SeparableLoss):
    """Base of separable losses whose worst case equalises slopes."""

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    @abstractmethod
    def attain(self, slope: Array, prediction: Forecast) -> Array:
        """The y, by component, that maximises slope * y - penalty(y), or its limit."""

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Loss where the slopes are weight_j v_j / price."""
        weighted = self._weights(location_of(prediction)) * np.asarray(direction)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            outcome = self.attain(weighted / per_row(price), prediction)
            return self.score(prediction, outcome)

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Outcome that maximises `direction @ y` at loss <= budget, to rounding."""
        weighted = self._weights(location_of(prediction)) * np.asarray(direction)
        largest = np.max(np.abs(weighted), axis=-1)
        budget = np.asarray(budget, dtype=float)

        def outcome(log_multiplier: Array) -> Array:
            unit = weighted / per_row(np.where(largest > 0, largest, 1.0))
            return self.attain(unit * np.exp(-per_row(log_multiplier)), prediction)

        shape = np.broadcast_shapes(
            largest.shape, budget.shape, location_of(prediction).shape[:-1]
        )
        low, high = np.full(shape, -60.0), np.full(shape, 60.0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # The loss falls as the multiplier grows; `high` stays on the inside.
            for _ in range(100):
                middle = (low + high) / 2
                inside = self.score(prediction, outcome(middle)) <= budget
                low, high = (
                    np.where(inside, low, middle),
                    np.where(inside, middle, high),
                )
            return outcome(high)
