"""What a model is, and what it can do: the one place where models are looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np

from .tables import Column


class Predictor(Protocol):
    """What predicts as scikit-learn's estimators do."""

    def predict(self, X: Any) -> Any: ...


class Several:
    """Models that are asked one by one."""


#: A trained model: an estimator, a torch module, a function of X, or several of them.
Model: TypeAlias = Predictor | Callable[[Any], Any] | Several


def can(model: object, method: str) -> bool:
    """Whether the model has a method; scikit-learn's come and go with settings.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> can(SVC(), "predict_proba"), can(SVC(), "decision_function")
    (False, True)
    """
    return hasattr(model, method)


def predicts(model: object) -> TypeGuard[Predictor]:
    """Whether the model has `predict`."""
    return hasattr(model, "predict")


def is_classifier(model: object) -> bool:
    """Whether the model says that it predicts classes; what says nothing does not.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> is_classifier(LogisticRegression()), is_classifier(lambda X: X)
    (True, False)
    """
    tags = getattr(model, "__sklearn_tags__", None)
    if tags is None:
        return bool(getattr(model, "_estimator_type", None) == "classifier")
    return bool(tags().estimator_type == "classifier")


def is_torch_module(model: object) -> bool:
    """Whether the model is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def is_fitted(model: object) -> bool:
    """Whether the model has been trained, or has nothing to train.

    Anything without `fit` (a function) and any torch module is taken as ready;
    otherwise scikit-learn's convention decides: what was learned has a name that ends
    in an underscore. A Gaussian process that predicts from its prior counts as not
    fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> is_fitted(LinearRegression()), is_fitted(lambda X: X)
    (False, True)
    """
    if not can(model, "fit") or is_torch_module(model):
        return True
    if hasattr(model, "__sklearn_is_fitted__"):
        return bool(model.__sklearn_is_fitted__())
    # An object with slots has no __dict__.
    learned = (name for name in getattr(model, "__dict__", ()) if name[:2] != "__")
    return any(name.endswith("_") for name in learned)


def name_of(model: object) -> str:
    """What to call a model in a message: a function by its name.

    Examples
    --------
    >>> name_of(name_of), name_of(1.5)
    ('name_of', 'float')
    """
    return getattr(model, "__name__", None) or type(model).__name__


def classes_of(model: object) -> list[Column]:
    """The classes a classifier has learned, one array a label; none if it has none.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> classes_of(DecisionTreeClassifier().fit([[0], [1]], ["a", "b"]))[0].tolist()
    ['a', 'b']
    """
    classes = getattr(model, "classes_", None)
    if classes is None:
        return []
    several = isinstance(classes, list | tuple) and all(np.ndim(c) for c in classes)
    return [np.asarray(c) for c in classes] if several else [np.asarray(classes)]


def chosen_by(model: object) -> Any:
    """The estimator a search has chosen; the model itself if it is no search."""
    return getattr(model, "best_estimator_", model)


def last_step(model: Any) -> Any:
    """The estimator at the end of a pipeline; the model itself if it is none."""
    return model[-1] if hasattr(model, "named_steps") else model


def margins_asked_for(model: object) -> object:
    """`decision_function_shape` of the classifier inside searches and pipelines."""
    inner = getattr(model, "best_estimator_", getattr(model, "estimator", model))
    return getattr(last_step(inner), "decision_function_shape", None)
