"""Sets of one shape, placed and stretched anew at every context.

The methods of this package do not start from a model's loss, but their sets are
sublevel sets all the same: of a gauge, the factor by which the shape must grow to reach
an outcome. Said that way they enter a compiled program like those of a LossSet.

    box        loss(y) = max_j (|y_j - location_j| - margin_j)_+ / scale_j: half-widths
               margin + budget * scale
    ellipsoid  loss(y) = ||factor^-1 (y - location)||^2, factor lower triangular:
               { location + factor z : ||z|| <= sqrt(budget) }. Mahalanobis has one
               covariance for all contexts; here each context has its own
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..conic.program import Indices
from ..epigraph import Epigraph, magnitude
from ..loss_set.batch import SetBatch, is_one_row
from ..losses import Loss
from ..losses.base import Slots, location_of, per_row
from ..norm_ball import aligned
from ..predictions import AnyPrediction, Prediction
from ..sets import Box, Ellipsoid, UncertaintySet

#: A prediction, or the bare location of one.
Located: TypeAlias = AnyPrediction | npt.ArrayLike


class Shape(Loss):
    """A gauge whose sublevel sets have a name of their own."""

    @property
    def closed_form(self) -> bool:
        """Yes: worst cases need no solver."""
        return True

    @abstractmethod
    def region(self, prediction: Located, budget: float) -> UncertaintySet:
        """The set of one context, as a set value."""


class ShapeBatch(SetBatch):
    """A SetBatch whose members are the shape's own set values.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.baselines.shapes import Boxed, BoxPrediction
    >>> from sublevel.predictions import Numbers, Outcomes
    >>> boxes = BoxPrediction(np.zeros((3, 2)), np.ones((3, 2)))
    >>> outcomes = Outcomes((Numbers(2),))
    >>> batch = ShapeBatch(Boxed(), boxes, np.full(3, 2.0), outcomes, ("a", "b"))
    >>> batch[0].upper, len(batch[1:])
    (array([2., 2.]), 2)
    """

    def __getitem__(self, rows: Any) -> Any:
        if not is_one_row(rows):
            return super().__getitem__(rows)
        if not -len(self) <= rows < len(self):
            raise IndexError(f"row {rows} of a batch of {len(self)} sets")
        shape: Any = self.loss
        return shape.region(self.prediction[rows], float(self.budgets[rows]))


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

    def __getitem__(self, rows: int | slice | Indices) -> BoxPrediction:
        margin = None if self.margin is None else self.margin[rows]
        return BoxPrediction(self.location[rows], self.scale[rows], margin)


@dataclass(frozen=True)
class Boxed(Shape):
    """How far the outcome is outside the margin, in units of each context's box.

    Examples
    --------
    >>> box = BoxPrediction(np.zeros(2), np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    >>> Boxed().score(box, np.array([2.0, -2.0]))
    array(1.5)
    >>> Boxed().worst_case(box, 1.5, np.array([1.0, -1.0]))
    array([ 2., -3.])
    """

    def components(self, prediction: Located, outcome: npt.ArrayLike) -> Array:
        """The largest excess at its component, zero elsewhere, shape (..., m)."""
        excess = np.abs(np.asarray(outcome) - location_of(prediction)) - _margin(
            prediction
        )
        share = np.maximum(excess, 0.0) / _scale(prediction)
        worst = np.argmax(share, axis=-1)[..., None]
        return np.where(np.arange(share.shape[-1]) == worst, share, 0.0)

    def expression(self, prediction: Located, outcome: cp.Expression) -> cp.Expression:
        """The same in CVXPY."""
        excess = cp.abs(outcome - location_of(prediction)) - _margin(prediction)
        return cp.max(cp.multiply(1 / _scale(prediction), cp.pos(excess)))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Located
    ) -> Epigraph:
        """Location'v + margin'|v| where scale'|v| <= u, +inf elsewhere."""
        size = magnitude(slope)
        value = location_of(prediction) @ slope + _margin(prediction) @ size
        return Epigraph(value, [_scale(prediction) @ size <= multiplier])

    def slots(self, prediction: Located, budget: npt.ArrayLike) -> Slots:
        """The location, and how far the box reaches from it by component."""
        location = np.asarray(location_of(prediction), dtype=float)
        reach = _margin(prediction) + per_row(budget) * _scale(prediction)
        return {"location": location, "reach": np.broadcast_to(reach, location.shape)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Location'v + reach'|v|."""
        reach = slots["reach"] @ magnitude(direction)
        return Epigraph(slots["location"] @ direction + reach)

    def narrowed(self, entries: object) -> Boxed:
        """Components are bounded one by one: a box of fewer is a box."""
        del entries
        return self

    def worst_case(
        self, prediction: Located, budget: npt.ArrayLike, direction: npt.ArrayLike
    ) -> Array:
        """The corner the direction points to."""
        slots = self.slots(prediction, budget)
        return np.asarray(slots["location"] + slots["reach"] * np.sign(direction))

    def region(self, prediction: Located, budget: float) -> Box:
        """The box."""
        slots = self.slots(prediction, budget)
        return Box(
            slots["location"] - slots["reach"], slots["location"] + slots["reach"]
        )


def _margin(prediction: Located) -> Array:
    margin = prediction.margin if isinstance(prediction, BoxPrediction) else None
    if margin is None:
        return np.zeros_like(np.asarray(location_of(prediction), dtype=float))
    return np.asarray(margin, dtype=float)


def _scale(prediction: Located) -> Array:
    """The scale; that of a bare location is one."""
    scale = prediction.scale if isinstance(prediction, Prediction) else None
    if scale is None:
        return np.ones_like(np.asarray(location_of(prediction), dtype=float))
    return np.asarray(scale, dtype=float)


@dataclass(frozen=True, eq=False)
class EllipsoidPrediction(Prediction):
    """A location and what one unit of the radius means around it.

    Parameters
    ----------
    location : array of shape (m,) or (n, m)
    scale : not used
    factor : array of shape (m, m) or (n, m, m)
        Lower triangular with a positive diagonal, in the units of the outcome.

    Examples
    --------
    >>> ellipsoids = EllipsoidPrediction(np.zeros((3, 2)), factor=[np.eye(2)] * 3)
    >>> len(ellipsoids), ellipsoids[0].factor.shape
    (3, (2, 2))
    """

    factor: Any = None

    def __getitem__(self, rows: int | slice | Indices) -> EllipsoidPrediction:
        return EllipsoidPrediction(self.location[rows], factor=self.factor[rows])


@dataclass(frozen=True)
class Ellipsoidal(Shape):
    """Squared distance in units of each context's own ellipsoid.

    Examples
    --------
    >>> factor = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> ellipsoid = EllipsoidPrediction(np.zeros(2), factor=factor)
    >>> Ellipsoidal().score(ellipsoid, np.array([1.0, 3.0]))
    array(2.)
    >>> Ellipsoidal().worst_case(ellipsoid, 4.0, np.array([1.0, 0.0]))
    array([2., 2.])
    """

    def components(self, prediction: Located, outcome: npt.ArrayLike) -> Array:
        """Squares of the whitened residuals, shape (..., m)."""
        residual = (np.asarray(outcome) - location_of(prediction))[..., None]
        factor = np.broadcast_to(
            _factor(prediction), (*residual.shape[:-2], *residual.shape[-2:-1] * 2)
        )
        return np.asarray(np.linalg.solve(factor, residual)[..., 0] ** 2)

    def expression(self, prediction: Located, outcome: cp.Expression) -> cp.Expression:
        """Sum of squares of the whitened residuals."""
        residual = outcome - location_of(prediction)
        return cp.sum_squares(np.linalg.inv(_factor(prediction)) @ residual)

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Located
    ) -> Epigraph:
        """Location'v + ||factor'v||^2 / (4 u)."""
        stretched = _factor(prediction).T @ slope
        shift = location_of(prediction) @ slope
        return Epigraph(shift + cp.quad_over_lin(stretched, 4 * multiplier))

    def slots(self, prediction: Located, budget: npt.ArrayLike) -> Slots:
        """The location, and the transposed factor times the radius, row by row."""
        location = np.asarray(location_of(prediction), dtype=float)
        rows, columns = np.triu_indices(location.shape[-1])
        # A vector: a matrix would have to be read row by row or column by column.
        triangle = _factor(prediction)[..., columns, rows]
        return {"location": location, "triangle": per_row(np.sqrt(budget)) * triangle}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Location'v + ||radius factor'v||."""
        upper = cp.vec_to_upper_tri(slots["triangle"])
        return Epigraph(slots["location"] @ direction + cp.norm(upper @ direction, 2))

    def radius(self, budget: float) -> float:
        """sqrt(budget)."""
        return float(np.sqrt(budget))

    def worst_case(
        self, prediction: Located, budget: npt.ArrayLike, direction: npt.ArrayLike
    ) -> Array:
        """Location + radius factor factor'v / ||factor'v||."""
        factor = _factor(prediction)
        slope = np.einsum("...ij,...i->...j", factor, np.asarray(direction))
        step = np.einsum("...ij,...j->...i", factor, aligned(slope, 2))
        return np.asarray(location_of(prediction) + per_row(np.sqrt(budget)) * step)

    def region(self, prediction: Located, budget: float) -> Ellipsoid:
        """The ellipsoid."""
        factor = _factor(prediction)
        return Ellipsoid(location_of(prediction), factor, self.radius(budget))


def _factor(prediction: Located) -> Array:
    """The factor; that of a bare location is the identity, times its scale if any."""
    if isinstance(prediction, EllipsoidPrediction) and prediction.factor is not None:
        return np.asarray(prediction.factor, dtype=float)
    scale = _scale(prediction)
    return scale[..., None] * np.eye(scale.shape[-1])
