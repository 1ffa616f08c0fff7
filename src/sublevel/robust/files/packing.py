"""Arrays and plain data in, arrays and plain data out: what a file is made of.

`Packer` gives every array a name; `Unpacker` gives them back checked, so that nothing
in a file can be out of range where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import Indices
from ...conic.sparse_table import SparseTable, Table
from ...deferred import sp
from .policy_file import Arrays

#: What JSON holds.
Plain = dict[str, Any]

#: No size that a file speaks of is larger.
MOST = 2**31


def require(holds: bool, what: str) -> None:
    """Raise ValueError unless something read from a file can be true."""
    if not holds:
        raise ValueError(f"{what} out of range")


def whole(number: Any, end: int) -> int:
    """A whole number from 0 to below `end`."""
    require(type(number) is int and 0 <= number < end, "a whole number")
    return int(number)


def as_shape(numbers: Any) -> tuple[int, ...]:
    """The shape of an array that can be."""
    shape = tuple(whole(number, MOST) for number in numbers)
    require(len(shape) <= 32 and prod(shape) < MOST, "a shape")
    return shape


@dataclass
class Packer:
    """Collects arrays under names of its own."""

    arrays: Arrays = field(default_factory=dict)

    def array(self, values: npt.ArrayLike) -> str:
        """Keep an array; its name."""
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.array(values, order="C")
        return name

    def sparse(self, matrix: Table) -> list[Any]:
        """Keep a sparse matrix; its shape and the names of its arrays."""
        table = sp.csr_array(matrix, dtype=float)
        parts = (table.data, table.indices, table.indptr)
        return [list(table.shape), *(self.array(part) for part in parts)]


@dataclass
class Unpacker:
    """Gives arrays back, each checked for what it is to be."""

    arrays: Arrays

    def values(self, name: str) -> np.ndarray[Any, Any]:
        """Numbers that are not nan, whole ones or floats."""
        values = self.arrays[name]
        require(values.dtype in (np.float64, np.int64), "the type of an array")
        require(not np.isnan(values).any(), "a number")
        return values

    def numbers(self, name: str, shape: tuple[int, ...] | None = None) -> Array:
        """Floats that are not nan, of a shape."""
        values = self.values(name)
        require(values.dtype == np.float64, "the type of an array")
        require(shape is None or values.shape == shape, "the shape of an array")
        return values

    def finite(self, name: str, size: int | None = None) -> Array:
        """Finite floats in one dimension, so many if that is known."""
        values = self.numbers(name)
        require(values.ndim == 1 and size in (None, len(values)), "numbers")
        require(bool(np.isfinite(values).all()), "a number")
        return values

    def flags(self, name: str, size: int) -> np.ndarray[Any, Any]:
        """Booleans of shape (size,)."""
        values = self.arrays[name]
        require(values.dtype == bool and values.shape == (size,), "flags")
        require(bool((values.view(np.uint8) <= 1).all()), "flags")
        return values

    def positions(self, name: str, end: int) -> Indices:
        """Whole numbers from 0 to below `end`, in one dimension."""
        values = self.arrays[name]
        require(values.dtype in (np.int32, np.int64), "positions")
        require(values.ndim == 1, "positions")
        require(bool(((values >= 0) & (values < end)).all()), "positions")
        return values.astype(np.int64)

    def pointers(self, name: str, rows: int, last: int) -> Indices:
        """Where the rows of a sparse matrix start, from 0 to `last`."""
        values = self.positions(name, last + 1)
        require(values.shape == (rows + 1,), "pointers")
        require(int(values[0]) == 0 and int(values[-1]) == last, "pointers")
        require(bool((np.diff(values) >= 0).all()), "pointers")
        return values

    def sparse(self, packed: list[Any], rows: int | None, width: int) -> Any:
        """A sparse matrix of a width, and of so many rows if these are known."""
        shape, data, indices, pointers = packed
        height, wide = as_size(shape)
        require(wide == width and rows in (None, height), "the shape of a matrix")
        values = self.finite(data)
        columns = self.positions(indices, width)
        require(len(columns) == len(values), "entries of a matrix")
        starts = self.pointers(pointers, height, len(values))
        return SparseTable(values, columns, starts, (height, width))


def as_size(shape: Any) -> tuple[int, int]:
    """Rows and columns of a sparse matrix."""
    height, width = shape
    return whole(height, MOST), whole(width, MOST)
