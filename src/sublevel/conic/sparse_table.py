"""A sparse matrix by rows, which NumPy multiplies.

Loading scipy.sparse takes longer than loading all else that a saved policy needs. So
what is read from a file is kept in these, and small products are NumPy's. Large ones,
and whatever else is asked of a matrix, are scipy's. Terms are added in the same order
by both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..checks import Array, has_csr
from ..deferred import sp

if TYPE_CHECKING:
    from .program import Indices

#: Numbers multiplied up to which a product is NumPy's.
SMALL = 10_000


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse matrix by rows; also what a solver takes for one by columns.

    Attributes
    ----------
    data, indices, indptr : as those of a scipy.sparse.csr_array
    shape : rows and columns

    Examples
    --------
    >>> entries = np.array([2.0, 3.0]), np.array([1, 0])
    >>> table = SparseTable(*entries, np.array([0, 1, 1, 2]), (3, 2))
    >>> table @ np.array([1.0, 10.0])
    array([20.,  0.,  3.])
    """

    data: Array
    indices: Indices
    indptr: Indices
    shape: tuple[int, int]

    #: Clarabel asks whether a matrix is in order.
    has_canonical_format = True

    @property
    def csr(self) -> sp.csr_array:
        """The same as a matrix of scipy's."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    @cached_property
    def rows(self) -> Indices:
        """Row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def __matmul__(self, other: Array) -> Array:
        """The product with a vector, shape (columns,), or a matrix, (columns, n)."""
        terms = self.data.size * (1 if other.ndim == 1 else other.shape[1])
        if terms > SMALL:
            return np.asarray(self.csr @ other)
        if other.ndim == 1:
            products = self.data * other[self.indices]
            total = np.bincount(self.rows, products, minlength=self.shape[0])
            return total.astype(float)
        totals = np.zeros((self.shape[0], other.shape[1]))
        np.add.at(totals, self.rows, self.data[:, None] * other[self.indices])
        return totals

    def __abs__(self) -> SparseTable:
        return SparseTable(np.abs(self.data), self.indices, self.indptr, self.shape)

    def __getitem__(self, key: Any) -> sp.csr_array:
        return self.csr[key]


class RowMap:
    """Products with a sparse matrix, one for each row of many.

    Where every row of the matrix has a single entry, as those of variables that are
    columns of a program, that is picking entries, in one pass or in none.

    Parameters
    ----------
    table : sparse matrix by rows
    columns : what its columns are among those of the rows that are given; by default
        they are in order

    Examples
    --------
    >>> entries = np.array([2.0, 3.0]), np.array([1, 0])
    >>> pick = RowMap(SparseTable(*entries, np.array([0, 1, 2]), (2, 2)))
    >>> pick(np.array([[1.0, 10.0], [5.0, 50.0]]))
    array([[ 20.,   3.],
           [100.,  15.]])
    """

    def __init__(self, table: Table, columns: Indices | None = None) -> None:
        self._table, self._columns = table, columns
        self.is_picking = (
            bool((np.diff(table.indptr) == 1).all()) and table.shape[0] > 0
        )
        self._picked: slice | Indices = slice(0)
        self._by: float | Array = 1.0
        if self.is_picking:
            at = np.asarray(
                table.indices if columns is None else columns[table.indices]
            )
            in_order = (np.diff(at) == 1).all()
            self._picked = slice(int(at[0]), int(at[-1]) + 1) if in_order else at
            by = np.asarray(table.data)
            self._by = float(by[0]) if (by == by[0]).all() else by

    def __call__(self, rows: Array) -> Array:
        """Shape (n, rows of the matrix), from shape (n, columns); perhaps a view."""
        if not self.is_picking:
            some = rows if self._columns is None else rows[:, self._columns]
            return np.ascontiguousarray((self._table @ some.T).T)
        picked = rows[:, self._picked]
        if isinstance(self._by, float) and self._by == 1.0:
            return picked
        return np.asarray(picked * self._by)


#: Either kind.
Table = Any


def is_table(value: object) -> bool:
    """Whether a value is a sparse matrix, of either kind.

    Examples
    --------
    >>> import scipy.sparse
    >>> is_table(scipy.sparse.eye_array(2)), is_table(np.eye(2))
    (True, False)
    """
    return isinstance(value, SparseTable) or (
        not isinstance(value, np.ndarray) and has_csr(value)
    )


def taken_columns(table: Table, columns: Indices) -> tuple[Indices, SparseTable]:
    """Rows that have entries in some columns, and these entries.

    Parameters
    ----------
    table : sparse matrix by rows
    columns : numbers of columns, in the order they are to have

    Examples
    --------
    >>> entries = np.array([2.0, 3.0]), np.array([1, 0])
    >>> table = SparseTable(*entries, np.array([0, 1, 1, 2]), (3, 2))
    >>> where, part = taken_columns(table, np.array([0]))
    >>> where, part.data, part.shape
    (array([2]), array([3.]), (1, 1))
    """
    place = np.full(table.shape[1], -1)
    place[columns] = np.arange(len(columns))
    column = place[table.indices]
    kept = np.flatnonzero(column >= 0)
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))[kept]
    counts = np.bincount(row, minlength=table.shape[0])
    where = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[where])])
    shape = (len(where), len(columns))
    return where, SparseTable(table.data[kept], column[kept], starts, shape)


def taken_rows(table: Table, rows: Indices) -> SparseTable:
    """Some rows of a sparse matrix, in the order given.

    Examples
    --------
    >>> taken_rows(sp.csr_array(np.diag([1.0, 2.0, 3.0])), np.array([2, 0])).data
    array([3., 1.])
    """
    starts = np.asarray(table.indptr)
    counts = np.diff(starts)[rows]
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    entries = np.repeat(starts[:-1][rows], counts) + within
    shape = (len(rows), table.shape[1])
    pointers = np.concatenate([[0], ends])
    return SparseTable(table.data[entries], table.indices[entries], pointers, shape)


def compared_rows(
    table: Table, first: Indices, second: Indices
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether pairs of rows are alike, and whether they are opposite: (k,) each.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    >>> pairs = np.array([0, 0, 0]), np.array([1, 2, 3])
    >>> compared_rows(sp.csr_array(rows), *pairs)
    (array([ True, False, False]), array([False,  True, False]))
    """
    width, parts = table.shape[1], []
    for rows in (first, second):
        some = taken_rows(table, rows)
        parts.append((some.rows * width + some.indices, some.data))
    keys, number = np.unique(np.concatenate([k for k, _ in parts]), return_inverse=True)
    split = len(parts[0][0])
    one = np.bincount(number[:split], parts[0][1], minlength=len(keys))
    other = np.bincount(number[split:], parts[1][1], minlength=len(keys))
    pair = keys // width
    unlike, unopposed = (
        np.bincount(pair[one != sign * other], minlength=len(first))
        for sign in (1.0, -1.0)
    )
    return unlike == 0, unopposed == 0
