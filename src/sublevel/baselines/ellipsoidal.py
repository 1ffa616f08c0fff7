"""Ellipsoids with axes of their own at every context.

    loss(y) = ||factor^-1 (y - location)||^2,   factor lower triangular,

so the sublevel set is { location + factor z : ||z|| <= sqrt(budget) }. Mahalanobis has
one covariance for all contexts; here each context has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..epigraph import Epigraph
from ..losses.base import Slots, location_of, per_row
from ..norm_ball import aligned
from ..predictions import Prediction
from ..sets import Ellipsoid
from .shaped import Shape


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
    >>> said = EllipsoidPrediction(np.zeros((3, 2)), factor=np.stack([np.eye(2)] * 3))
    >>> len(said), said[0].factor.shape
    (3, (2, 2))
    """

    factor: Any = None

    def __getitem__(self, rows: Any) -> EllipsoidPrediction:
        return EllipsoidPrediction(self.location[rows], factor=self.factor[rows])


@dataclass(frozen=True)
class Ellipsoidal(Shape):
    """Squared distance in units of each context's own ellipsoid.

    Examples
    --------
    >>> factor = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> said = EllipsoidPrediction(np.zeros(2), factor=factor)
    >>> Ellipsoidal().score(said, np.array([1.0, 3.0]))
    array(2.)
    >>> Ellipsoidal().worst_case(said, 4.0, np.array([1.0, 0.0]))
    array([2., 2.])
    """

    def components(self, prediction: Any, outcome: Any) -> Array:
        """Squares of the whitened residuals, shape (..., m)."""
        residual = np.asarray(outcome - location_of(prediction))[..., None]
        factor = np.broadcast_to(
            _factor(prediction), (*residual.shape[:-2], *residual.shape[-2:-1] * 2)
        )
        return np.asarray(np.linalg.solve(factor, residual)[..., 0] ** 2)

    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """Sum of squares of the whitened residuals."""
        residual = outcome - location_of(prediction)
        return cp.sum_squares(np.linalg.inv(_factor(prediction)) @ residual)

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """Location'v + ||factor'v||^2 / (4 u)."""
        stretched = _factor(prediction).T @ slope
        shift = location_of(prediction) @ slope
        return Epigraph(shift + cp.quad_over_lin(stretched, 4 * multiplier))

    def slots(self, prediction: Any, budget: Any) -> Slots:
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

    def worst_case(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """Location + radius factor factor'v / ||factor'v||."""
        factor = _factor(prediction)
        slope = np.einsum("...ij,...i->...j", factor, np.asarray(direction))
        step = np.einsum("...ij,...j->...i", factor, aligned(slope, 2))
        return np.asarray(location_of(prediction) + per_row(np.sqrt(budget)) * step)

    def region(self, prediction: Any, budget: float) -> Ellipsoid:
        """The ellipsoid."""
        factor = _factor(prediction)
        return Ellipsoid(location_of(prediction), factor, self.radius(budget))


def _factor(prediction: Any) -> Array:
    """The factor; that of a bare location is the identity, times its scale if any."""
    factor = getattr(prediction, "factor", None)
    if factor is not None:
        return np.asarray(factor, dtype=float)
    scale = getattr(prediction, "scale", None)
    scale = np.ones_like(location_of(prediction)) if scale is None else scale
    return np.asarray(scale)[..., None] * np.eye(np.shape(scale)[-1])
