"""Which numbers of a cone program share a unit, and which may trade theirs."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from ..checks import Array
from .program import ConeProgram, Indices, rows_of

#: Share of its row and of its column below which a number is rounding: in the rows of a
#: curved cone, and in others.
NOISE, LAST_DIGIT = 1e-12, 1e-15


class Layout:
    """Which entries share a unit, and which may trade theirs against one another."""

    def __init__(self, program: ConeProgram) -> None:
        self.of_row = row_groups(program.cones)
        self.of_entry = self.of_row[program.indices]
        self.groups = int(self.of_row.max(initial=-1)) + 1
        entry, row, self.sign_entry, self.sign_row, self.pairs = program.hyperbolic
        self.pair_entry, self.pair_row = entry, row
        self._by_entry = Groups(self.of_entry, self.groups)
        self._by_row = Groups(self.of_row, self.groups)
        self._by_column = Groups(program.columns, program.width)
        self._rows = Groups(program.indices, program.height)
        self._row_of_entry, self.column_of_entry = program.indices, program.columns
        self.column_starts = program.indptr
        self.sides = (
            (self._rows, self._row_of_entry),
            (self._by_column, self.column_of_entry),
        )
        _, self.P_row, starts = program.quadratic_pattern
        self.P_column = np.repeat(np.arange(program.width), np.diff(starts))
        flat = [np.full(rows_of(*c), c[0] in ("zero", "nonneg")) for c in program.cones]
        curved = ~np.concatenate([np.zeros(0, dtype=bool), *flat])
        self._curved_entry = curved[program.indices]
        self.own = self._owners(program)
        self._shared_entry = self._curved_entry & (self.own[program.columns] < 0)
        if self.pairs:
            self._of_pair_entry = Groups(entry, self.pairs)
            self._of_pair_row = Groups(row, self.pairs)

    def _owners(self, program: ConeProgram) -> Indices:
        """The group of the curved cone that has all of a column, or -1: (nx,)."""
        first, last = np.full((2, program.width), -1)
        first[program.columns[::-1]] = self.of_entry[::-1]
        last[program.columns] = self.of_entry
        only = np.ones(program.width, dtype=bool)
        same = self._curved_entry & (self.of_entry == first[program.columns])
        only[program.columns[~same]] = False
        return np.where(only & (first == last), first, -1)

    def largest_shared(self, sizes: Array) -> Array:
        """The largest entry of each curved cone in columns that are not its own, of
        sizes (n, entries): (n, groups), 0 where there is none.
        """
        shared = np.where(self._shared_entry, sizes, 0.0)
        return self._by_entry.reduced(shared, np.maximum)

    def largest_in_cone(self, sizes: Array) -> Array:
        """Of sizes of rows, the largest among those that share a unit: (n, rows)."""
        return self._by_row.reduced(sizes, np.maximum)[:, self.of_row]

    def tilt_entries(self, h: Array) -> Array | float:
        """What the pairs' exponents are worth at each entry of A: (n, entries)."""
        return h[:, self.pair_entry] * self.sign_entry if self.pairs else 0.0

    def tilt_right(self, h: Array) -> Array | float:
        """The same for the right-hand side, shape (n, rows)."""
        return h[:, self.pair_row] * self.sign_row if self.pairs else 0.0

    def without_noise(self, A: Array) -> Array:
        """The entries, with 0 for those next to nothing in their row and column.

        They are what rounding left of terms that cancelled, and have no unit: in the
        rows of a curved cone, where matrices that were factored and inverted stand, of
        more digits than in others.
        """
        size = np.abs(A)
        row = self._rows.reduced(size, np.maximum)[:, self._row_of_entry]
        column = self._by_column.reduced(size, np.maximum)[:, self.column_of_entry]
        share = np.where(self._curved_entry, NOISE, LAST_DIGIT)
        noise = size < share * np.minimum(row, column)
        return np.where(noise, 0.0, A)

    def row_mean(self, A: Array, of_A: Array, b: Array, of_b: Array) -> Array:
        """Weighted mean exponent of each group of rows, shape (n, groups)."""
        total = self._by_entry.reduced(terms(A, of_A))
        total = total + self._by_row.reduced(terms(b, of_b))
        return over(total, self._by_entry.reduced(of_A) + self._by_row.reduced(of_b))

    def column_mean(self, A: Array, of_A: Array, costs: Array, of_q: Array) -> Array:
        """Weighted mean exponent of each column and its costs (their sum with weights
        is `costs`), shape (n, nx).
        """
        total = self._by_column.reduced(terms(A, of_A)) + costs
        return over(total, self._by_column.reduced(of_A) + of_q)

    def both(self, d: Array) -> Array:
        """What the columns' exponents are worth at each entry of P."""
        return d[:, self.P_row] + d[:, self.P_column]

    def curvature(self, P: Array, of_P: Array, d: Array) -> tuple[Array, Array]:
        """What the entries of P ask of each column, times its weight, and the weight:
        shapes (n, nx). A square has its column's unit twice.
        """
        square = self.P_row == self.P_column
        weight = np.where(square, 4.0, 1.0) * of_P
        total, count = np.zeros_like(d), np.zeros_like(d)
        for own, other in (
            (self.P_row, self.P_column),
            (self.P_column, self.P_row),
        ):
            wish = np.where(square, P / 2, P + d[:, other])
            half = np.where(square, 0.5, 1.0) * weight
            np.add.at(total.T, own, terms(wish, half).T)
            np.add.at(count.T, own, half.T)
        return total, count

    def pair_mean(self, A: Array, of_A: Array, b: Array, of_b: Array) -> Array:
        """Weighted mean exponent of y less that of t, of each pair: (n, pairs)."""
        own_A, own_b = of_A * np.abs(self.sign_entry), of_b * np.abs(self.sign_row)
        total = self._of_pair_entry.reduced(terms(A, own_A) * self.sign_entry)
        total = total + self._of_pair_row.reduced(terms(b, own_b) * self.sign_row)
        count = self._of_pair_entry.reduced(own_A) + self._of_pair_row.reduced(own_b)
        return over(total, count)


def layout_of(program: ConeProgram) -> Layout:
    """The layout of a program, made once, at best before the first context."""
    if program not in _LAYOUTS:
        _LAYOUTS[program] = Layout(program)
    return _LAYOUTS[program]


_LAYOUTS: WeakKeyDictionary[ConeProgram, Layout] = WeakKeyDictionary()


class Groups:
    """Sums and largest values of the entries of each group."""

    def __init__(self, group: Indices, size: int) -> None:
        self.size, order = int(size), np.argsort(group, kind="stable")
        # Most patterns come sorted, and then need no copy.
        self._order = None if (order == np.arange(len(order))).all() else order
        sorted_groups = group[order]
        self._hit, self._first = np.unique(sorted_groups, return_index=True)

    def reduced(self, values: Array, by: np.ufunc = np.add) -> Array:
        """Sums, or the like, of shape (n, groups), 0 where a group is empty."""
        result = np.zeros((len(values), self.size))
        if len(self._hit):
            ordered = values if self._order is None else values[:, self._order]
            result[:, self._hit] = by.reduceat(ordered, self._first, axis=1)
        return result


def row_groups(cones: tuple[tuple[str, float], ...]) -> Indices:
    """Number of the unit of each row: a curved cone has one."""
    numbers, last = [np.zeros(0, dtype=int)], 0
    for kind, size in cones:
        rows = rows_of(kind, size)
        apart = kind in ("zero", "nonneg")
        numbers.append(last + (np.arange(rows) if apart else np.zeros(rows, dtype=int)))
        last += rows if apart else 1
    return np.concatenate(numbers)


def terms(values: Array, weights: Array) -> Array:
    """Values times weights, 0 without weight."""
    return np.where(weights > 0, weights * values, 0.0)


def over(total: Array, count: Array) -> Array:
    """The mean, 0 of nothing."""
    return np.asarray(total / np.where(count > 0, count, 1.0))
