"""Rows of whatever a model takes: arrays, sparse matrices, DataFrames, lists."""

from typing import Any

import numpy as np

from ..errors import InvalidParameter


def take_rows(values: Any, rows: Any) -> Any:
    """The chosen rows; a DataFrame stays one, a sparse matrix stays one.

    Examples
    --------
    >>> take_rows([[1, 2], [3, 4]], [1])
    array([[3, 4]])
    """
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "tocsr"):
        return values.tocsr()[rows]
    return np.asarray(values)[rows]


def count_rows(values: Any) -> int:
    """How many rows there are.

    Examples
    --------
    >>> count_rows([[1, 2], [3, 4]])
    2
    """
    shape = values.shape if hasattr(values, "shape") else np.asarray(values).shape
    if not shape:
        raise InvalidParameter(f"X must have rows, got {values!r}.")
    return int(shape[0])
