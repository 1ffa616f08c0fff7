"""Learning a target honestly: every row is also predicted by a model without it.

Boosted trees on weighted rows are given columns with few distinct values. Histogram
trees see a column only through its bins, at most 255. From scikit-learn 1.9 on the bins
of weighted rows are weighted quantiles, which take longer than the trees themselves. A
column that has no more values than there are bins needs no quantiles: a bin ends
half-way between two values. So the values are first moved to the nearest of 255 order
statistics. Trees fitted to these give every raw value the prediction of the value it
was moved to, so only the rows to fit are moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..predictions import Table, can
from .rows import Predictor, Regressor, is_frame

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Tags

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from ..checks import Array, briefly
from ..errors import InvalidParameter
from .rows import Rows

BINS = 255
_NUMBERS = "fiu"


def snap(X: Table, bins: int = BINS) -> Table:
    """X with at most `bins` distinct values in each numeric column.

    Parameters
    ----------
    X : DataFrame, or array of shape (n, p)
        Columns that are not numbers stay as they are; so do missing values.
    bins : int

    Examples
    --------
    >>> snap(np.array([[0.0], [0.1], [2.0], [2.2], [5.0]]), bins=3).ravel()
    array([0., 0., 2., 2., 5.])
    """
    if is_frame(X):
        return _snap_frame(X, bins)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in _NUMBERS:
        return X
    return np.column_stack([snap_column(column, bins) for column in array.T])


def snap_column(values: Array, bins: int = BINS) -> Array:
    """Values moved to the nearest of `bins` order statistics, extremes included."""
    ordered = np.sort(values[np.isfinite(values)])
    distinct = np.unique(ordered)
    if len(distinct) <= bins:
        return values
    picked = np.linspace(0, len(ordered) - 1, bins).round().astype(int)
    grid = np.unique(ordered[picked])
    ends = grid[:-1] + np.diff(grid) / 2
    moved = grid[np.searchsorted(ends, values)]
    return np.where(np.isfinite(values), moved, values)


def _snap_frame(X: pd.DataFrame, bins: int) -> pd.DataFrame:
    snapped = X.copy(deep=False)
    for place, kind in enumerate(X.dtypes):
        if isinstance(kind, np.dtype) and kind.kind in _NUMBERS:
            snapped.isetitem(place, snap_column(X.iloc[:, place].to_numpy(), bins))
    return snapped


@dataclass(frozen=True, eq=False)
class Learned:
    """A model fitted on all rows, and predictions of each row by models without it.

    Parameters
    ----------
    model : fitted on all rows, has `predict`
    out_of_fold : array of the shape of the target
    """

    model: Predictor
    out_of_fold: Array


class Learner(Protocol):
    """What can learn a mean or a variance."""

    @property
    def takes_weight(self) -> bool:
        """Whether rows can count differently."""

    @property
    def sees_mean(self) -> bool:
        """Whether, as a variance, it wants the predicted mean as a further column."""

    def learn(self, rows: Rows, y: Array) -> Learned:
        """Fit on all rows and, for the out-of-fold predictions, without each fold."""


@dataclass(frozen=True, eq=False)
class GivenModel:
    """The user's regressor, copied and fitted without each fold and on all rows.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> folds = [([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])]
    >>> rows, y = Rows(np.zeros((3, 1)), folds=folds), np.array([0.0, 0.0, 3.0])
    >>> GivenModel(DummyRegressor()).learn(rows, y).out_of_fold
    array([1.5, 1.5, 0. ])
    """

    estimator: Regressor
    sees_mean: bool = False

    def __str__(self) -> str:
        return type(self.estimator).__name__

    @property
    def takes_weight(self) -> bool:
        """Whether its `fit` has a place for weights."""
        return weight_name(self.estimator) is not None

    def learn(self, rows: Rows, y: Array) -> Learned:
        """As many fits as folds, and one more."""
        held_out, training = np.empty(y.shape), self._training(rows)
        for train, held in rows.folds:
            part = self._fit(training.take(train), y[train])
            predicted = part.predict(rows.take(held).X)
            held_out[held] = np.reshape(predicted, held_out[held].shape)
        return Learned(self._fit(training, y), held_out)

    def _training(self, rows: Rows) -> Rows:
        """The rows to fit on: weighted boosting is slow unless snapped."""
        model = self.estimator
        if rows.weight is None or not isinstance(model, HistGradientBoostingRegressor):
            return rows
        return replace(rows, X=snap(rows.X, model.max_bins))

    def _fit(self, rows: Rows, y: Array) -> Predictor:
        name = weight_name(self.estimator)
        weights = {} if name is None or rows.weight is None else {name: rows.weight}
        fitted: Predictor = clone(self.estimator).fit(rows.X, y, **weights)
        return fitted


def require_regressor(owner: str, **models: object) -> None:
    """Each model must be None, or something to be copied and fitted."""
    for name, given in models.items():
        if isinstance(given, type):
            raise InvalidParameter(
                f"{owner}({name}=...) must be an estimator, got the class "
                f"{given.__name__}. Make one of it: {name}={given.__name__}()."
            )
        if given is not None and not (can(given, "fit") and can(given, "predict")):
            raise InvalidParameter(
                f"{owner}({name}=...) must be an estimator with fit and predict, or "
                f"None, got {briefly(given)}."
            )


def weight_name(model: object) -> str | None:
    """What `fit` calls the weights of the rows; None where it has no place for them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_name(make_pipeline(Ridge())), weight_name(KNeighborsRegressor())
    ('ridge__sample_weight', None)
    """
    inner = getattr(model, "estimator", None)
    hands_on = isinstance(model, Pipeline) or hasattr(inner, "fit")
    if hands_on and sklearn.get_config()["enable_metadata_routing"]:
        asked = get_routing_for_object(model).consumes("fit", ["sample_weight"])
        return "sample_weight" if asked else None
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        inner_name = weight_name(last)
        return inner_name and f"{step}__{inner_name}"
    if hands_on:
        return weight_name(inner)
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def predicts_many(model: object) -> bool:
    """Whether the model says that one fit serves several outputs.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.linear_model import Ridge
    >>> predicts_many(Ridge()), predicts_many(HistGradientBoostingRegressor())
    (True, False)
    """
    tags = tags_of(model)
    return tags is not None and bool(tags.target_tags.multi_output)


def tags_of(model: object) -> Tags | None:
    """The model's scikit-learn tags; None where it has none."""
    return get_tags(model) if hasattr(model, "__sklearn_tags__") else None
