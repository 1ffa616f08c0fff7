"""Rows of what users have, one at a time, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidParameter
from ..predictions import count_rows, is_frame, is_sparse, require_aligned


def row_of(values: Any, at: int) -> Any:
    """One row: of an array, a DataFrame, a list of anything, or of each in a dict.

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
        return values.iloc[at]
    if is_sparse(values):
        return values.tocsr()[[at]]
    return values[at]


def count(values: Any) -> int:
    """How many rows there are.

    Examples
    --------
    >>> count([{"hour": 3}, {"hour": 4}]), count({"demand": [1.0, 2.0]})
    (2, 2)
    """
    if isinstance(values, Mapping):
        return min((count(each) for each in values.values()), default=0)
    return len(values) if isinstance(values, list | tuple) else count_rows(values)


def require_pairs(owner: str, X: Any, Y: Any) -> int:
    """How many contexts with outcomes there are; as many of both, and one at least."""
    n, m = count(X), count(Y)
    if n != m or n == 0:
        raise InvalidParameter(
            f"{owner}(X, Y) must have as many rows, and one at least, got {n} and {m}."
        )
    for part in Y.values() if isinstance(Y, Mapping) else (Y,):
        require_aligned(part, X, owner, "Y")
    return n
