"""Arrays and plain data in, arrays and plain data out: what a file is made of.

`Packer` gives every array a name; `Unpacker` gives them back checked, so that nothing
in a file can be out of range where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...checks import Array
from ...conic.program import Indices
from .policy_file import Arrays


def require(holds: bool, what: str) -> None:
    """Raise ValueError unless something read from a file can be true."""
    if not holds:
        raise ValueError(f"{what} out of range")


@dataclass
class Packer:
    """Collects arrays under names of its own."""

    arrays: Arrays = field(default_factory=dict)

    def array(self, values: Any) -> str:
        """Keep an array; its name."""
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.array(values, order="C")
        return name

    def sparse(self, matrix: Any) -> list[Any]:
        """Keep a sparse matrix; its shape and the names of its arrays."""
        table = sp.csr_array(matrix)
        parts = (table.data, table.indices, table.indptr)
        return [list(table.shape), *(self.array(part) for part in parts)]


@dataclass
class Unpacker:
    """Gives arrays back, each checked for what it is to be."""

    arrays: Arrays

    def numbers(self, name: str, shape: tuple[int, ...] | None = None) -> Array:
        """Floats that are not nan, of a shape."""
        values = self.arrays[name]
        require(values.dtype == np.float64 and not np.isnan(values).any(), "a number")
        require(shape is None or values.shape == shape, "the shape of an array")
        return values

    def flags(self, name: str, size: int) -> np.ndarray[Any, Any]:
        """Booleans of shape (size,)."""
        values = self.arrays[name]
        require(values.dtype == bool and values.shape == (size,), "flags")
        return values

    def positions(self, name: str, end: int) -> Indices:
        """Whole numbers from 0 to below `end`, in one dimension."""
        values = self.arrays[name]
        require(values.dtype.kind in "iu" and values.ndim == 1, "positions")
        whole = values.astype(np.int64)
        require(bool(((whole >= 0) & (whole < end)).all()), "positions")
        return whole

    def pointers(self, name: str, rows: int, last: int) -> Indices:
        """Where the rows of a sparse matrix start, from 0 to `last`."""
        values = self.arrays[name]
        require(values.dtype.kind in "iu" and values.shape == (rows + 1,), "pointers")
        whole = values.astype(np.int64)
        require(int(whole[0]) == 0 and int(whole[-1]) == last, "pointers")
        require(bool((np.diff(whole) >= 0).all()), "pointers")
        return whole

    def sparse(self, packed: list[Any], rows: int | None, width: int) -> sp.csr_array:
        """A sparse matrix of a width, and of so many rows if these are known."""
        (height, wide), data, indices, pointers = packed
        require(isinstance(height, int) and 0 <= height <= 2**31, "rows of a matrix")
        require(wide == width and rows in (None, height), "the shape of a matrix")
        values = self.numbers(data)
        require(values.ndim == 1 and np.isfinite(values).all(), "a number")
        columns = self.positions(indices, width)
        require(len(columns) == len(values), "entries of a matrix")
        starts = self.pointers(pointers, height, len(values))
        return sp.csr_array((values, columns, starts), shape=(height, width))
