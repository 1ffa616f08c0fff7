"""Squared error under a full covariance: the ellipsoid that knows correlation.

loss(y) = (y - prediction)' covariance^-1 (y - prediction).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_matrix
from ..deferred import cp
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..norm_ball import NormBall, aligned
from ..predictions import AnyPrediction
from .base import Forecast, Loss, Slots, location_of, per_row


@dataclass(frozen=True)
class Mahalanobis(Loss):
    """Squared Mahalanobis distance of the outcome from the prediction.

    Parameters
    ----------
    covariance : (m, m) positive definite, optional
        If left open, LossSet.fit sets it from out-of-fold training residuals.

    Examples
    --------
    >>> loss = Mahalanobis([[1.0, 0.0], [0.0, 4.0]])
    >>> loss.score(np.zeros(2), np.array([1.0, 2.0])).round(6)
    np.float64(2.0)
    """

    norm_power: ClassVar[int | None] = 2

    covariance: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.covariance is None:
            return
        matrix = as_matrix("Mahalanobis", "covariance", self.covariance)
        if matrix.shape[0] != matrix.shape[1] or not _symmetric(matrix):
            raise InvalidParameter(
                "Mahalanobis(covariance=...) must be square and symmetric, got shape "
                f"{matrix.shape}."
            )
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least <= 0:
            raise InvalidParameter(
                "Mahalanobis(covariance=...) must be positive definite, got least "
                f"eigenvalue {least:.3g}. Add a small multiple of the identity."
            )
        rows = tuple(tuple(row) for row in matrix.tolist())
        object.__setattr__(self, "covariance", rows)

    @property
    def factor(self) -> Array:
        """Lower-triangular L with covariance = L L', shape (m, m)."""
        if self.covariance is None:
            raise InvalidParameter(
                "Mahalanobis(covariance=None) is learned from training residuals: "
                "call LossSet.fit(X_train, Y_train) first, or give the covariance."
            )
        return np.linalg.cholesky(np.asarray(self.covariance))

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Squares of the whitened residuals, shape (..., m)."""
        residual = np.asarray(outcome - location_of(prediction))
        return np.asarray((residual @ np.linalg.inv(self.factor).T) ** 2)

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Sum of squares of the whitened residuals."""
        residual = outcome - location_of(prediction)
        return cp.sum_squares(np.linalg.inv(self.factor) @ residual)

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Sum of squares of the whitened residuals in units of the radius."""
        whiten = np.linalg.inv(np.sqrt(excess) * self.factor)
        return cp.sum_squares(whiten @ (outcome - location_of(prediction)))

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The location and the radius."""
        location = np.asarray(location_of(prediction), dtype=float)
        radius = np.broadcast_to(np.sqrt(budget), location.shape[:-1])
        return {"location": location, "radius": radius}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Prediction'v + radius ||L'v||."""
        reach = cp.norm(slots["radius"] * (self.factor.T @ direction), 2)
        return Epigraph(slots["location"] @ direction + reach)

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Prediction'v + v' covariance v / (4 u)."""
        shift = location_of(prediction) @ slope
        return Epigraph(shift + cp.quad_over_lin(self.factor.T @ slope, 4 * multiplier))

    def check(self, prediction: AnyPrediction) -> None:
        """The covariance must fit the prediction."""
        if len(self.factor) != prediction.width:
            raise InvalidParameter(
                f"Mahalanobis(covariance=...) is {len(self.factor)} wide, and the "
                f"model predicts {prediction.width} components."
            )

    @property
    def is_open(self) -> bool:
        """Whether the covariance is still to be learned."""
        return self.covariance is None

    def learn(self, prediction: Forecast, outcome: Array) -> Mahalanobis:
        """Second moments of the residuals, shrunk (Ledoit & Wolf 2004)."""
        if self.covariance is not None:
            return self
        from sklearn.covariance import ledoit_wolf

        residual = outcome - location_of(prediction)
        moments = ledoit_wolf(residual, assume_centered=True)[0]
        return replace(self, covariance=moments)

    def radius(self, budget: float) -> float:
        """sqrt(budget); 0 below the least loss."""
        return float(np.sqrt(max(budget, 0.0)))

    def ball(self, prediction: Forecast, budget: float) -> NormBall:
        """The ellipsoid."""
        radius = float(np.sqrt(budget))
        return NormBall(location_of(prediction), self.factor, radius, 2)

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """||L'v||^2 / (2 price)^2."""
        del prediction
        slope = np.asarray(direction) @ self.factor
        return np.asarray(np.sum((slope / per_row(2 * price)) ** 2, axis=-1))

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Prediction + sqrt(budget) covariance v / ||L'v||."""
        factor = self.factor
        step = aligned(np.asarray(direction) @ factor, 2) @ factor.T
        return np.asarray(location_of(prediction) + per_row(np.sqrt(budget)) * step)


def _symmetric(matrix: Array) -> bool:
    return bool(np.abs(matrix - matrix.T).max() <= 1e-8 * np.abs(matrix).max())
