"""Columns with few distinct values, for boosted trees on weighted rows.

Histogram trees see a column only through its bins, at most 255. From scikit-learn 1.9
on the bins of weighted rows are weighted quantiles, which take longer than the trees
themselves. A column that has no more values than there are bins needs no quantiles: a
bin ends half-way between two values. So the values are first moved to the nearest of
255 order statistics. Trees fitted to these give every raw value the prediction of the
value it was moved to, so only the rows to fit are moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import Array

BINS = 255
_NUMBERS = "fiu"


def snap(X: Any, bins: int = BINS) -> Any:
    """X with at most `bins` distinct values in each numeric column.

    Parameters
    ----------
    X : DataFrame, or array of shape (n, p)
        Columns that are not numbers stay as they are; so do missing values.
    bins : int

    Examples
    --------
    >>> snap(np.array([[0.0], [0.1], [2.0], [2.2], [5.0]]), bins=3).ravel()
    array([0., 0., 2., 2., 5.])
    """
    if hasattr(X, "isetitem"):
        return _snap_frame(X, bins)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in _NUMBERS:
        return X
    return np.column_stack([snap_column(column, bins) for column in array.T])


def snap_column(values: Array, bins: int = BINS) -> Array:
    """Values moved to the nearest of `bins` order statistics, extremes included."""
    known = np.sort(values[np.isfinite(values)])
    distinct = np.unique(known)
    if len(distinct) <= bins:
        return values
    picked = np.linspace(0, len(known) - 1, bins).round().astype(int)
    grid = np.unique(known[picked])
    ends = grid[:-1] + np.diff(grid) / 2
    moved = grid[np.searchsorted(ends, values)]
    return np.where(np.isfinite(values), moved, values)


def _snap_frame(X: Any, bins: int) -> Any:
    found = X.copy(deep=False)
    for place, kind in enumerate(X.dtypes):
        if isinstance(kind, np.dtype) and kind.kind in _NUMBERS:
            found.isetitem(place, snap_column(X.iloc[:, place].to_numpy(), bins))
    return found
