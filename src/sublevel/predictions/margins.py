"""Margins of classifiers without probabilities: one a class, larger is likelier."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .rows import count_rows, take_rows

#: Rows on which margins are compared with the labels predicted.
FEWEST_COMPARED, MOST_COMPARED = 10, 100


def class_margins(model: Any, X: Any) -> Array:
    """The model's decision values, shape (n, number of classes).

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> class_margins(LinearSVC().fit(X, y), X).shape
    (4, 2)
    """
    margin = np.asarray(model.decision_function(X), dtype=float)
    if margin.ndim == 1:
        # Two classes: the pair (-f/2, f/2) has difference f, the usual margin.
        return np.stack([-margin / 2, margin / 2], axis=1)
    classes = getattr(model, "classes_", None)
    if classes is not None and _is_pairwise(model, X, margin, np.asarray(classes)):
        raise InvalidParameter(
            f"{type(model).__name__}.decision_function(X) must give one margin a "
            f"class, got {margin.shape[1]} margins of pairs for {len(classes)} "
            "classes. Say decision_function_shape='ovr'."
        )
    return margin


def _is_pairwise(model: Any, X: Any, margin: Array, classes: Any) -> bool:
    """Whether the margins compare pairs of classes, as one-versus-one does."""
    if margin.shape[1] != len(classes):
        return True
    if len(classes) != 3:
        return False
    # Three classes make three pairs: the shapes agree and only the meaning differs.
    if _shape_asked_for(model) == "ovo":
        return True
    n = min(count_rows(X), MOST_COMPARED)
    if n < FEWEST_COMPARED:
        return False
    predicted = np.asarray(model.predict(take_rows(X, np.arange(n))))
    top = classes[np.argmax(margin[:n], axis=1)]
    # Votes of pairs can tie, so a few rows may differ for honest margins too.
    return bool(np.mean(top == predicted) < 0.5)


def _shape_asked_for(model: Any) -> Any:
    """`decision_function_shape` of the classifier inside searches and pipelines."""
    inner = getattr(model, "best_estimator_", getattr(model, "estimator", model))
    last = inner[-1] if hasattr(inner, "named_steps") else inner
    return getattr(last, "decision_function_shape", None)
