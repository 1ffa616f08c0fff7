"""The point prediction of any model, in the words of the outcome."""

from typing import Any

import numpy as np

from .adapters import Needs, predict
from .blocks import ModelBlocks
from .classes import outcomes_of
from .fitted import is_torch_module
from .outcomes import Labels


def predict_point(model: Any, X: Any, needs: Needs) -> Any:
    """What `model.predict` says, or would say: numbers, or the likeliest labels.

    Returns
    -------
    array of shape (n,) or (n, columns of Y); of objects where numbers and labels mix.

    Examples
    --------
    >>> predict_point(lambda X: np.full((len(X), 2), [0.3, 0.7]), np.ones(2), "labels")
    array([1, 1])
    """
    own = hasattr(model, "predict") and not is_torch_module(model)
    if own and not isinstance(model, ModelBlocks):
        return model.predict(X)
    said = predict(model, X, needs)
    columns, start = [], 0
    for block in outcomes_of(model, said).blocks:
        part = said.point[:, start : start + block.width]
        start += block.width
        if isinstance(block, Labels):
            part = block.classes[np.argmax(part, axis=1)][:, None]
        columns.append(part)
    kinds = {column.dtype.kind for column in columns}
    wide = [column.astype(object) for column in columns] if len(kinds) > 1 else columns
    found = np.concatenate(wide, axis=1)
    return found[:, 0] if found.shape[1] == 1 else found
