"""Certain linear constraints as a linear solver takes them: bounds and rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array


class CertainRows(NamedTuple):
    """Bounds of the columns, and rows bottom <= a'x <= top.

    Attributes
    ----------
    lower, upper : arrays of shape (columns,)
    counts : how many entries each row has
    columns, values : the entries, row after row
    bottom, top : arrays of shape (rows,)
    """

    lower: Array
    upper: Array
    counts: Any
    columns: Any
    values: Array
    bottom: Array
    top: Array


def certain_rows(matrix: Any, equal: Any, bounds: tuple[Array, Array]) -> CertainRows:
    """Bounds and rows of a'x + b >= 0, or == 0 where `equal`.

    An inequality of one column becomes a bound, which costs a solver nothing.

    Parameters
    ----------
    matrix : sparse by row, shape (rows, columns + 1); b is the last column
    equal : booleans of shape (rows,)
    bounds : lower and upper bounds of the columns

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> rows = sp.csr_array([[-2.0, 0.0, 3.0], [1.0, 1.0, -1.0]])
    >>> free = np.full(2, -np.inf), np.full(2, np.inf)
    >>> found = certain_rows(rows, np.array([False, True]), free)
    >>> found.upper, found.counts, found.bottom, found.top
    (array([1.5, inf]), array([2], dtype=int32), array([1.]), array([1.]))
    """
    matrix.eliminate_zeros()
    inner, offset = matrix[:, :-1], matrix[:, [-1]].toarray()[:, 0]
    lone = (np.diff(inner.indptr) == 1) & ~equal
    lower, upper = _tightened(bounds, inner[lone], offset[lone])
    rest, bottom = inner[~lone], -offset[~lone]
    top = np.where(equal[~lone], bottom, np.inf)
    counts = np.diff(rest.indptr)
    return CertainRows(lower, upper, counts, rest.indices, rest.data, bottom, top)


def _tightened(
    bounds: tuple[Array, Array], rows: Any, offset: Array
) -> tuple[Array, Array]:
    """Bounds after rows slope * x[column] + offset >= 0."""
    lower, upper = bounds[0].copy(), bounds[1].copy()
    ends, up = -offset / rows.data, rows.data > 0
    np.maximum.at(lower, rows.indices[up], ends[up])
    np.minimum.at(upper, rows.indices[~up], ends[~up])
    return lower, upper
