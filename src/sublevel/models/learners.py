"""Learning one target honestly: every row is also predicted by a model without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from ..checks import Array
from ..predictions import take_rows
from .folds import Folds


@dataclass(frozen=True, eq=False)
class Learned:
    """A model fitted on all rows, and predictions of each row by models without it.

    Parameters
    ----------
    model : fitted on all rows, has `predict`
    out_of_fold : array of the shape of the target
    """

    model: Any
    out_of_fold: Array


class Learner(Protocol):
    """What can learn a mean or a variance."""

    @property
    def takes_weight(self) -> bool:
        """Whether rows can be weighted."""

    @property
    def sees_mean(self) -> bool:
        """Whether, as a variance, it wants the predicted mean as a further column."""

    def learn(self, X: Any, y: Array, weight: Array | None, folds: Folds) -> Learned:
        """Fit on all rows and, for the out-of-fold predictions, without each fold."""


@dataclass(frozen=True, eq=False)
class GivenModel:
    """The user's regressor, copied and fitted on each fold and on all rows.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> y = np.array([0.0, 0.0, 3.0])
    >>> folds = [([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])]
    >>> GivenModel(DummyRegressor()).learn(np.zeros((3, 1)), y, None, folds).out_of_fold
    array([1.5, 1.5, 0. ])
    """

    estimator: Any
    sees_mean: bool = False

    @property
    def takes_weight(self) -> bool:
        """Whether its `fit` has a place for weights."""
        return weight_name(self.estimator) is not None

    def learn(self, X: Any, y: Array, weight: Array | None, folds: Folds) -> Learned:
        """As many fits as folds, and one more."""
        held_out = np.empty(y.shape)
        for train, held in folds:
            part = self._fit(X, y, weight, train)
            held_out[held] = np.reshape(
                part.predict(take_rows(X, held)), held_out[held].shape
            )
        return Learned(self._fit(X, y, weight, None), held_out)

    def _fit(self, X: Any, y: Array, weight: Array | None, rows: Any) -> Any:
        if rows is not None:
            X, y = take_rows(X, rows), y[rows]
            weight = None if weight is None else weight[rows]
        named = {} if weight is None else {str(weight_name(self.estimator)): weight}
        return clone(self.estimator).fit(X, y, **named)


def weight_name(model: Any) -> str | None:
    """What `fit` calls the weights of the rows; None where it has no place for them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_name(make_pipeline(Ridge())), weight_name(KNeighborsRegressor())
    ('ridge__sample_weight', None)
    """
    if sklearn.get_config()["enable_metadata_routing"]:
        return _routed(model)
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        found = weight_name(last)
        return found and f"{name}__{found}"
    inner = getattr(model, "estimator", None)
    if hasattr(inner, "fit"):
        # MultiOutputRegressor, GridSearchCV, ...: they hand the weights on.
        return weight_name(inner)
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def predicts_many(model: Any) -> bool:
    """Whether the model says that one fit serves several outputs."""
    try:
        return bool(get_tags(model).target_tags.multi_output)
    except (AttributeError, TypeError):
        return False


def _routed(model: Any) -> str | None:
    asked = get_routing_for_object(model).consumes("fit", ["sample_weight"])
    plain = not hasattr(model, "steps") and not hasattr(model, "estimator")
    direct = plain and has_fit_parameter(model, "sample_weight")
    return "sample_weight" if asked or direct else None
