"""Residuals in units of the predicted spread: the paper's set with variance (MSEV).

    loss(y) = sum_j ((y_j - location_j) / scale_j)^2,
    loss(y) = ||factor^-1 (y - location)||^2           where a covariance is predicted.

The radius is the same at every context and the set widens with the spread, so calm
and noisy contexts are covered equally often. With a covariance it turns as well: which
errors go together is a matter of the context. Compare NLL, and Mahalanobis, whose
covariance is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..deferred import cp, is_expression
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..norm_ball import NormBall, aligned
from ..predictions import AnyPrediction, Prediction
from .base import (
    TRIANGLE,
    Forecast,
    Slots,
    factor_of,
    location_of,
    per_row,
    scale_of,
    triangle_of,
)
from .squared import Squared


@dataclass(frozen=True)
class Gaussian(Squared):
    """Squared norm of the standardised residuals.

    Parameters
    ----------
    full : bool, optional
        Whether a predicted covariance is used: by default where there is one. True
        asks for one; False looks at the spreads alone, whatever else is predicted.

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> prediction = Prediction(np.zeros(2), scale=np.array([1.0, 2.0]))
    >>> Gaussian().components(prediction, np.array([1.0, 2.0]))
    array([1., 1.])
    >>> turned = Prediction(np.zeros(2), factor=np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> Gaussian().score(turned, np.array([1.0, 3.0]))
    array(2.)
    >>> Gaussian().worst_case(turned, 4.0, np.array([1.0, 0.0]))
    array([2., 2.])
    """

    needs: ClassVar[str] = "spread"

    full: bool | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_choice(type(self).__name__, self.full)
        super().__post_init__()

    def factor(self, prediction: Forecast) -> Array | None:
        """The factor it uses, rows stretched by the weights, (..., m, m), or None."""
        factor = None if self.full is False else factor_of(prediction)
        if factor is None and self.full:
            raise InvalidParameter(
                f"{type(self).__name__}(full=True) needs a predicted covariance. Say "
                "Prediction(location, factor=...), or full=None."
            )
        if factor is None or self.weights is None:
            return factor
        stretch = np.sqrt(np.asarray(self.weights))[:, None]
        if is_expression(factor):
            stretched: Array
            stretched = cp.multiply(np.broadcast_to(stretch, factor.shape), factor)
            return stretched
        return np.asarray(stretch * factor)

    def settled(self, prediction: AnyPrediction) -> Gaussian:
        """Full where a covariance is predicted."""
        return settled(self, prediction)

    def example(self, dim: int) -> Prediction:
        """With a covariance if it asks for one, else with a spread."""
        return example(self.full, dim)

    def separates(self, prediction: Forecast) -> bool:
        """Unless it turns."""
        return self.factor(prediction) is None

    def check(self, prediction: AnyPrediction) -> None:
        """The weights must fit, and a covariance be there if it was asked for."""
        super().check(prediction)
        self.factor(prediction)

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Squared standardised residuals."""
        residual = np.asarray(outcome - location_of(prediction), dtype=float)
        # In place: there are as many residuals as spreads, or more.
        residual /= self._scale(prediction)
        residual *= residual
        return residual

    def spread(self, prediction: Forecast) -> Array:
        """Forecast spread, stretched by the weights."""
        scale = self._scale(prediction)
        if self.weights is None:
            return scale
        return np.sqrt(self._weights(scale)) * scale

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Squares of the standardised, or whitened, residuals, shape (..., m)."""
        factor = self.factor(prediction)
        if factor is None:
            return super().components(prediction, outcome)
        self._check_width(factor.shape[-1])
        residual = np.asarray(outcome - location_of(prediction))
        return np.asarray(_whitened(factor, residual) ** 2)

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Sum of squares of the residuals in units of the half-widths."""
        factor = self.factor(prediction)
        if factor is None:
            return super().unit_expression(prediction, outcome, excess)
        whiten = np.linalg.inv(np.sqrt(excess) * factor)
        return cp.sum_squares(whiten @ (outcome - location_of(prediction)))

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The location, and how far the set reaches: by component, or as a factor."""
        factor = self.factor(prediction)
        if factor is None:
            return super().slots(prediction, budget)
        location = np.asarray(location_of(prediction), dtype=float)
        reach = np.sqrt(budget)[..., None] * triangle_of(factor)
        return {"location": location, TRIANGLE: reach}

    def shape_slots(self, prediction: Forecast) -> Slots:
        """The location, and the spread or the factor."""
        if self.full is False or factor_of(prediction) is None:
            return super().shape_slots(prediction)
        location = np.asarray(location_of(prediction), dtype=float)
        # Weights are for the conjugate to apply.
        factor = np.asarray(factor_of(prediction), dtype=float)
        return {"location": location, TRIANGLE: triangle_of(factor)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Prediction'v + ||reach v||, or Prediction'v + ||factor'v||."""
        if TRIANGLE not in slots:
            return super().bound(slots, direction)
        slope = cp.vec_to_upper_tri(slots[TRIANGLE]) @ direction
        return Epigraph(slots["location"] @ direction + cp.norm(slope, 2))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v + ||factor'v||^2 / (4 u)."""
        factor = self.factor(prediction)
        if factor is None:
            return super().conjugate(slope, multiplier, prediction)
        shift = location_of(prediction) @ slope
        return Epigraph(shift + cp.quad_over_lin(factor.T @ slope, 4 * multiplier))

    def ball(self, prediction: Forecast, budget: float) -> NormBall:
        """The ellipsoid."""
        factor = self.factor(prediction)
        if factor is None:
            return super().ball(prediction, budget)
        return NormBall(location_of(prediction), factor, float(np.sqrt(budget)), 2)

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """||factor'v||^2 / (2 price)^2."""
        factor = self.factor(prediction)
        if factor is None:
            return super().spend(prediction, price, direction)
        slope = _turned(factor.swapaxes(-1, -2), np.asarray(direction, dtype=float))
        return np.asarray(np.sum((slope / per_row(2 * price)) ** 2, axis=-1))

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Prediction + sqrt(budget) factor factor'v / ||factor'v||."""
        factor = self.factor(prediction)
        if factor is None:
            return super().worst_case(prediction, budget, direction)
        slope = _turned(factor.swapaxes(-1, -2), np.asarray(direction, dtype=float))
        step = per_row(np.sqrt(budget)) * _turned(factor, aligned(slope, 2))
        return np.asarray(location_of(prediction) + step)

    def _scale(self, prediction: Forecast) -> Array:
        scale = scale_of(prediction)
        if scale is None:
            raise InvalidParameter(
                f"{type(self).__name__} needs a predicted spread. Say "
                "Prediction(location, scale)."
            )
        return scale


def require_choice(owner: str, full: object) -> None:
    """Yes, no, or as it comes."""
    if full is not None and not isinstance(full, bool):
        raise InvalidParameter(
            f"{owner}(full=...) must be True, False or None, got {full!r}."
        )


def settled(loss: Gaussian, prediction: AnyPrediction) -> Gaussian:
    """The loss with the choice made that was left to the prediction."""
    if loss.full is not None:
        return loss
    return replace(loss, full=factor_of(prediction) is not None)


def example(full: bool | None, dim: int) -> Prediction:
    """A prediction with a spread, or with a covariance."""
    ones = np.ones(dim)
    return Prediction(ones, ones, factor=np.eye(dim) if full else None)


def _turned(matrix: Array, vectors: Array) -> Array:
    """Matrix times vector, of each context: (..., m, m) and (..., m)."""
    return np.asarray(np.matmul(matrix, vectors[..., None])[..., 0])


def _whitened(factor: Array, residual: Array) -> Array:
    """Residuals (..., m) in units of lower triangular factors (..., m, m)."""
    if factor.ndim == 2:
        flat = residual.reshape(-1, residual.shape[-1])
        unit = np.linalg.solve(factor, flat.T)
        return np.asarray(unit.T.reshape(residual.shape))
    shape = np.broadcast_shapes(factor.shape[:-2], residual.shape[:-1])
    wide = np.broadcast_to(factor, (*shape, *factor.shape[-2:]))
    column = np.broadcast_to(residual, (*shape, residual.shape[-1]))[..., None]
    return np.asarray(np.linalg.solve(wide, column)[..., 0])
