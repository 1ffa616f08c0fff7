"""Units in which the numbers of a linear program are near one.

HiGHS' tolerances are absolute. Powers of two, so that nothing is rounded.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ....conic.program import Indices

#: Passes over rows and columns in search of their units.
SWEEPS = 10


def row_unit(numbers: Array) -> float:
    """The power of two that brings a row's numbers near one.

    Examples
    --------
    >>> row_unit(np.array([0.0, 5.0, 20.0]))
    0.125
    """
    size = np.abs(numbers)
    usable = size[(size > 0) & np.isfinite(size)]
    return float(np.exp2(-np.round(np.mean(np.log2(usable))))) if usable.size else 1.0


def column_units(
    matrix: sp.csr_array, right: Array, bounds: tuple[Array, Array], integer: Indices
) -> Array:
    """What the columns are measured in, right-hand sides near one.

    Integer columns keep their unit.

    Examples
    --------
    >>> rows, free = sp.csr_array([[1e6, 1.0]]), (np.zeros(2), np.full(2, np.inf))
    >>> float(column_units(rows, np.ones(1), free, np.array([1]))[1])
    1.0
    """
    ends = np.minimum(*(np.where(np.isfinite(b), np.abs(b), 0.0) for b in bounds))
    table = sp.coo_array(matrix)
    row, column = table.coords
    use = table.data != 0
    row, column, logs = row[use], column[use], np.log2(np.abs(table.data[use]))
    rows, width = matrix.shape
    some = (right != 0) & np.isfinite(right)
    aim = np.where(some, np.log2(np.where(some, np.abs(right), 1.0)), 0.0)
    bounded = ends > 0
    end = np.where(bounded, np.log2(np.where(bounded, ends, 1.0)), 0.0)
    d = np.zeros(width)
    free = np.ones(width)
    free[integer] = 0.0
    for _ in range(SWEEPS):
        total = np.bincount(row, logs + d[column], rows) + aim
        e = -total / np.maximum(np.bincount(row, minlength=rows) + some, 1)
        total = np.bincount(column, logs + e[row], width) - end
        d = (
            -free
            * total
            / np.maximum(np.bincount(column, minlength=width) + bounded, 1)
        )
    return np.asarray(np.exp2(np.round(d)))


def row_units(matrix: sp.csr_array, right: Array) -> Array:
    """The powers of two that bring the numbers of each row near one, shape (rows,).

    Examples
    --------
    >>> row_units(sp.csr_array([[4.0, 0.0], [1.0, 16.0]]), np.array([0.0, 0.0]))
    array([0.25, 0.25])
    """
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    use = matrix.data != 0
    some = (right != 0) & np.isfinite(right)
    logs = np.bincount(rows[use], np.log2(np.abs(matrix.data[use])), len(right))
    # Counts of nothing are whole numbers, which take no fractions in place.
    logs = logs + np.where(some, np.log2(np.where(some, np.abs(right), 1.0)), 0.0)
    counts = np.bincount(rows[use], minlength=len(right)) + some
    return np.asarray(np.exp2(-np.round(logs / np.maximum(counts, 1))))
