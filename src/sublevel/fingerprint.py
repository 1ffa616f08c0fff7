"""Marks of rows, to notice that training data is used again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidParameter
from .predictions import split_columns

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

#: Calibration rows count as distinct, and so as recognisable, from this share on.
DISTINCT = 0.9


def mark_rows(X: Any, Y: Any) -> Hashes | None:
    """A hash of every row of X with its outcome, shape (n,).

    None for what has no rows of plain values (sparse matrices, tensors elsewhere).

    Examples
    --------
    >>> X, Y = np.arange(10.0)[:, None], np.arange(10.0)
    >>> bool((mark_rows(X, Y) == mark_rows(X.copy(), Y.tolist())).all())
    True
    """
    if hasattr(X, "tocsr"):
        return None
    from pandas import DataFrame
    from pandas.util import hash_pandas_object

    try:
        columns = [_plain(column) for column in (*_columns(X), *split_columns(Y))]
        frame = DataFrame(dict(enumerate(columns)))
        return np.asarray(hash_pandas_object(frame, index=False), dtype=np.uint64)
    except (TypeError, ValueError, RuntimeError):
        # The check is a courtesy: what cannot be hashed is not checked.
        return None


def refuse_seen(seen: Hashes | None, X: Any, Y: Any) -> None:
    """Raise InvalidParameter if most rows are among those marked as seen.

    Rows that repeat within the sample (few discrete values) may well repeat outside
    it, and prove nothing.
    """
    rows = None if seen is None else mark_rows(X, Y)
    if seen is None or rows is None or not rows.size:
        return
    known = int(np.isin(rows, seen).sum())
    if 2 * known < rows.size or np.unique(rows).size < DISTINCT * rows.size:
        return
    raise InvalidParameter(
        "LossSet.calibrate(X, Y) must use data the model was not trained on, got "
        f"{known} of {rows.size} rows from its training data: the promise would be "
        "void. Hold some rows back, or use guarantee=sl.guarantees.CVPlus()."
    )


def _columns(X: Any) -> list[Any]:
    if hasattr(X, "iloc") and getattr(X, "ndim", 1) == 2:
        return split_columns(X)
    array = np.asarray(X)
    return list(array.reshape(len(array), -1).T)


def _plain(column: Any) -> Any:
    """Numbers as floats: 1 and 1.0 are the same outcome in an array and in a table."""
    array = np.asarray(column)
    return array.astype(float) if array.dtype.kind in "biuf" else array
