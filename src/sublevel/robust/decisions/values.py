"""Values of what has a name: looked up, as columns of a table, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import Array, briefly, is_number
from ...errors import InvalidParameter
from ..judge.tape import shaped
from .named import ModelLeaf, Named

if TYPE_CHECKING:
    import cvxpy as cp


def split(flat: Array, names: Sequence[Named]) -> dict[Named, Array]:
    """Columns of an array, given to names one after another."""
    parts, start = {}, 0
    for name in names:
        parts[name] = shaped(flat[:, start : start + name.size], name.shape)
        start += name.size
    return parts


def columns_of(name: Named, values: Array) -> Iterator[tuple[str, Array]]:
    """Head and values of each entry, column by column."""
    axes = (0, *range(values.ndim - 1, 0, -1))
    flat = values.transpose(axes).reshape(len(values), name.size)
    return zip(name.heads(), flat.T, strict=True)


def by_name(parts: Mapping[Named, Array]) -> dict[str, Any]:
    """Values as lists, under names of their own."""
    named: dict[str, Any] = {}
    for name, values in parts.items():
        named[unused(name.name, named)] = plain(values)
    return named


def plain(value: object) -> Any:
    """What strict JSON can hold, with None for what is no finite number."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if is_number(value):
        number = float(value)
        whole = isinstance(value, int | np.integer)
        return int(value) if whole else number if np.isfinite(number) else None
    return str(value)


def unused(head: str, table: dict[str, Any]) -> str:
    """Variables of the same name are still different ones."""
    count, free = 1, head
    while free in table:
        count += 1
        free = f"{head} ({count})"
    return free


def look_up(
    table: Mapping[Named, Array],
    wanted: str | cp.Variable | cp.Parameter,
    what: str,
    owner: str,
) -> Array:
    """The values of the only name that is meant, or one sentence what is wrong.

    Parameters
    ----------
    table : values by name
    wanted : a name, or CVXPY's object
    what : what it is, in words: "variable" or "uncertain parameter"
    owner : who was asked: "decision" or "decisions"
    """
    if not isinstance(wanted, str) and not isinstance(wanted, ModelLeaf):
        raise InvalidParameter(
            f"The {owner} must be asked for a {what} by its name or object, got "
            f"{briefly(wanted)}."
        )
    matches = [values for name, values in table.items() if name.means(wanted)]
    if len(matches) == 1:
        return matches[0]
    called = wanted if isinstance(wanted, str) else wanted.name()
    if matches:
        raise InvalidParameter(
            f"The model has {len(matches)} of {what} {called!r}: ask for it by the "
            "object, not by its name, or give each its own name."
        )
    if owner == "decision":
        raise InvalidParameter(
            f"The decision has no value for the {what} {called!r}: it is not in the "
            "model, or there was no decision (look at .status)."
        )
    every = ", ".join(name.name for name in table) or "none"
    raise InvalidParameter(
        f"The decisions have no {what} {called!r}. The model has: {every}."
    )
