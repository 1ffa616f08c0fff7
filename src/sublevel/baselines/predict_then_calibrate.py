"""Predict, then calibrate: a model of the residuals sets the shape, a factor the size.

Three parts of the data: a prediction model f on the first; on the second a model h of
the (1 - alpha)-quantile of the residuals' size; on the third the least factor that
holds a share 1 - alpha of the outcomes (Sun, Liu & Li 2023). Two shapes:

    box        { y : |y_j - f_j(X)| <= factor h_j(X) for all j }
    ellipsoid  { y : ||root^-1 (y - f(X))|| <= factor h(X) },  root root' the second
               moments of the residuals divided by h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ..conic.program import Indices
from ..predictions import Table

if TYPE_CHECKING:
    from ..models.rows import Regressor

from abc import abstractmethod
from dataclasses import replace
from math import ceil

import numpy as np
from sklearn.base import clone

from ..checks import Array, as_numbers, require_having, require_level
from ..errors import InvalidParameter
from ..guarantees import Certificate, Marginal
from ..guarantees.exact import exact
from ..loss_set.fitting import fit_model
from ..predictions import Prediction, as_model, is_fitted, predict, take_rows
from ..theory.classical import sun_level, sun_sample_size
from .shapes import Boxed, BoxPrediction, Ellipsoidal, EllipsoidPrediction
from .source import FittedSource, split_rows

#: Least quantile, as a share of the typical residual: no context has a set of nothing.
FLOOR = 0.01


class PredictThenCalibrate(FittedSource):
    """What the box and the ellipsoid share: three parts of data, and the promise.

    Parameters
    ----------
    model : estimator, torch module, callable, or a list of these
        A fitted one is left alone; then all rows are for the residuals.
    alpha : float in (0, 1)
    residual_model : regressor with one output, optional
        Should aim at the (1 - alpha)-quantile. By default gradient boosting with the
        pinball loss.
    share : float in (0, 1), default 0.5
        Part of the rows for the residuals; half of it fits, half of it calibrates.
    random_state : int, default 0
        Seed of the split.

    Attributes
    ----------
    model_ : the fitted prediction model
    residual_models_ : list of fitted residual models
    budget_ : the factor (box), or its square (ellipsoid)
    """

    def __init__(
        self,
        model: object,
        alpha: float = 0.1,
        residual_model: Regressor | None = None,
        share: float = 0.5,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.residual_model = residual_model
        self.share = share
        self.random_state = random_state

    def fit(self, X: Table, Y: Table) -> Self:
        """Train both models and find the factor."""
        require_level(type(self).__name__, alpha=self.alpha)
        vectors = self._learn_outcomes(X, Y)
        model = as_model(self.model)
        first, second, third = self._parts(X, is_fitted(model))
        self.model_ = fit_model(model, take_rows(X, first), take_rows(Y, first))
        self._learn_residuals(take_rows(X, second), vectors[second])
        self._calibrate(take_rows(X, third), vectors[third])
        return self

    def _parts(self, X: Table, fitted: bool) -> tuple[Indices, Indices, Indices]:
        """Rows for the model, for the residuals and for the factor."""
        first, rest = split_rows(self, X, self.share, self.random_state)
        if fitted:
            first, rest = first[:0], np.concatenate([rest, first])
        second, third = np.array_split(rest, 2)
        if not len(third):
            raise InvalidParameter(
                f"{type(self).__name__}.fit(X, Y) needs at least 2 rows for the "
                f"residuals, got {len(rest)} at share={self.share}."
            )
        return first, second, third

    @abstractmethod
    def _learn_residuals(self, X: Table, vectors: Array) -> None:
        """Fit the models of the residuals' size."""

    def _calibrate(self, X: Table, vectors: Array) -> None:
        scores = self.loss_.score(self._say(X), vectors)
        # The least factor that holds a share 1 - alpha: no correction for the new one.
        rank = ceil(len(scores) * (1 - exact(self.alpha)))
        self.budget_ = float(np.sort(scores)[rank - 1])
        self.certificate_ = self._certificate(scores, rank)

    def _certificate(self, scores: Array, rank: int) -> Certificate:
        """What split calibration proves of this factor; theirs is in the note."""
        promise, size = Marginal().promise(scores, self.budget_), len(scores)
        level = Marginal().level(rank, size)
        inside = float(np.mean(scores <= self.budget_))
        note = (
            f"The aim was {self.alpha:g}; without the correction for the new outcome "
            f"the level is {level:.4g}. The uniform bound of Sun, Liu and Li says "
            f"{sun_level(size, inside):.4g}; with all outcomes inside it would need "
            f"{sun_sample_size(self.alpha)} of them to say {self.alpha:g}."
        )
        return replace(
            promise,
            guarantee=type(self).__name__,
            alpha=level,
            rank=rank,
            minimum_sample_size=1,
            reference=f"Sun, Liu and Li (2023); {promise.reference}",
            note=note,
        )

    def _location(self, X: Table) -> Array:
        prediction = predict(self.model_, X, "location")
        if not isinstance(prediction, Prediction):
            raise InvalidParameter(
                f"{type(self).__name__}(model=...) must predict numbers."
            )
        return np.asarray(prediction.location)

    def _fit_size(self, X: Table, sizes: Array) -> _Floored:
        """A model of the quantile of nonnegative sizes, with a floor."""
        from sklearn.ensemble import GradientBoostingRegressor

        if self.residual_model is not None:
            estimator = "an estimator with fit and predict"
            name = type(self).__name__
            require_having(name, "fit", estimator, residual_model=self.residual_model)
            regressor = clone(self.residual_model)
        else:
            regressor = GradientBoostingRegressor(
                loss="quantile",
                alpha=1 - self.alpha,
                n_estimators=50,
                max_depth=2,
                min_samples_leaf=10,
                random_state=0,
            )
        floor = max(FLOOR * float(np.median(sizes)), 1e-300)
        return _Floored(regressor.fit(X, sizes), floor)


class PredictThenCalibrateBox(PredictThenCalibrate):
    """Boxes whose sides follow a model of each residual's quantile.

    References
    ----------
    Sun, Liu and Li (2023), Predict-then-Calibrate: a new perspective of robust
    contextual LP.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 1))
    >>> Y = np.hstack([X * rng.normal(size=(400, 1)), rng.normal(size=(400, 1))])
    >>> sets = PredictThenCalibrateBox(lambda X: np.zeros((len(X), 2))).fit(X, Y)
    >>> calm, wild = sets.predict_set([[0.1], [0.9]]).bounds()[1][:, 0]
    >>> bool(calm < wild)
    True
    """

    loss_ = Boxed()

    def _learn_residuals(self, X: Table, vectors: Array) -> None:
        sizes = np.abs(vectors - self._location(X))
        self.residual_models_ = [self._fit_size(X, column) for column in sizes.T]

    def _say(self, X: Table) -> BoxPrediction:
        sizes = [model.predict(X) for model in self.residual_models_]
        return BoxPrediction(self._location(X), np.stack(sizes, axis=1))


class PredictThenCalibrateEllipsoid(PredictThenCalibrate):
    """Ellipsoids whose size follows a model of the residual norm's quantile.

    References
    ----------
    Sun, Liu and Li (2023), Predict-then-Calibrate: a new perspective of robust
    contextual LP.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 1))
    >>> Y = X * rng.normal(size=(400, 2))
    >>> sets = PredictThenCalibrateEllipsoid(lambda X: np.zeros((len(X), 2))).fit(X, Y)
    >>> calm, wild = sets.predict_set([[0.1], [0.9]]).support([1.0, 0.0])
    >>> bool(calm < wild)
    True
    """

    loss_ = Ellipsoidal()

    def _learn_residuals(self, X: Table, vectors: Array) -> None:
        residuals = vectors - self._location(X)
        size = self._fit_size(X, np.linalg.norm(residuals, axis=1))
        self.residual_models_ = [size]
        unit = residuals / size.predict(X)[:, None]
        moments = unit.T @ unit / len(unit)
        # Fewer rows than components, or components that move together.
        moments += FLOOR**2 * np.trace(moments) / len(moments) * np.eye(len(moments))
        self.root_ = np.linalg.cholesky(moments)

    def _say(self, X: Table) -> EllipsoidPrediction:
        size = self.residual_models_[0].predict(X)
        return EllipsoidPrediction(
            self._location(X), factor=size[:, None, None] * self.root_
        )


class _Floored:
    """A model's prediction, no less than a floor."""

    def __init__(self, model: Regressor, floor: float) -> None:
        self.model, self.floor = model, floor

    def predict(self, X: Table) -> Array:
        """At least the floor, shape (n,)."""
        sizes = as_numbers("residual_model", "prediction", self.model.predict(X))
        return np.asarray(np.maximum(sizes, self.floor))
