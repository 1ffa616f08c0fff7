"""A whole problem as one cone program whose data are affine in its slots.

    minimise    x' P x / 2 + q' x + offset
    subject to  A x + s = b,  s in a product of cones,

where P, q, offset, A and b are affine functions of a vector of slots: numbers that
change from context to context (location, reach, budget) or from call to call (the
values of ordinary parameters). Only arrays live here, so a program can be sent to a
worker or written to a file; `canonical` reads it from CVXPY once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..deferred import sp
from .sparse_table import (
    RowMap,
    SparseTable,
    Table,
    compared_rows,
    taken_columns,
    taken_rows,
)

Indices = npt.NDArray[np.integer[Any]]
#: Row numbers, a slice or a mask.
Rows = Any


def rows_of(kind: str, size: float) -> int:
    """Rows of a cone of a kind; what its size says depends on the kind.

    Examples
    --------
    >>> rows_of("soc", 4), rows_of("psd", 3), rows_of("power", 0.5)
    (4, 6, 3)
    """
    if kind == "psd":
        return int(size * (size + 1) // 2)
    return 3 if kind == "power" else int(size)


class Uncompilable(Exception):
    """One program cannot serve every context; the message says why."""


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """The program and how its data follow from the slots.

    Attributes
    ----------
    cones : (kind, size) in the order of the rows; for a power cone the size is its
        exponent
    sign : 1.0 to minimise, -1.0 if the objective is to be maximised
    indices, indptr : pattern of A, by column
    P_where : entries of P that can be other than zero, counted down the columns
    P : sparse (entries of P_where, slots + 1)
    q : sparse (nx + 1, slots + 1); the last row is the offset
    A : sparse (entries of the pattern, slots + 1)
    b : sparse (rows, slots + 1)
    slots : name -> slice of the slot vector
    variables : id of a CVXPY variable -> sparse (entries, nx): its entries, column by
        column, as linear functions of x
    movable : names of slots -> what they move, as far as it was looked up
    """

    cones: tuple[tuple[str, float], ...]
    sign: float
    indices: Indices
    indptr: Indices
    P_where: Indices
    P: sp.csr_array
    q: sp.csr_array
    A: sp.csr_array
    b: sp.csr_array
    slots: dict[str, slice]
    variables: dict[int, sp.csr_array]
    movable: dict[tuple[str, ...], Moving] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def width(self) -> int:
        """Number of variables."""
        return len(self.indptr) - 1

    @cached_property
    def height(self) -> int:
        """Number of rows."""
        return int(self.b.shape[0])

    @property
    def size(self) -> int:
        """Length of the slot vector, the constant one at its end included."""
        return int(self.q.shape[1])

    @cached_property
    def columns(self) -> Indices:
        """Column of each entry of A's pattern."""
        return np.repeat(np.arange(self.width), np.diff(self.indptr))

    @cached_property
    def hyperbolic(self) -> tuple[Indices, Indices, Array, Array, int]:
        """Second-order cones (y + t, y - t, ...), in which y and t can trade units.

        Pair of each entry of A and of each row (0 where there is none); its sign, 1 in
        y and -1 in t, 0 where there is no pair; number of pairs.
        """
        pair_entry, pair_row = (
            np.zeros((2, len(self.indices))),
            np.zeros((2, self.height)),
        )
        start, pairs = 0, 0
        by_row = np.argsort(self.indices, kind="stable")
        ends = np.searchsorted(self.indices[by_row], np.arange(self.height + 1))
        columns = self.columns
        for kind, size in self.cones:
            rows = rows_of(kind, size)
            if kind == "soc" and rows > 2:
                first, second = (
                    by_row[ends[r] : ends[r + 1]] for r in (start, start + 1)
                )
                signs = _mirrored(self.A, first, second, columns)
                right = _mirrored_right(self.b, start)
                if signs is not None and right is not None:
                    for k, entries in enumerate((first, second)):
                        pair_entry[0, entries], pair_entry[1, entries] = pairs, signs
                        pair_row[:, start + k] = pairs, right
                    pairs += 1
            start += rows
        return (
            pair_entry[0].astype(int),
            pair_row[0].astype(int),
            pair_entry[1],
            pair_row[1],
            pairs,
        )

    @cached_property
    def quadratic_pattern(self) -> tuple[Indices, Indices, Indices]:
        """Which of P_where are in the upper triangle, and that pattern by column."""
        column, row = np.divmod(self.P_where, self.width)
        upper = np.flatnonzero(row <= column)
        counts = np.bincount(column[upper], minlength=self.width)
        return upper, row[upper], np.concatenate([[0], np.cumsum(counts)])

    def matrix(self, values: Array) -> sp.csc_array:
        """A as a sparse matrix, from the values of its pattern."""
        shape = (self.height, self.width)
        return sp.csc_array((values, self.indices, self.indptr), shape=shape)

    def by_rows(self, values: Array) -> SparseTable:
        """A as a sparse matrix by rows, from the values of its pattern."""
        order, columns, indptr = self._row_pattern
        return SparseTable(values[order], columns, indptr, (self.height, self.width))

    @cached_property
    def _row_pattern(self) -> tuple[Indices, Indices, Indices]:
        """Where the entries of each row are, in the order of columns."""
        order = np.argsort(self.indices, kind="stable")
        counts = np.bincount(self.indices, minlength=self.height)
        return order, self.columns[order], np.concatenate([[0], np.cumsum(counts)])

    def transposed(self, values: Array) -> SparseTable:
        """A' as a sparse matrix, from the values of A's pattern."""
        return SparseTable(values, self.indices, self.indptr, (self.width, self.height))

    def moving(self, names: tuple[str, ...]) -> Moving:
        """What some slots move; the same for all contexts, so looked up only once."""
        if names not in self.movable:
            slots = [self.slots[name] for name in names]
            columns = np.concatenate(
                [np.zeros(0, dtype=int), *(np.arange(s.start, s.stop) for s in slots)]
            )
            upper = taken_rows(self.P, self.quadratic_pattern[0])
            tables = {"P": upper, "q": self.q, "A": self.A, "b": self.b}
            moved = {}
            for name, table in tables.items():
                where, part = taken_columns(table, columns)
                moved[name] = table, where, RowMap(part)
            self.movable[names] = Moving(columns, moved)
        return self.movable[names]


@dataclass(frozen=True)
class Moving:
    """Columns of some slots, and for each block (table, entries moved, their part)."""

    columns: Indices
    blocks: dict[str, tuple[Table, Indices, RowMap]]
    _kept: list[tuple[Array, dict[str, Array]]] = field(
        default_factory=list, repr=False, compare=False
    )

    def bases(self, fixed: Array) -> dict[str, Array]:
        """What the other slots make of each block: the same arrays again, not to be
        written to, as long as these slots stay what they are.
        """
        for before, bases in self._kept:
            if np.array_equal(before, fixed):
                return bases
        bases = {k: np.asarray(table @ fixed) for k, (table, *_) in self.blocks.items()}
        for base in bases.values():
            base.setflags(write=False)
        self._kept[:] = [(fixed, bases)]
        return bases


@dataclass(frozen=True)
class Varying:
    """One block of data over n contexts: mostly constant, some entries vary.

    Attributes
    ----------
    base : array of shape (entries,), the constant part
    where : which entries vary, shape (k,)
    values : what they are, shape (n, k)
    """

    base: Array
    where: Indices
    values: Array

    def row(self, i: int) -> Array:
        """All entries at one context."""
        whole = self.base.copy()
        whole[self.where] = self.values[i]
        return whole

    def rows(self) -> Array:
        """All entries at all contexts, shape (n, entries)."""
        whole = np.empty((len(self.values), len(self.base)))
        whole[:] = self.base
        whole[:, self.where] = self.values
        return whole

    def at(self, rows: Rows) -> Varying:
        """The entries at some of the contexts."""
        return replace(self, values=self.values[rows])


def whole(values: Array) -> Varying:
    """A block of which every entry varies, from values of shape (n, entries)."""
    width = values.shape[1]
    return Varying(np.zeros(width), np.arange(width), np.ascontiguousarray(values))


@dataclass(frozen=True)
class ProgramData:
    """The data of n contexts."""

    program: ConeProgram
    P: Varying
    q: Varying
    A: Varying
    b: Varying

    def __len__(self) -> int:
        return len(self.A.values)

    def at(self, rows: Rows) -> ProgramData:
        """The data of some of the contexts."""
        P, q, A, b = (block.at(rows) for block in (self.P, self.q, self.A, self.b))
        return replace(self, P=P, q=q, A=A, b=b)

    def matrices(self, i: int) -> tuple[sp.csc_array, Array, sp.csc_array, Array]:
        """The upper triangle of P, q, A and b of one context; q without the offset."""
        P, q, A, b = self.columns(i)
        own = (
            sp.csc_array((m.data, m.indices, m.indptr), shape=m.shape) for m in (P, A)
        )
        return next(own), q, next(own), b

    def columns(self, i: int) -> tuple[SparseTable, Array, SparseTable, Array]:
        """The same, each matrix by columns, as a solver takes it."""
        program, rows = self.program, []
        for block in (self.P, self.q, self.A, self.b):
            values = block.base.copy()
            values[block.where] = block.values[i]
            rows.append(values)
        P, q, A, b = rows
        _, row, indptr = program.quadratic_pattern
        width, shape = program.width, (program.height, program.width)
        return (
            SparseTable(P, row, indptr, (width, width)),
            q[:-1],
            SparseTable(A, program.indices, program.indptr, shape),
            b,
        )

    @property
    def offsets(self) -> Array:
        """The constant of the objective at each context, shape (n,)."""
        q = self.q
        if len(q.where) and q.where[-1] == len(q.base) - 1:
            return q.values[:, -1]
        return np.full(len(self), q.base[-1])

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Whether all numbers of a context are finite, shape (n,)."""
        blocks = (self.P, self.q, self.A, self.b)
        fixed = all(np.isfinite(block.base).all() for block in blocks)
        return np.asarray(self.finite_values & fixed)

    @property
    def finite_values(self) -> npt.NDArray[np.bool_]:
        """The same of those that vary."""
        finite = np.ones(len(self.A.values), dtype=bool)
        for block in (self.P, self.q, self.A, self.b):
            if len(block.where):
                finite &= np.isfinite(block.values).all(axis=1)
        return finite


def fill(
    program: ConeProgram, fixed: Array, contexts: Mapping[str, Array], n: int = 1
) -> ProgramData:
    """The data at n contexts.

    Parameters
    ----------
    fixed : array of shape (slots + 1,)
        The slot vector; what it holds in slots that `contexts` names is ignored.
    contexts : slot name -> array of shape (n, size of the slot)
    n : number of contexts, where no slot differs between them
    """
    names = tuple(contexts)
    moving = program.movable.get(names) or program.moving(names)
    slots = list(contexts.values())
    theta = np.hstack(slots) if slots else np.zeros((n, 0))
    n = len(theta)
    fixed = fixed.copy()
    fixed[moving.columns] = 0.0
    blocks = {}
    bases = moving.bases(fixed)
    for name, (_, where, part) in moving.blocks.items():
        base = bases[name]
        # One product for all contexts, in an array of its own: a part may be a view.
        values = part(theta) + base[where] if len(where) else np.zeros((n, 0))
        blocks[name] = Varying(base, where, values)
    return ProgramData(program, **blocks)


def _mirrored(
    A: Table, first: Indices, second: Indices, columns: Indices
) -> Array | None:
    """1 where two rows' entries are alike, -1 where opposite; None if neither."""
    if len(first) != len(second) or (columns[first] != columns[second]).any():
        return None
    return _signs(A, first, second)


def _mirrored_right(b: Table, row: int) -> float | None:
    signs = _signs(b, np.array([row]), np.array([row + 1]))
    return None if signs is None else float(signs[0])


def _signs(table: Table, first: Indices, second: Indices) -> Array | None:
    alike, opposite = compared_rows(table, first, second)
    if not (alike | opposite).all():
        return None
    return np.where(alike & opposite, 0.0, np.where(alike, 1.0, -1.0))
