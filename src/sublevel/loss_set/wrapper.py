"""What scikit-learn may expect of a LossSet: what it may expect of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from ..predictions import Table, can

#: What a fitted model tells about its data, and so does whoever wraps it.
ABOUT_DATA = ("n_features_in_", "feature_names_in_", "classes_")


def _model_can(method: str) -> Callable[[ModelWrapper], bool]:
    return lambda wrapper: can(vars(wrapper).get("model_", wrapper.model), method)


class ModelWrapper(BaseEstimator):  # type: ignore[misc]
    """An estimator around a model, which keeps the model's own methods and tags."""

    model: object

    @available_if(_model_can("predict_proba"))
    def predict_proba(self, X: Table) -> Any:
        """The classifier's probabilities."""
        return self._scorer().model.predict_proba(X)

    @available_if(_model_can("decision_function"))
    def decision_function(self, X: Table) -> Any:
        """The classifier's margins."""
        return self._scorer().model.decision_function(X)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        return copy_tags(super().__sklearn_tags__(), self.model)

    def _scorer(self) -> Any:
        """What holds the model that predicts."""
        raise NotImplementedError


def copy_description(wrapper: BaseEstimator, model: object) -> None:
    """Give the wrapper what the model tells about its data, and nothing staler."""
    for name in ABOUT_DATA:
        wrapper.__dict__.pop(name, None)
        if can(model, name):
            setattr(wrapper, name, getattr(model, name))


def copy_tags(tags: Tags, model: object) -> Tags:
    """`tags` with the model's own, where the model is a scikit-learn estimator."""
    if isinstance(model, type) or not can(model, "__sklearn_tags__"):
        return tags
    inner = get_tags(model)
    tags.estimator_type = inner.estimator_type
    tags.classifier_tags = inner.classifier_tags
    tags.regressor_tags = inner.regressor_tags
    tags.target_tags = inner.target_tags
    tags.input_tags = inner.input_tags
    # `score` is minus a width, not an accuracy: below the thresholds of the checks.
    for part in (tags.regressor_tags, tags.classifier_tags):
        if part is not None:
            part.poor_score = True
    return tags
