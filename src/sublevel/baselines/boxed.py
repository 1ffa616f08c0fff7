"""Boxes with half-widths of their own at every context.

    loss(y) = max_j (|y_j - location_j| - margin_j)_+ / scale_j,

so the sublevel set is the box of half-widths margin + budget * scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..epigraph import Epigraph, magnitude
from ..losses.base import Slots, location_of, per_row
from ..predictions import Prediction
from ..sets import Box
from .shaped import Shape


@dataclass(frozen=True, eq=False)
class BoxPrediction(Prediction):
    """A location, what a unit of the budget adds around it, and what is there anyway.

    Parameters
    ----------
    location : array of shape (m,) or (n, m)
    scale : array of the same shape, positive
    margin : array of the same shape, at least 0, or None for zero

    Examples
    --------
    >>> BoxPrediction(np.zeros((3, 2)), np.ones((3, 2)))[0].scale
    array([1., 1.])
    """

    margin: Any = None

    def __getitem__(self, rows: Any) -> BoxPrediction:
        margin = None if self.margin is None else self.margin[rows]
        return BoxPrediction(self.location[rows], self.scale[rows], margin)


@dataclass(frozen=True)
class Boxed(Shape):
    """How far the outcome is outside the margin, in units of each context's box.

    Examples
    --------
    >>> said = BoxPrediction(np.zeros(2), np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    >>> Boxed().score(said, np.array([2.0, -2.0]))
    array(1.5)
    >>> Boxed().worst_case(said, 1.5, np.array([1.0, -1.0]))
    array([ 2., -3.])
    """

    def components(self, prediction: Any, outcome: Any) -> Array:
        """The largest excess at its component, zero elsewhere, shape (..., m)."""
        excess = np.abs(outcome - location_of(prediction)) - _margin(prediction)
        share = np.maximum(excess, 0.0) / prediction.scale
        worst = np.argmax(share, axis=-1)[..., None]
        return np.where(np.arange(share.shape[-1]) == worst, share, 0.0)

    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """The same in CVXPY."""
        excess = cp.abs(outcome - location_of(prediction)) - _margin(prediction)
        return cp.max(cp.multiply(1 / prediction.scale, cp.pos(excess)))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """Location'v + margin'|v| where scale'|v| <= u, +inf elsewhere."""
        size = magnitude(slope)
        value = location_of(prediction) @ slope + _margin(prediction) @ size
        return Epigraph(value, [prediction.scale @ size <= multiplier])

    def slots(self, prediction: Any, budget: Any) -> Slots:
        """The location, and how far the box reaches from it by component."""
        location = np.asarray(location_of(prediction), dtype=float)
        reach = _margin(prediction) + per_row(budget) * prediction.scale
        return {"location": location, "reach": np.broadcast_to(reach, location.shape)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Location'v + reach'|v|."""
        reach = slots["reach"] @ magnitude(direction)
        return Epigraph(slots["location"] @ direction + reach)

    def narrowed(self, entries: Any) -> Boxed:
        """Components are bounded one by one: a box of fewer is a box."""
        del entries
        return self

    def worst_case(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """The corner the direction points to."""
        slots = self.slots(prediction, budget)
        return np.asarray(slots["location"] + slots["reach"] * np.sign(direction))

    def region(self, prediction: Any, budget: float) -> Box:
        """The box."""
        slots = self.slots(prediction, budget)
        return Box(
            slots["location"] - slots["reach"], slots["location"] + slots["reach"]
        )


def _margin(prediction: Any) -> Array:
    margin = getattr(prediction, "margin", None)
    if margin is None:
        return np.zeros_like(np.asarray(location_of(prediction), dtype=float))
    return np.asarray(margin, dtype=float)
