"""Sets, losses and predictions as plain data for files, and back.

Every one of the library's own classes can be written: it is a frozen dataclass of
numbers, arrays, names and others of its kind. Nothing is pickled, evaluated or imported
by name, and what is read is checked by the constructors, as if typed by hand.

    a dataclass          {"kind": its name, and one entry a field}
    an array, a tuple    a list
    inf, -inf, nan       {"number": "inf"}, ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from inspect import isabstract, isclass
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from .. import losses
from ..checks import Array, as_matrix, as_vector, briefly
from ..errors import InvalidParameter
from ..losses import Loss
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Prediction,
)
from .base import Exports, UncertaintySet

#: Version of the format, raised when a file of an older one could be misread.
VERSION = 1

#: Blocks of numbers as they are read: lists have become tuples.
Blocks = tuple[object, ...] | None

PREDICTIONS = (Prediction, LabelPrediction, JointPrediction)


def set_to_dict(region: Exports) -> dict[str, Any]:
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
    region: UncertaintySet = _read("from_dict", written, UncertaintySet)
    return region


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
    loss: Loss = _read("loss_from_dict", written, Loss)
    return loss


def prediction_to_dict(prediction: AnyPrediction) -> dict[str, Any]:
    """A prediction, of one context or of many, as plain data.

    Examples
    --------
    >>> import numpy as np
    >>> prediction_to_dict(Prediction(np.array([1.0, 2.0])))
    ... # doctest: +NORMALIZE_WHITESPACE
    {'version': 1, 'kind': 'Prediction', 'location': [1.0, 2.0], 'scale': None,
     'factor': None}
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
    prediction: AnyPrediction = _read("prediction_from_dict", written, PREDICTIONS)
    return prediction


def _write(value: object) -> dict[str, Any]:
    return {"version": VERSION, **to_plain(value, _kinds(), type(value).__name__)}


def _read(owner: str, written: object, family: type | tuple[type, ...]) -> Any:
    """What a dict describes, checked to be a set, a loss or a prediction."""
    if not isinstance(written, dict):
        raise InvalidParameter(
            f"{owner}(written=...) must be a dict, got {type(written).__name__}. Read "
            "a file with json.load first."
        )
    require_bounded(owner, written)
    body = dict(written)
    version = body.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise InvalidParameter(
            f"{owner}(written['version']) must be {VERSION}, got "
            f"{briefly(version)}. Read it with the version of sublevel that wrote it."
        )
    kinds = _kinds()
    fitting = sorted(k for k, kind in kinds.items() if issubclass(kind.type, family))
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in fitting:
        raise InvalidParameter(
            f"{owner}(written['kind']) must be one of {fitting}, got {briefly(kind)}."
        )
    return record(body, kinds, "written")


@cache
def _kinds() -> dict[str, Kind]:
    """Everything that can be written: what the packages export, and nothing else."""
    from .. import sets

    exported = [getattr(sets, name) for name in sets.__all__]
    kinds = {
        value.__name__: Kind(value)
        for value in exported
        if isclass(value) and issubclass(value, UncertaintySet)
        if not isabstract(value)
    }
    kinds |= {name: Kind(loss) for name, loss in losses.NAMES.items()}
    kinds |= {"combined": Kind(losses.Combined)}
    return kinds | {
        "Prediction": Kind(Prediction, _numbers),
        "LabelPrediction": Kind(LabelPrediction, _labels),
        "JointPrediction": Kind(JointPrediction, _joint),
    }


def _numbers(location: object, scale: object, factor: object = None) -> Prediction:
    center = _array("Prediction", "location", location)
    spread = None if scale is None else _array("Prediction", "scale", scale)
    return Prediction(center, spread, factor=factor)


def _labels(probabilities: Blocks, margins: Blocks) -> LabelPrediction:
    if not probabilities and not margins:
        raise InvalidParameter(
            "LabelPrediction(probabilities=..., margins=...) must have a block in one "
            "of them, got none."
        )
    return LabelPrediction(
        _blocks("probabilities", probabilities), _blocks("margins", margins)
    )


def _blocks(name: str, blocks: Blocks) -> tuple[Array, ...] | None:
    if blocks is None:
        return None
    return tuple(_array("LabelPrediction", name, block) for block in blocks)


def _joint(parts: tuple[AnyPrediction, ...]) -> JointPrediction:
    strangers = [part for part in parts if not isinstance(part, PREDICTIONS)]
    if not parts or strangers:
        raise InvalidParameter(
            "JointPrediction(parts=...) must be a list of predictions, got "
            f"{strangers or 'none'}."
        )
    return JointPrediction(tuple(parts))


def _array(owner: str, name: str, value: object) -> Array:
    """A finite array of one context, shape (m,), or of many, shape (n, m)."""
    many = isinstance(value, tuple) and bool(value) and isinstance(value[0], tuple)
    return as_matrix(owner, name, value) if many else as_vector(owner, name, value)


#: Sets within sets, and lists within lists, that are read. What is written by hand or
#: by `to_dict` is far from these; a dict that refers to itself, or many times to the
#: same part, is not.
MOST_LEVELS, MOST_RECORDS, MOST_VALUES = 50, 10_000, 20_000_000


def require_bounded(owner: str, written: object) -> None:
    """Refuse what is nested too deeply or has too many values, before it is read.

    Parts that are referred to many times count as often as they would be read.

    Examples
    --------
    >>> require_bounded("from_dict", {"kind": "Box", "lower": [0.0], "upper": [1.0]})
    """
    records, values, waiting = 0, 0, [(written, 0)]
    while waiting:
        part, level = waiting.pop()
        records += isinstance(part, dict) and "kind" in part
        values += len(part) if isinstance(part, list | tuple | dict) else 0
        if level > MOST_LEVELS or records > MOST_RECORDS or values > MOST_VALUES:
            raise InvalidParameter(
                f"{owner}(written=...) must have at most {MOST_LEVELS} levels, "
                f"{MOST_RECORDS} sets and {MOST_VALUES} values, got {level} levels, "
                f"{records} sets and {values} values or more. Take it apart."
            )
        if isinstance(part, dict):
            waiting += [(inner, level + 1) for inner in part.values()]
        elif isinstance(part, list | tuple):
            waiting += [(v, level + 1) for v in part if type(v) is not float]


NUMBERS = {"inf": inf, "-inf": -inf, "nan": nan}

#: Fields that files of version 0.1.0 do not have; then they are as by default.
LATER = frozenset({"factor", "full", "share"})

#: Fields that hold names; everywhere else a string or a boolean is a mistake.
NAMED = frozenset({"classes", "full"})


@dataclass(frozen=True)
class Kind:
    """A class that can be written, and what makes one from its fields.

    Examples
    --------
    >>> from sublevel.losses import Huber
    >>> Kind(Huber).names()
    ['weights', 'knee']
    """

    type: type
    make: Callable[..., Any] | None = None

    def names(self) -> list[str]:
        """The fields, in order."""
        return [field.name for field in fields(self.type) if field.init]

    def build(self, values: dict[str, Any]) -> Any:
        """One value from its fields."""
        return (self.make or self.type)(**values)


def to_plain(value: object, kinds: Mapping[str, Kind], where: str) -> Any:
    """Lists, dicts, numbers, strings and None that say what `value` is.

    Examples
    --------
    >>> to_plain((1.0, np.array([inf, 2.0])), {}, "pair")
    [1.0, [{'number': 'inf'}, 2.0]]
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and np.isfinite(value).all():
            return value.tolist()
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else {"number": str(value)}
    if isinstance(value, list | tuple):
        return [to_plain(v, kinds, f"{where}[{i}]") for i, v in enumerate(value)]
    for name, kind in kinds.items():
        if type(value) is kind.type:
            parts = {part: getattr(value, part) for part in kind.names()}
            return {"kind": name} | {
                part: to_plain(v, kinds, f"{where}.{part}") for part, v in parts.items()
            }
    raise InvalidParameter(
        f"{where} cannot be written: {type(value).__name__} is not one of the "
        "library's own sets, losses and predictions, nor a number, a string or None. "
        "A function (Custom) or a class of your own is code, not data: make it again "
        "where the rest is read."
    )


def from_plain(
    value: object, kinds: Mapping[str, Kind], where: str, named: bool = False
) -> Any:
    """What `to_plain` wrote; lists become tuples.

    Examples
    --------
    >>> from_plain([1.0, [{"number": "inf"}, 2.0]], {}, "pair")
    (1.0, (inf, 2.0))
    """
    if isinstance(value, list | tuple):
        return tuple(
            v if type(v) is float else from_plain(v, kinds, f"{where}[{i}]", named)
            for i, v in enumerate(value)
        )
    if isinstance(value, dict):
        if set(value) == {"number"}:
            return _number(value["number"], where)
        return record(value, kinds, where)
    if isinstance(value, str | bool) and not named:
        raise InvalidParameter(f"{where} must be a number, got {value!r}.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidParameter(
        f"{where} must be a list, a dict, a number, a string or None, got "
        f"{type(value).__name__}."
    )


def record(written: dict[str, Any], kinds: Mapping[str, Kind], where: str) -> Any:
    """The dataclass value that a dict with a "kind" describes.

    Examples
    --------
    >>> from sublevel.losses import Huber
    >>> record({"kind": "h", "weights": None, "knee": 2.0}, {"h": Kind(Huber)}, "loss")
    Huber(weights=None, knee=2.0)
    """
    name = written.get("kind")
    if not isinstance(name, str) or name not in kinds:
        raise InvalidParameter(
            f"{where}['kind'] must be one of {sorted(kinds)}, got {briefly(name)}."
        )
    wanted = kinds[name].names()
    missing = [part for part in wanted if part not in written and part not in LATER]
    extra = [part for part in written if part not in (*wanted, "kind")]
    if missing or extra:
        wrong = f"no {missing[0]!r}" if missing else f"{extra[0]!r}"
        raise InvalidParameter(
            f"{where} must have exactly the fields {wanted} of {name}, got {wrong}."
        )
    values = {
        part: from_plain(written[part], kinds, f"{where}[{part!r}]", part in NAMED)
        for part in wanted
        if part in written
    }
    try:
        return kinds[name].build(values)
    except (
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        LookupError,
    ) as error:
        raise InvalidParameter(f"{where} is not a {name}: {error}") from error


def _number(token: object, where: str) -> float:
    if not isinstance(token, str) or token not in NUMBERS:
        raise InvalidParameter(
            f"{where}['number'] must be one of {sorted(NUMBERS)}, got {briefly(token)}."
        )
    return NUMBERS[token]
