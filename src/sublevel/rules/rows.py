"""Rows of what users have, one at a time, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import InvalidParameter
from ..predictions import Table, count_rows, is_frame, is_sparse, require_aligned

#: Rows of anything: a table, a list, or several of these by name.
Rows: TypeAlias = "Table | Mapping[Any, Any]"


def row_of(values: Any, at: int) -> Any:
    """One row: of an array, a DataFrame, a list of anything, or of each in a dict.

    A copy: code of the user's that writes to it must not change what it sees at the
    next level.

    Examples
    --------
    >>> row_of([{"hour": 3}, {"hour": 4}], 1)
    {'hour': 4}
    >>> row_of({"demand": [1.0, 2.0], "price": [5.0, 6.0]}, 0)
    {'demand': 1.0, 'price': 5.0}
    """
    if isinstance(values, Mapping):
        return {name: row_of(each, at) for name, each in values.items()}
    if is_frame(values):
        return own(values.iloc[at])
    if is_sparse(values):
        return values.tocsr()[[at]]
    return own(values[at])


def rows_of(values: object, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows, in a table of the same kind.

    Examples
    --------
    >>> rows_of({"demand": [1.0, 2.0, 3.0]}, np.array([0, 2]))
    {'demand': [1.0, 3.0]}
    """
    if isinstance(values, Mapping):
        return {name: rows_of(each, rows) for name, each in values.items()}
    if is_frame(values):
        return values.iloc[rows]
    if is_sparse(values):
        return values.tocsr()[rows]
    if isinstance(values, list | tuple):
        return [values[row] for row in rows.tolist()]
    return np.asarray(values)[rows]


def own(value: object) -> Any:
    """A copy of arrays and tables, and of lists, tuples and dicts with all in them.

    Anything else is passed on as it is.

    Examples
    --------
    >>> day = {"load": [1.0, 2.0]}
    >>> own(day)["load"].append(3.0)
    >>> day
    {'load': [1.0, 2.0]}
    """
    if isinstance(value, np.ndarray) or is_frame(value):
        return value.copy()
    if type(value) is dict:
        return {name: own(each) for name, each in value.items()}
    if type(value) is list or type(value) is tuple:
        return type(value)(map(own, value))
    return value


def count(values: object) -> int:
    """How many rows there are.

    Examples
    --------
    >>> count([{"hour": 3}, {"hour": 4}]), count({"demand": [1.0, 2.0]})
    (2, 2)
    """
    if not isinstance(values, Mapping):
        return len(values) if isinstance(values, list | tuple) else count_rows(values)
    counts = {name: count(each) for name, each in values.items()}
    if len(set(counts.values())) > 1:
        raise InvalidParameter(
            f"X and Y, where they are dicts, must have as many rows under every name, "
            f"got {counts}."
        )
    return next(iter(counts.values()), 0)


def require_pairs(owner: str, X: Rows, Y: Rows) -> int:
    """How many contexts with outcomes there are; as many of both, and one at least."""
    n, m = count(X), count(Y)
    if n != m or n == 0:
        raise InvalidParameter(
            f"{owner}(X, Y) must have as many rows, and one at least, got {n} and {m}."
        )
    first, *others = _parts(X)
    for part in others:
        require_aligned(part, first, owner, "every part of X")
    for part in _parts(Y):
        require_aligned(part, first, owner, "Y")
    return n


def require_outcomes(owner: str, Y: Rows) -> None:
    """Outcomes must be there: nothing is ever seen to exceed anything that is nan."""
    if has_nan(Y):
        raise InvalidParameter(
            f"{owner}(Y) must have no nan: comparisons with it are false, so that "
            "every decision would seem kept there. Find these outcomes; without their "
            "rows the promise speaks only of rows whose outcome is observed."
        )


def has_nan(values: object) -> bool:
    """Whether a number is nan, or one in arrays, tables, lists, tuples or dicts.

    Examples
    --------
    >>> has_nan({"buy": [1.0, float("nan")]}), has_nan(["none", None, 1.0])
    (True, False)
    """
    if isinstance(values, Mapping):
        return any(map(has_nan, values.values()))
    if isinstance(values, list | tuple):
        return any(map(has_nan, values))
    if is_frame(values):
        return bool(values.isna().to_numpy().any())
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        return any(map(has_nan, values.ravel().tolist()))
    numbers = isinstance(values, float | np.floating | np.ndarray)
    return numbers and bool(np.any(values != values))


def _parts(values: object) -> list[Any]:
    return list(values.values()) if isinstance(values, Mapping) else [values]
