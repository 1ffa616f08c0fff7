"""Interval: how far an outcome is outside a predicted interval.

    loss(y) = max_j max(lower_j - y_j, y_j - upper_j) / weight_j

The score of conformalised quantile regression (Romano, Patterson & Candes 2019), for
all components at once. Its set is the box of intervals, each end moved outwards by
budget * weight. The loss of an outcome inside is negative, and so may the budget be:
intervals that were too wide shrink.

It is the loss for lower and upper quantile models: sets are wide where these are far
apart. Predictions are middles with half-widths. Quantiles that cross are put in order,
which brings them no further from the truth (Chernozhukov, Fernandez-Val & Galichon
2010). Where a budget is below minus the narrowest half-width no outcome is left; there
the set is that of the least loss, in which the narrowest interval is its middle alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import ROUNDED, Array, require_positive
from ..conic.program import Indices
from ..deferred import cp
from ..epigraph import Epigraph, magnitude
from ..errors import InvalidParameter
from ..norm_ball import NormBall
from ..predictions import AnyPrediction, Prediction
from .base import Entries, Forecast, Slots, location_of, per_row, scale_of
from .weighted import WeightedLoss


@dataclass(frozen=True)
class Interval(WeightedLoss):
    """Largest distance, over components, by which an outcome leaves its interval.

    Parameters
    ----------
    weights : tuple of m positive floats, optional
        Component j's interval grows by weights[j] a unit of budget. Give spreads of
        the outcomes (on training rows) where components have different units.
    unit : positive float, optional
        A typical half-width, in units of the weights: what Policy.calibrate makes its
        grid of levels from. Sets do not depend on it. If left open, LossSet.fit sets
        it from training rows.

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> interval = Prediction.between([0.0, 10.0], [2.0, 14.0])
    >>> Interval().score(interval, np.array([[1.0, 13.0], [3.0, 13.0]]))
    array([-1.,  1.])
    >>> Interval().worst_case(interval, -0.5, np.array([1.0, -1.0]))
    array([ 1.5, 10.5])
    """

    needs: ClassVar[str] = "interval"
    learns_residuals: ClassVar[bool] = False

    unit: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit is not None:
            require_positive("Interval", unit=self.unit)

    def block_numbers(self, dim: int) -> Indices:
        """Every component moves alone, between its own ends."""
        return np.arange(dim)

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether the unit is still to be learned."""
        return self.unit is None

    def learn(self, prediction: Forecast, outcome: Array) -> Interval:
        """The mean half-width is the unit; one where intervals have no width."""
        del outcome
        half = half_width(prediction)
        mean = float(np.mean(half / self._weights(half)))
        return replace(self, unit=mean if 0 < mean < inf else 1.0)

    def level_unit(self) -> float:
        """The unit; one where it is open."""
        return 1.0 if self.unit is None else float(self.unit)

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """The loss at the component that leaves its interval most, zero elsewhere."""
        middle = location_of(prediction)
        self._check_width(np.shape(middle)[-1])
        outside = np.abs(outcome - middle) - half_width(prediction)
        share = np.asarray(outside / self._weights(middle))
        worst = np.argmax(share, axis=-1)[..., None]
        return np.where(np.arange(share.shape[-1]) == worst, share, 0.0)

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Largest weighted distance from the interval."""
        middle = location_of(prediction)
        outside = cp.abs(outcome - middle) - half_width(prediction)
        return cp.max(cp.multiply(1 / self._weights(middle), outside))

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Largest distance from the least interval, in units of excess times weight."""
        least, middle = self._least_reach(prediction), location_of(prediction)
        width = excess * self._weights(middle)
        outside = cp.abs(cp.multiply(1 / width, outcome - middle)) - least / width
        return cp.max(outside)

    def floor(self, prediction: Forecast) -> Array:
        """Minus the least half-width, in units of the weights: the loss there."""
        half = half_width(prediction)
        return np.asarray(-np.min(half / self._weights(half), axis=-1))

    def rounding(self, prediction: Forecast, outcome: Array) -> Array:
        """Relative to the size of outcomes and ends, not of the loss."""
        middle, half = location_of(prediction), half_width(prediction)
        size = (np.abs(outcome) + np.abs(middle) + half) / self._weights(middle)
        return np.asarray(ROUNDED * np.max(size, axis=-1))

    def shape_slots(self, prediction: Forecast) -> Slots:
        """The middle, and the half-widths of the set of least loss."""
        middle = np.asarray(location_of(prediction), dtype=float)
        return {"location": middle, "scale": self._least_reach(prediction)}

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The middle, and how far the set reaches from it by component."""
        middle = np.asarray(location_of(prediction), dtype=float)
        reach = self._reach(prediction, budget)
        return {"location": middle, "reach": np.broadcast_to(reach, middle.shape)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Middle'v + reach'|v|."""
        reach = slots["reach"] @ magnitude(direction)
        return Epigraph(slots["location"] @ direction + reach)

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """That of the loss above its floor, less u times the floor."""
        least = Prediction(location_of(prediction), self._least_reach(prediction))
        above = self.excess_conjugate(slope, multiplier, least)
        value = above.value - self.floor(prediction) * multiplier
        return Epigraph(value, above.constraints)

    def excess_conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Middle'v + least reach'|v| where weight'|v| <= u, +inf elsewhere.

        The half-widths given are those of the set of least loss, as in `shape_slots`.
        """
        middle, size = location_of(prediction), magnitude(slope)
        steep = self._weights(middle) @ size
        value = middle @ slope + half_width(prediction) @ size
        return Epigraph(value, [steep <= multiplier])

    def shadow(
        self, prediction: AnyPrediction, budget: Array, entries: Entries
    ) -> tuple[Interval, Prediction, Array]:
        """The intervals of some components, at the same budget."""
        middle, half = location_of(prediction), half_width(prediction)
        seen = Prediction(middle[..., entries], half[..., entries])
        return self.narrowed(entries), seen, budget

    def ball(self, prediction: Forecast, budget: float) -> NormBall | None:
        """The box, unless it has no width somewhere."""
        reach = self._reach(prediction, budget)
        if not (reach > 0).all():
            return None
        return NormBall(location_of(prediction), reach, 1.0, inf)

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """The floor where a unit of budget costs more than weight'|v|, else all."""
        weights = self._weights(location_of(prediction))
        steep = np.sum(weights * np.abs(np.asarray(direction)), axis=-1)
        return np.where(np.asarray(price) > steep, self.floor(prediction), inf)

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """The corner the direction points to."""
        reach = self._reach(prediction, budget)
        return np.asarray(location_of(prediction) + reach * np.sign(direction))

    def _reach(self, prediction: Forecast, budget: float | Array) -> Array:
        """Half-widths of the set at a budget, shape (..., m)."""
        above = np.maximum(np.asarray(budget) - self.floor(prediction), 0.0)
        weights = self._weights(half_width(prediction))
        return self._least_reach(prediction) + per_row(above) * weights

    def _least_reach(self, prediction: Forecast) -> Array:
        """Half-widths of the set of least loss: the narrowest interval has none."""
        half = half_width(prediction)
        weights = self._weights(half)
        return np.maximum(half + per_row(self.floor(prediction)) * weights, 0.0)


def half_width(prediction: Forecast) -> Array:
    """Half of the distance between the ends of the intervals; a parameter stays one.

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> half_width(Prediction.between([0.0], [3.0]))
    array([1.5])
    """
    half = scale_of(prediction)
    if half is None:
        raise InvalidParameter(
            "Interval needs a lower and an upper quantile. Say "
            "Prediction.between(lower, upper), or LossSet([lower, upper], "
            "loss='interval')."
        )
    return half
