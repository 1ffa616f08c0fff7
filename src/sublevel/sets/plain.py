"""Frozen dataclasses as plain data, and back: what strict JSON can hold.

    a dataclass          {"kind": its name, and one entry a field}
    an array, a tuple    a list
    inf, -inf, nan       {"number": "inf"}, ...

Only classes of a table given by the caller are written or made: a file cannot name any
other code. What is read is checked by the constructors, as if typed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from ..errors import InvalidParameter

NUMBERS = {"inf": inf, "-inf": -inf, "nan": nan}

#: Fields that hold names; everywhere else a string or a boolean is a mistake.
NAMED = frozenset({"classes"})


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


def to_plain(value: Any, kinds: Mapping[str, Kind], where: str) -> Any:
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
    value: Any, kinds: Mapping[str, Kind], where: str, named: bool = False
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
            f"{where}['kind'] must be one of {sorted(kinds)}, got {name!r}."
        )
    wanted = kinds[name].names()
    missing = [part for part in wanted if part not in written]
    extra = [part for part in written if part not in (*wanted, "kind")]
    if missing or extra:
        wrong = f"no {missing[0]!r}" if missing else f"{extra[0]!r}"
        raise InvalidParameter(
            f"{where} must have exactly the fields {wanted} of {name}, got {wrong}."
        )
    values = {
        part: from_plain(written[part], kinds, f"{where}[{part!r}]", part in NAMED)
        for part in wanted
    }
    try:
        return kinds[name].build(values)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InvalidParameter(f"{where} is not a {name}: {error}") from error


def _number(token: Any, where: str) -> float:
    if not isinstance(token, str) or token not in NUMBERS:
        raise InvalidParameter(
            f"{where}['number'] must be one of {sorted(NUMBERS)}, got {token!r}."
        )
    return NUMBERS[token]
