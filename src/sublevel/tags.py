"""What scikit-learn may expect of a LossSet: what it may expect of the model."""

from __future__ import annotations

from typing import Any

from sklearn.utils import get_tags


def copy_tags(tags: Any, model: Any) -> Any:
    """`tags` with the model's own, where the model is a scikit-learn estimator."""
    if not hasattr(model, "__sklearn_tags__"):
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
