"""The prediction of one context, as a set keeps it: checked, copied and read-only."""

from __future__ import annotations

from typing import Any

from ..checks import as_vector
from ..errors import InvalidParameter
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Prediction,
)

OWNER = "Sublevel"


def one_context(loss: Any, prediction: Any) -> AnyPrediction:
    """A prediction with arrays of shape (m,) that has what the loss needs.

    Examples
    --------
    >>> from sublevel.losses import Squared
    >>> one_context(Squared(), [1.0, 2.0]).location
    array([1., 2.])
    """
    if isinstance(loss.needs, tuple):
        found: AnyPrediction = _joint(loss, prediction)
    elif loss.needs == "labels":
        found = _labels(loss, prediction)
    else:
        found = _numbers(loss, prediction)
    loss.check(found)
    return found


def _numbers(loss: Any, prediction: Any) -> Prediction:
    if isinstance(prediction, LabelPrediction | JointPrediction):
        raise _wrong(loss, "a Prediction", prediction)
    if not isinstance(prediction, Prediction):
        prediction = Prediction(prediction)
    location = as_vector(OWNER, "prediction", prediction.location)
    scale = prediction.scale
    if scale is not None:
        scale = as_vector(OWNER, "scale", scale, location.size)
    if loss.needs == "spread" and (scale is None or (scale <= 0).any()):
        raise InvalidParameter(
            f"Sublevel(prediction=...) must have a positive spread for "
            f"{type(loss).__name__}, got {scale}. Say Prediction(location, scale)."
        )
    return Prediction(location, scale)


def _labels(loss: Any, prediction: Any) -> LabelPrediction:
    if not isinstance(prediction, LabelPrediction) or not prediction.values:
        raise _wrong(loss, "a LabelPrediction with a block of classes", prediction)
    return LabelPrediction(
        _blocks("probabilities", prediction.probabilities),
        _blocks("margins", prediction.margins),
    )


def _blocks(name: str, blocks: Any) -> Any:
    if blocks is None:
        return None
    return tuple(as_vector(OWNER, f"{name}[{k}]", b) for k, b in enumerate(blocks))


def _joint(loss: Any, prediction: Any) -> JointPrediction:
    parts = getattr(prediction, "parts", ())
    if len(parts) != len(loss.losses):
        wanted = f"a JointPrediction of {len(loss.losses)} parts, one a loss"
        raise _wrong(loss, wanted, prediction)
    pairs = zip(loss.losses, parts, strict=True)
    return JointPrediction(tuple(one_context(block, part) for block, part in pairs))


def _wrong(loss: Any, wanted: str, prediction: Any) -> InvalidParameter:
    return InvalidParameter(
        f"Sublevel(prediction=...) must be {wanted}, for {type(loss).__name__}, got "
        f"{prediction!r}."
    )
