"""One cone program written out many times over, with some columns in common.

A program about one scenario, its numbers y and its weight w, becomes that of K of them:
columns in common (the decision) stay one, every other column that meets a scenario, and
every row that does, is there K times. The objective adds up what scenarios cost by
their weights; so does a row whose coefficients are weights.

CVXPY reads the one scenario; the others are numbers of rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..checks import Array
from .canonical import condensed
from .program import ConeProgram, Indices, Uncompilable, rows_of

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Slots:
    """Where the slots of one scenario go, once there are many.

    Attributes
    ----------
    place : for each slot of the one, the constant included, its number among those of
        the many, at the first scenario
    stride : how many slots further it is at the next scenario; 0 if all share it
    weight : which slot is the weight
    names : name -> slice, of the many
    """

    place: Indices
    stride: Indices
    weight: int
    names: dict[str, slice]

    @property
    def size(self) -> int:
        """Length of the slot vector of the many, the constant at its end included."""
        return int(self.place[-1]) + 1


@dataclass(frozen=True, eq=False)
class _Numbering:
    """Where rows, or columns, are at the first scenario, and how much further each
    time.
    """

    place: Indices
    stride: Indices
    size: int


def copies(
    program: ConeProgram, count: int, shared: Indices, slots: Slots
) -> ConeProgram:
    """The program of `count` scenarios, from that of one.

    Parameters
    ----------
    shared : columns that all scenarios have in common
    slots : where each slot of the program goes
    """
    moved = _Moved(program, shared, slots)
    columns = _columns(moved.columns, count)
    rows, cones = _rows(program, moved, count)
    tables = _Tables(slots, count)
    entry, slot, value = _coordinates(program.A)
    row, column = program.indices[entry], program.columns[entry]
    many = moved.rows[row] | (moved.adding[row] & moved.columns[column])
    where = rows.place[row] + columns.place[column] * rows.size
    stride = rows.stride[row] + columns.stride[column] * rows.size
    position, table = condensed(
        tables.spread(many, where, stride, slot, value, rows.size * columns.size)
    )
    counts = np.bincount(position // rows.size, minlength=columns.size)
    row, slot, value = _coordinates(program.b)
    right = (moved.rows[row], rows.place[row], rows.stride[row], slot, value)
    return ConeProgram(
        cones,
        program.sign,
        position % rows.size,
        np.concatenate([[0], np.cumsum(counts)]),
        _quadratic(program, columns),
        sp.csr_array(_with_slots(program.P, slots)),
        _costs(program, moved, columns, tables),
        table,
        sp.csr_array(tables.spread(*right, rows.size)),
        slots.names,
        {
            number: _wider(entries, columns)
            for number, entries in program.variables.items()
            if not moved.columns[entries.indices].any()
        },
    )


class _Moved:
    """Which rows and columns of a program are another's at every scenario.

    Attributes
    ----------
    rows, columns : flags
    adding : flags of rows that add up scenarios by their weights
    """

    def __init__(self, program: ConeProgram, shared: Indices, slots: Slots) -> None:
        row, column = program.indices, program.columns
        own = np.flatnonzero(slots.stride)
        weighed = np.zeros(len(row), dtype=bool)
        weighed[_touched(program.A, np.array([slots.weight]))] = True
        self.adding = np.zeros(program.height, dtype=bool)
        self.adding[row[weighed]] = True
        self.rows = np.zeros(program.height, dtype=bool)
        self.rows[row[_touched(program.A, own)]] = True
        self.rows[_touched(program.b, own)] = True
        self.rows &= ~self.adding
        self.columns = np.zeros(program.width, dtype=bool)
        free = np.ones(program.width, dtype=bool)
        free[shared] = False
        cone = np.repeat(*_groups(program))
        inner = ~self.adding[row]
        while True:
            before = int(self.rows.sum() + self.columns.sum())
            whole = np.zeros(int(cone[-1]) + 1 if len(cone) else 0, dtype=bool)
            whole[cone[self.rows]] = True
            self.rows = whole[cone] & ~self.adding
            self.columns[column[inner & self.rows[row]]] = True
            self.columns &= free
            self.rows[row[inner & self.columns[column]]] = True
            if int(self.rows.sum() + self.columns.sum()) == before:
                break
        self._check(program, weighed, np.bincount(cone, minlength=1)[cone] > 1)

    def _check(self, program: ConeProgram, weighed: Flags, joined: Flags) -> None:
        """Refuse what does not add up by weights alone."""
        row, column = program.indices, program.columns
        unlike = self.adding[row] & (weighed != self.columns[column])
        unlike |= (self.adding & joined)[row]
        quadratic = np.concatenate(np.divmod(program.P_where, program.width))
        if unlike.any() or self.columns[quadratic].any():
            raise Uncompilable("what is averaged is more than a sum by weights")


class _Tables:
    """Writes tables of the slots of one scenario out for many."""

    def __init__(self, slots: Slots, count: int) -> None:
        self.slots, self.count = slots, count

    def spread(
        self,
        many: Flags,
        where: Indices,
        stride: Indices,
        slot: Indices,
        value: Array,
        height: int,
    ) -> sp.coo_array:
        """Terms at their places: those of `many` scenarios, and those of all at once.

        Parameters
        ----------
        where, stride : row of the table at the first scenario, and how much further at
            the next
        slot, value : slot of the one scenario that each multiplies
        """
        if (self.slots.stride[slot[~many]] > 0).any():
            raise Uncompilable("a scenario's number is in a row of all scenarios")
        scenario = np.arange(self.count)[:, None]
        place, step = self.slots.place[slot], self.slots.stride[slot]
        row = (where[many] + scenario * stride[many]).ravel()
        column = (place[many] + scenario * step[many]).ravel()
        values = np.tile(value[many], self.count)
        return sp.coo_array(
            (
                np.concatenate([value[~many], values]),
                (
                    np.concatenate([where[~many], row]),
                    np.concatenate([place[~many], column]),
                ),
            ),
            shape=(height, self.slots.size),
        )


def _costs(
    program: ConeProgram, moved: _Moved, columns: _Numbering, tables: _Tables
) -> sp.csr_array:
    """The linear part of the objective, with its offset."""
    column, slot, value = _coordinates(program.q)
    offset = column == program.width
    many = np.append(moved.columns, False)[column]
    if (many & (slot != tables.slots.weight)).any():
        raise Uncompilable("what is averaged is more than a sum by weights")
    place = np.append(columns.place, columns.size)[column]
    stride = np.where(offset, 0, np.append(columns.stride, 0)[column])
    return sp.csr_array(
        tables.spread(many, place, stride, slot, value, columns.size + 1)
    )


def _coordinates(table: sp.csr_array) -> tuple[Indices, Indices, Array]:
    """Row, column and value of each term of a table."""
    listed = sp.coo_array(table)
    return (*listed.coords, listed.data)


def _touched(table: sp.csr_array, slots: Indices) -> Indices:
    """Rows of a table that some slots enter."""
    row, slot, value = _coordinates(table)
    return np.unique(row[np.isin(slot, slots) & (value != 0)])


def _groups(program: ConeProgram) -> tuple[Indices, Indices]:
    """Numbers of rows that stay together, a group each, and how many each has.

    Rows of linear cones are each on their own.
    """
    sizes: list[int] = []
    for kind, size in program.cones:
        rows = rows_of(kind, size)
        sizes += [1] * rows if kind in ("zero", "nonneg") else [rows]
    return np.arange(len(sizes)), np.array(sizes, dtype=int)


def _columns(moved: Flags, count: int) -> _Numbering:
    """Columns in common first, then those of each scenario."""
    common, own = int((~moved).sum()), int(moved.sum())
    place = np.where(moved, common + np.cumsum(moved) - 1, np.cumsum(~moved) - 1)
    return _Numbering(place, np.where(moved, own, 0), common + own * count)


def _rows(
    program: ConeProgram, moved: _Moved, count: int
) -> tuple[_Numbering, tuple[tuple[str, float], ...]]:
    """Rows in the order of the program's cones, and these cones."""
    place, stride = np.zeros((2, program.height), dtype=int)
    cones: list[tuple[str, float]] = []
    start = end = 0
    for kind, size in program.cones:
        rows = rows_of(kind, size)
        span = slice(start, start + rows)
        own = moved.rows[span]
        linear = kind in ("zero", "nonneg")
        some = _columns(own, count)
        place[span], stride[span] = end + some.place, some.stride
        copied = count if own.any() else 1
        cones += [(kind, some.size)] if linear else [(kind, size)] * copied
        start, end = start + rows, end + some.size
    return _Numbering(place, stride, end), tuple(cones)


def _quadratic(program: ConeProgram, columns: _Numbering) -> Indices:
    """Where the entries of P are among more columns."""
    column, row = np.divmod(program.P_where, program.width)
    return np.asarray(columns.place[column] * columns.size + columns.place[row])


def _with_slots(table: sp.csr_array, slots: Slots) -> sp.coo_array:
    """A table whose rows stay, over the slots of all scenarios."""
    row, slot, value = _coordinates(table)
    shape = (table.shape[0], slots.size)
    return sp.coo_array((value, (row, slots.place[slot])), shape=shape)


def _wider(entries: sp.csr_array, columns: _Numbering) -> sp.csr_array:
    """A variable's entries as functions of more columns."""
    own = (entries.data, columns.place[entries.indices], entries.indptr)
    return sp.csr_array(own, shape=(entries.shape[0], columns.size))
