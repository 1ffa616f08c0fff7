"""Sets, losses and predictions as plain data for files, and back.

Every one of the library's own classes can be written: it is a frozen dataclass of
numbers, arrays, names and others of its kind. Nothing is pickled, evaluated or imported
by name.
"""

from __future__ import annotations

from functools import cache
from inspect import isabstract, isclass
from typing import Any

from .. import losses
from ..checks import Array, as_matrix, as_vector
from ..errors import InvalidParameter
from ..losses import Loss
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Prediction,
)
from .base import UncertaintySet
from .plain import Kind, record, to_plain

#: Version of the format, raised when a file of an older one could be misread.
VERSION = 1

PREDICTIONS = (Prediction, LabelPrediction, JointPrediction)


def set_to_dict(region: Any) -> dict[str, Any]:
    """An uncertainty set as plain data; see `UncertaintySet.to_dict`."""
    return _write(region)


def from_dict(written: dict[str, Any]) -> UncertaintySet:
    """The set that `to_dict` wrote: the same outcomes, the same answers to the bit.

    Parameters
    ----------
    written : dict
        As returned by `to_dict`, or by `json.load` from where it was saved.

    Raises
    ------
    InvalidParameter
        If anything is unknown, missing, left over or not what its constructor takes;
        the message names the field.

    Examples
    --------
    >>> import json
    >>> from sublevel.sets import Ellipsoid, from_dict
    >>> U = Ellipsoid([1.0, 2.0], radius=0.5) | Ellipsoid([4.0, 4.0])
    >>> V = from_dict(json.loads(json.dumps(U.to_dict())))
    >>> V.support([1.0, 3.0]) == U.support([1.0, 3.0])
    True
    """
    found: UncertaintySet = _read("from_dict", written, UncertaintySet)
    return found


def loss_to_dict(loss: Loss) -> dict[str, Any]:
    """A loss with its parameters as plain data.

    Examples
    --------
    >>> from sublevel.losses import Huber
    >>> loss_to_dict(Huber(2.0))
    {'version': 1, 'kind': 'huber', 'weights': None, 'knee': 2.0}
    """
    return _write(loss)


def loss_from_dict(written: dict[str, Any]) -> Loss:
    """The loss that `loss_to_dict` wrote.

    Examples
    --------
    >>> loss_from_dict({"version": 1, "kind": "pinball", "weights": None,
    ...                 "quantile": 0.9})
    Pinball(weights=None, quantile=0.9)
    """
    found: Loss = _read("loss_from_dict", written, Loss)
    return found


def prediction_to_dict(prediction: AnyPrediction) -> dict[str, Any]:
    """A prediction, of one context or of many, as plain data.

    Examples
    --------
    >>> import numpy as np
    >>> prediction_to_dict(Prediction(np.array([1.0, 2.0])))
    {'version': 1, 'kind': 'Prediction', 'location': [1.0, 2.0], 'scale': None}
    """
    return _write(prediction)


def prediction_from_dict(written: dict[str, Any]) -> AnyPrediction:
    """The prediction that `prediction_to_dict` wrote.

    Examples
    --------
    >>> prediction_from_dict({"version": 1, "kind": "Prediction", "scale": None,
    ...                       "location": [[1.0], [2.0]]}).location.shape
    (2, 1)
    """
    found: AnyPrediction = _read("prediction_from_dict", written, PREDICTIONS)
    return found


def _write(value: Any) -> dict[str, Any]:
    return {"version": VERSION, **to_plain(value, _kinds(), type(value).__name__)}


def _read(owner: str, written: Any, family: Any) -> Any:
    """What a dict describes, checked to be a set, a loss or a prediction."""
    if not isinstance(written, dict):
        raise InvalidParameter(
            f"{owner}(written=...) must be a dict, got {type(written).__name__}. Read "
            "a file with json.load first."
        )
    body = dict(written)
    version = body.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise InvalidParameter(
            f"{owner}(written['version']) must be {VERSION}, got {version!r}. Read it "
            "with the version of sublevel that wrote it."
        )
    kinds = _kinds()
    fitting = sorted(k for k, kind in kinds.items() if issubclass(kind.type, family))
    if body.get("kind") not in fitting:
        raise InvalidParameter(
            f"{owner}(written['kind']) must be one of {fitting}, got "
            f"{body.get('kind')!r}."
        )
    return record(body, kinds, "written")


@cache
def _kinds() -> dict[str, Kind]:
    """Everything that can be written: what the packages export, and nothing else."""
    from .. import sets

    exported = [getattr(sets, name) for name in sets.__all__]
    found = {
        value.__name__: Kind(value)
        for value in exported
        if isclass(value) and issubclass(value, UncertaintySet)
        if not isabstract(value)
    }
    found |= {name: Kind(loss) for name, loss in losses.NAMES.items()}
    found |= {"combined": Kind(losses.Combined)}
    return found | {
        "Prediction": Kind(Prediction, _numbers),
        "LabelPrediction": Kind(LabelPrediction, _labels),
        "JointPrediction": Kind(JointPrediction, _joint),
    }


def _numbers(location: Any, scale: Any) -> Prediction:
    found = _array("Prediction", "location", location)
    if scale is None:
        return Prediction(found)
    spread = _array("Prediction", "scale", scale)
    if spread.shape != found.shape:
        raise InvalidParameter(
            f"Prediction(scale=...) must be of shape {found.shape}, like the location, "
            f"got shape {spread.shape}."
        )
    return Prediction(found, spread)


def _labels(probabilities: Any, margins: Any) -> LabelPrediction:
    if not probabilities and not margins:
        raise InvalidParameter(
            "LabelPrediction(probabilities=..., margins=...) must have a block in one "
            "of them, got none."
        )
    return LabelPrediction(
        _blocks("probabilities", probabilities), _blocks("margins", margins)
    )


def _blocks(name: str, blocks: Any) -> tuple[Array, ...] | None:
    if blocks is None:
        return None
    return tuple(_array("LabelPrediction", name, block) for block in blocks)


def _joint(parts: Any) -> JointPrediction:
    strangers = [part for part in parts if not isinstance(part, PREDICTIONS)]
    if not parts or strangers:
        raise InvalidParameter(
            "JointPrediction(parts=...) must be a list of predictions, got "
            f"{strangers or 'none'}."
        )
    return JointPrediction(tuple(parts))


def _array(owner: str, name: str, value: Any) -> Array:
    """A finite array of one context, shape (m,), or of many, shape (n, m)."""
    many = bool(value) and isinstance(value[0], tuple)
    return as_matrix(owner, name, value) if many else as_vector(owner, name, value)
