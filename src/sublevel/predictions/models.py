"""What counts as a model."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidParameter
from .blocks import ModelBlocks
from .fitted import is_fitted

_RULE = (
    "LossSet(model=...) must be an estimator, a torch module, a function, or a "
    "non-empty list of these"
)


def as_model(model: Any) -> Any:
    """A list of models becomes one; any other model is itself.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> as_model([LinearRegression(), LinearRegression()]).parts
    [LinearRegression(), LinearRegression()]
    """
    found = ModelBlocks(list(model)) if isinstance(model, list | tuple) else model
    if isinstance(found, ModelBlocks):
        if not found.parts:
            raise InvalidParameter(f"{_RULE}, got {model!r}.")
        for part in found.parts:
            _require_model(part)
    else:
        _require_model(found)
    return found


def _require_model(model: Any) -> None:
    if isinstance(model, type):
        raise InvalidParameter(
            f"{_RULE}, got the class {model.__name__}. Say {model.__name__}()."
        )
    if not (hasattr(model, "predict") or callable(model)):
        raise InvalidParameter(
            f"{_RULE}, got {model!r}, which cannot predict. Say "
            "LossSet(LinearRegression()), for example."
        )
    if not is_fitted(model) and not hasattr(model, "get_params"):
        name = type(model).__name__
        raise InvalidParameter(
            f"{_RULE}, got {name}, which has fit but no get_params: it cannot be "
            "copied for training, nor asked whether it is trained. Train it, then "
            "pass its predict function: LossSet(model.predict)."
        )
