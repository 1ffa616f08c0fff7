"""Which outcomes a model speaks of: how many numbers, which classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidParameter
from .blocks import ModelBlocks, SharedModel
from .outcomes import Labels, Numbers, Outcomes
from .prediction import AnyPrediction, JointPrediction, LabelPrediction


def outcomes_of(model: Any, prediction: AnyPrediction) -> Outcomes:
    """The columns of Y that go with a model's prediction.

    Classes come from the model's `classes_`; a model without (a torch module, a
    function) is taken to number its classes 0, 1, 2, ... Of several models, each has
    its own.

    Examples
    --------
    >>> from .prediction import Prediction
    >>> outcomes_of(lambda X: X, Prediction(np.zeros((2, 3)))).blocks
    (Numbers(width=3),)
    """
    if isinstance(prediction, JointPrediction):
        pairs = zip(model.parts, prediction.parts, strict=True)
        found = [outcomes_of(part, said).blocks for part, said in pairs]
        return Outcomes(tuple(block for blocks in found for block in blocks))
    if isinstance(prediction, LabelPrediction):
        sizes = [block.shape[-1] for block in prediction.values]
        return Outcomes(tuple(map(Labels, _classes(model, sizes))))
    return Outcomes((Numbers(prediction.width),))


def _classes(model: Any, sizes: list[int]) -> list[Any]:
    """The classes of each block, given how many there are of them."""
    if isinstance(model, ModelBlocks):
        ends = np.cumsum(_block_counts(model, len(sizes)))
        pieces = np.split(np.array(sizes), ends[:-1])
        pairs = zip(model.parts, pieces, strict=True)
        return [c for part, piece in pairs for c in _classes(part, piece.tolist())]
    known = _known_classes(model) or [np.arange(size) for size in sizes]
    if isinstance(model, SharedModel) and len(known) == 1:
        # Fitted elsewhere, it has not been told how many components there are.
        known = known * len(sizes)
    if [len(classes) for classes in known] != sizes:
        raise InvalidParameter(
            f"{type(model).__name__} must predict as many classes as its classes_ "
            f"name, got {sizes} predicted and {[len(c) for c in known]} named, block "
            "by block."
        )
    return known


def _block_counts(model: ModelBlocks, total: int) -> list[int]:
    """How many of the label blocks each part predicts."""
    counts = _counts(model)
    unsure = [k for k, count in enumerate(counts) if count is None]
    left = total - sum(count for count in counts if count is not None)
    if len(unsure) == 1 or left == len(unsure):
        share = left if len(unsure) == 1 else 1
        counts = [share if count is None else count for count in counts]
    found = [count for count in counts if count is not None]
    if len(found) < len(counts) or sum(found) != total or min(found) < 1:
        raise InvalidParameter(
            f"ModelBlocks(widths=...) must say how many of the {total} labels each of "
            f"the {len(model.parts)} models predicts, got {model.widths}."
        )
    return found


def _counts(model: ModelBlocks) -> list[int | None]:
    return list(model.widths or map(_count, model.parts))


def _count(model: Any) -> int | None:
    """How many labels the model predicts, where it says so."""
    if isinstance(model, SharedModel):
        return getattr(model, "n_components_", None)
    if isinstance(model, ModelBlocks):
        counts = [count for count in _counts(model) if count is not None]
        return sum(counts) if len(counts) == len(model.parts) else None
    return len(_known_classes(model)) or None


def _known_classes(model: Any) -> list[Any]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return []
    several = isinstance(classes, list | tuple) and all(np.ndim(c) for c in classes)
    return [np.asarray(c) for c in classes] if several else [np.asarray(classes)]
