"""Which outcomes a model speaks of: how many numbers, which classes."""

from typing import Any

import numpy as np

from ..errors import InvalidParameter
from .blocks import ModelBlocks
from .outcomes import Labels, Numbers, Outcomes
from .prediction import AnyPrediction, JointPrediction, LabelPrediction


def outcomes_of(model: Any, prediction: AnyPrediction) -> Outcomes:
    """The columns of Y that go with a model's prediction.

    Classes come from the model's `classes_`; a model without (a torch module, a
    function) is taken to number its classes 0, 1, 2, ...

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
        known = _known_classes(model) or [np.arange(size) for size in sizes]
        if len(known) == 1:
            known = known * len(sizes)
        if [len(classes) for classes in known] != sizes:
            raise InvalidParameter(
                f"The model predicts {sizes} classes a block, but its classes_ name "
                f"{[len(classes) for classes in known]}."
            )
        return Outcomes(tuple(Labels(classes) for classes in known))
    return Outcomes((Numbers(prediction.width),))


def _known_classes(model: Any) -> list[Any]:
    if isinstance(model, ModelBlocks):
        return [classes for part in model.parts for classes in _known_classes(part)]
    classes = getattr(model, "classes_", None)
    if classes is None:
        return []
    return [np.asarray(c) for c in classes] if isinstance(classes, list) else [classes]
