"""Marks of rows, to notice that training data is used again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..caller import warn_caller
from ..errors import InvalidParameter, RowsSeenBefore
from ..predictions import Column, Table, is_frame, is_sparse, split_columns

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

#: Calibration rows count as distinct, and so as recognisable, from this share on.
DISTINCT = 0.9

#: 2^64 over the golden ratio: multiplying by it spreads bits well.
_ODD = np.uint64(0x9E3779B97F4A7C15)


def mark_rows(X: Table | None, Y: Table) -> Hashes | None:
    """A hash of every row of X with its outcome, shape (n,).

    None for what has no rows of plain values (sparse matrices, tensors elsewhere).

    Examples
    --------
    >>> X, Y = np.arange(10.0)[:, None], np.arange(10.0)
    >>> bool((mark_rows(X, Y) == mark_rows(X.copy(), Y.tolist())).all())
    True
    """
    if type(X) is not np.ndarray and is_sparse(X):
        return None
    try:
        if type(X) is not np.ndarray and is_frame(X) and X.ndim == 2:
            columns = split_columns(X)
        else:
            array = np.asarray(X)
            columns = list(array.reshape(len(array), -1).T)
        if type(Y) is np.ndarray and Y.ndim == 2:
            columns += list(Y.T)
        else:
            columns += split_columns(Y)
        marks = np.zeros(len(columns[0]), dtype=np.uint64)
        for column in columns:
            marks ^= _bits(column)
            marks *= _ODD
            # A product carries upwards only; this lets high bits move low ones.
            marks ^= marks >> np.uint64(32)
        return marks
    except (TypeError, ValueError, RuntimeError):
        # The check is a courtesy: what cannot be hashed is not checked.
        return None


def refuse_seen(
    seen: Hashes | None, X: Table | None, Y: Table, owner: str = "LossSet.calibrate"
) -> None:
    """Raise InvalidParameter if most rows are among those marked as seen; else warn.

    Rows that repeat within the sample (few discrete values) may well repeat outside
    it, and prove nothing.
    """
    counted = count_seen(seen, X, Y)
    if counted is None or not counted[0]:
        return
    again, total = counted
    if 2 * again < total:
        warn_caller(
            f"{owner}(X, Y) has {again} of {total} rows from the training data. "
            "The model knows their outcomes, so too much is promised. Leave "
            "them out.",
            RowsSeenBefore,
        )
        return
    raise InvalidParameter(
        f"{owner}(X, Y) must use data the model was not trained on, got {again} of "
        f"{total} rows from its training data: the promise would be void. Hold "
        "some rows back, or use LossSet.calibrate(guarantee=sl.guarantees.CVPlus())."
    )


def count_seen(
    seen: Hashes | None, X: Table | None, Y: Table
) -> tuple[int, int] | None:
    """How many rows are among those marked as seen, of how many.

    None where there are no marks, or where it proves nothing as rows repeat.
    """
    rows = None if seen is None else mark_rows(X, Y)
    if seen is None or rows is None or not rows.size:
        return None
    twice = rows.size - np.unique(rows).size
    if twice > (1 - DISTINCT) * rows.size:
        return None
    again = int(np.isin(rows, seen).sum())
    # As many as repeat within the sample may well repeat by chance.
    return (again if again > 2 * twice else 0), int(rows.size)


def _bits(column: Column) -> Hashes:
    """64 bits for each value: those of the float for a number, a hash for a word."""
    array = np.asarray(column)
    if array.dtype.kind in "biuf":
        # As floats 1 and 1.0 are the same; adding zero turns -0.0 into 0.0.
        return (array.astype(np.float64) + 0.0).view(np.uint64)
    from pandas.util import hash_array

    return np.asarray(hash_array(array.astype(object)), dtype=np.uint64)
