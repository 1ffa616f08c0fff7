"""Estimators made of several models, or of one for every component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..checks import Array, briefly, is_whole
from ..errors import InvalidParameter
from .abilities import Model, can, is_classifier, is_fitted
from .outcomes import numbers_of
from .several import LowerUpper, OneForAll, SideBySide, as_model, require_model
from .tables import Table, split_columns


class ModelBlocks(SideBySide, BaseEstimator):  # type: ignore[misc]
    """Models side by side: each predicts its own block of the columns of Y.

    Parameters
    ----------
    models : list of models
        Each sees all of X. Fitted ones are left alone by `fit`.
    widths : list of int, optional
        Columns of Y each model takes (a classifier takes one a categorical outcome).
        Needed only where the models are not one a column.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, Y = np.arange(8.0).reshape(4, 2), np.arange(12.0).reshape(4, 3)
    >>> pair = ModelBlocks([LinearRegression(), LinearRegression()], widths=[2, 1])
    >>> len(pair.fit(X, Y).parts)
    2
    """

    def __init__(
        self, models: Sequence[object], widths: list[int] | None = None
    ) -> None:
        self.models = models
        self.widths = widths

    @property
    def parts(self) -> list[Any]:
        """The models that predict: the fitted copies, or those given."""
        return list(vars(self).get("models_", self.models))

    def fit(self, X: Table, Y: Table) -> ModelBlocks:
        """Fit every model that is not fitted yet, on its own columns of Y."""
        columns = split_columns(Y)
        if all(is_fitted(model) for model in self.models):
            self.models_ = list(self.models)
            return self
        widths = self._widths(len(columns))
        starts = np.cumsum([0, *widths])
        self.models_ = []
        for k, model in enumerate(self.models):
            block = columns[starts[k] : starts[k + 1]]
            target = block[0] if len(block) == 1 else np.stack(block, axis=1)
            ready = is_fitted(model)
            self.models_.append(model if ready else clone(model).fit(X, target))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "models_" in vars(self) or all(map(is_fitted, self.models))

    def _widths(self, columns: int) -> list[int]:
        widths = self.widths or [1] * len(self.models)
        whole = isinstance(widths, list | tuple) and all(is_whole(w, 1) for w in widths)
        if not whole or len(widths) != len(self.models) or sum(widths) != columns:
            raise InvalidParameter(
                f"ModelBlocks(widths=...) must give each of the {len(self.models)} "
                f"models its columns of Y and sum to {columns}, got "
                f"{briefly(widths)}. Say sl.ModelBlocks(models, widths=[...])."
            )
        return list(widths)


class QuantilePair(LowerUpper, BaseEstimator):  # type: ignore[misc]
    """A lower and an upper quantile model of the same outcomes, as one.

    `LossSet([lower, upper], loss="interval")` makes one by itself. Say it yourself
    where a search is to reach into the models: `model__lower__max_depth`.

    Parameters
    ----------
    lower, upper : models of all columns of Y, or lists of models, one a column
        Fitted ones are left alone by `fit`.

    Examples
    --------
    >>> from sklearn.linear_model import QuantileRegressor
    >>> X = np.arange(40.0)[:, None]
    >>> ends = QuantileRegressor(quantile=0.1), QuantileRegressor(quantile=0.9)
    >>> pair = QuantilePair(*ends).fit(X, X[:, 0] ** 2)
    >>> len(pair.parts)
    2
    """

    def __init__(self, lower: object, upper: object) -> None:
        self.lower = lower
        self.upper = upper

    @property
    def parts(self) -> list[Any]:
        """The lower and the upper model: the fitted copies, or those given."""
        given = vars(self)
        ends = (given.get(f"{end}_", given[end]) for end in ("lower", "upper"))
        return [as_model(end) for end in ends]

    def fit(self, X: Table, Y: Table) -> QuantilePair:
        """Fit each model that is not fitted yet, on all columns of Y."""
        self.lower_, self.upper_ = (fit_copy(part, X, Y) for part in self.given)
        return self

    @property
    def given(self) -> list[Model]:
        """The lower and the upper model as they were given, checked."""
        return [as_model(self.lower), as_model(self.upper)]

    def __sklearn_is_fitted__(self) -> bool:
        return "upper_" in vars(self) or all(map(is_fitted, self.given))


def fit_copy(model: Model, X: Table, Y: Table) -> Model:
    """A fitted copy of the model, or the model itself where it is fitted already.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> line = LinearRegression()
    >>> fit_copy(line, [[0.0], [1.0]], [0.0, 2.0]).coef_, is_fitted(line)
    (array([2.]), False)
    """
    if is_fitted(model):
        return model
    if isinstance(model, ModelBlocks | QuantilePair):
        # They copy their unfitted models themselves, and keep the fitted ones.
        return cast(Model, type(model)(**model.get_params(deep=False)).fit(X, Y))
    return cast(Model, clone(model).fit(X, Y))


def _inner_can(method: str) -> Callable[[SharedModel], bool]:
    return lambda shared: can(shared.inner, method)


class SharedModel(OneForAll, BaseEstimator):  # type: ignore[misc]
    """One model for every component, each with its own covariates.

    X has shape (n, m, p): p covariates for each of the m components. The model is
    trained on the n*m rows (X[i, j], Y[i, j]). The paper's asset returns are the case
    in point: one model of a return given that asset's covariates.

    Parameters
    ----------
    model : estimator
        A regressor of one output, or a classifier (then every component is a label).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 2))
    >>> shared = SharedModel(LinearRegression()).fit(X, X.sum(axis=2))
    >>> shared.predict(X[:4]).shape
    (4, 3)
    """

    def __init__(self, model: object) -> None:
        self.model = model

    @property
    def inner(self) -> Any:
        """The model that predicts: the fitted copy, or the one given."""
        return vars(self).get("model_", self.model)

    def fit(self, X: Table, Y: Table) -> SharedModel:
        """Fit the model on all components at once; a fitted model is left alone."""
        rows, shape = self._flatten(X)
        require_model(self.model, "SharedModel")
        columns = split_columns(Y)
        if not is_classifier(self.model):
            columns = [numbers_of(column, "SharedModel.fit") for column in columns]
        target = np.stack(columns, axis=1)
        if target.shape != shape:
            raise InvalidParameter(
                f"SharedModel.fit(Y) must be of shape {shape}, one outcome for each "
                f"component of X, got shape {target.shape}."
            )
        ready = is_fitted(self.model)
        self.model_ = (
            self.model if ready else clone(self.model).fit(rows, target.ravel())
        )
        self.n_components_ = shape[1]
        return self

    def predict(self, X: Table, return_std: bool = False) -> Any:
        """Predictions of shape (n, m), and their spreads if asked."""
        rows, shape = self._flatten(X)
        if return_std:
            location, scale = self._ready().predict(rows, return_std=True)
            return np.reshape(location, shape), np.reshape(scale, shape)
        return np.reshape(self._ready().predict(rows), shape)

    @available_if(_inner_can("predict_proba"))
    def predict_proba(self, X: Table) -> list[Array]:
        """Class probabilities: a list of m arrays of shape (n, K)."""
        rows, (n, m) = self._flatten(X)
        cube = np.reshape(self._ready().predict_proba(rows), (n, m, -1))
        return [cube[:, j] for j in range(m)]

    @property
    def classes_(self) -> Any:
        """The classes of each component's label."""
        return [self._ready().classes_] * (self.count or 1)

    @property
    def count(self) -> int | None:
        """How many components there are; None before it is told, in `fit`."""
        return vars(self).get("n_components_")

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self.inner)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if is_classifier(self.model):
            tags.estimator_type = "classifier"
        return tags

    def _ready(self) -> Any:
        check_is_fitted(self.inner)
        return self.inner

    def _flatten(self, X: Table) -> tuple[Array, tuple[int, int]]:
        array = np.asarray(X)
        if array.ndim != 3:
            raise InvalidParameter(
                "SharedModel needs X of shape (n, m, p), p covariates for each of m "
                f"components, got shape {array.shape}."
            )
        n, m, p = array.shape
        return array.reshape(n * m, p), (n, m)
