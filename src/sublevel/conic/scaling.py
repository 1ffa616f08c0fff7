"""The units a solver sees: every context's numbers brought near one.

A solver's tolerances are absolute, so a model in units of 1e-8 is solved to no digit at
all, and one in units of 1e8 never well enough. Rows, columns, the right-hand side and
the objective are therefore measured in units of their own,

    A' = E A D,   b' = E b / s,   q' = t s D q,   P' = t s^2 D P D,   x = s D x',

with E, D, s, t powers of two (so that nothing is rounded) that bring the logarithms of
all entries, right-hand side and objective included, as near to zero as possible. Sizes
of the logarithms are added up, not their squares, so that a few odd numbers (what is
left of terms that cancelled, a bound far away) do not spoil the units of all others.
Rows of one cone share a unit, with one exception. CVXPY writes x^2 <= t y as the
second-order cone (y + t, y - t, 2 x), and such a cone is the same if y is multiplied
and t divided by a number: that number is chosen too.

A context whose numbers are near one already is left as it is. What is chosen depends on
the context alone, never on its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .program import ConeProgram, Indices, ProgramData, rows_of, whole

#: Numbers between one over this and this are left as they are.
ORDINARY = 64.0
#: Passes over rows and columns; the exponents are rounded afterwards.
SWEEPS = 12
#: A coefficient below this is not left as it is either.
SMALL = 1e-5
#: Share of its row and of its column below which a number is rounding.
NOISE = 1e-12
#: Exponent from which on a number counts by its size, not by its square.
FAR = 2.0


@dataclass(frozen=True)
class Scaling:
    """Exponents of two of n contexts.

    Attributes
    ----------
    entries : shape (n, entries of A), the rows' part of them
    right : shape (n, rows), that of s left out
    columns : shape (n, nx), that of s included
    size : shape (n,), s
    objective : shape (n,), t
    """

    entries: Array
    right: Array
    columns: Array
    size: Array
    objective: Array

    def apply(self, data: ProgramData) -> ProgramData:
        """The data in the new units."""
        program, aim = data.program, self.objective[:, None]
        _, row, indptr = program.quadratic_pattern
        column = np.repeat(np.arange(program.width), np.diff(indptr))
        P = aim + self.columns[:, row] + self.columns[:, column]
        q = aim + np.column_stack([self.columns, np.zeros(len(data))])
        A = self.entries + self.columns[:, program.columns] - self.size[:, None]
        b = self.right - self.size[:, None]
        pairs = ((data.P, P), (data.q, q), (data.A, A), (data.b, b))
        return ProgramData(program, *(whole(x.rows() * np.exp2(e)) for x, e in pairs))

    def points(self, x: Array) -> Array:
        """Solutions, shape (n, nx), in the units of the model."""
        return np.asarray(x * np.exp2(self.columns))

    def values(self, objective: Array) -> Array:
        """Values of the objective, shape (n,), in the units of the model."""
        return np.asarray(objective * np.exp2(-self.objective))


def extraordinary(data: ProgramData) -> npt.NDArray[np.bool_]:
    """Contexts in which a row, a column, a right-hand side or the objective is not of
    ordinary size, or a coefficient so small that what it multiplies must be large or
    what it adds up to small, shape (n,).
    """
    layout, A, b, q = layout_of(data.program), data.A, data.b, data.q
    odd = np.zeros(len(data), dtype=bool)
    constant, varying = np.abs(A.base), np.abs(A.values)
    constant[A.where] = 0.0
    last = len(q.base) - 1
    cost = np.abs(q.values[:, q.where < last]).max(axis=1, initial=0.0)
    fixed = np.delete(np.abs(q.base), np.append(q.where, last))
    cost = np.maximum(cost, fixed.max(initial=0.0))
    every = [cost[:, None], np.abs(b.values), np.delete(np.abs(b.base), b.where)[None]]
    for groups, of_entry in layout.sides:
        # The largest of a row or column: where some entry varies, and elsewhere.
        largest = groups.reduced(constant[None], np.maximum)
        order = np.argsort(of_entry[A.where], kind="stable")
        hit, first = np.unique(of_entry[A.where][order], return_index=True)
        every.append(np.delete(largest, hit, axis=1))
        if hit.size:
            moved = np.maximum.reduceat(varying[:, order], first, axis=1)
            every.append(np.maximum(moved, largest[:, hit]))
    for sizes in every:
        far = (sizes > ORDINARY) | ((sizes < 1 / ORDINARY) & (sizes > 0))
        odd |= far.any(axis=1)
    small = ((constant < SMALL) & (constant > 0)).any()
    if small or ((varying < SMALL) & (varying > 0)).any():
        size = np.abs(layout.without_noise(A.rows()))
        odd |= ((size < SMALL) & (size > 0)).any(axis=1)
    return odd


def scale(data: ProgramData, solutions: Array | None = None) -> Scaling:
    """The units of every context.

    Parameters
    ----------
    solutions : array of shape (n, nx), optional
        Solutions in other units: their sizes say what the columns' units are.
    """
    program, n = data.program, len(data)
    layout = layout_of(program)
    A, b = _logs(layout.without_noise(data.A.rows())), _logs(data.b.rows())
    q = _logs(data.q.rows()[:, :-1])
    e, h = np.zeros((n, layout.groups)), np.zeros((n, layout.pairs))
    d = np.zeros((n, program.width)) if solutions is None else _sizes(solutions)
    s, t = np.zeros((n, 1)), np.zeros((n, 1))
    weigh_A, weigh_b, weigh_q = (np.isfinite(x).astype(float) for x in (A, b, q))
    for _ in range(SWEEPS):
        tilted_A = A + d[:, program.columns] + layout.tilt_entries(h)
        tilted_b = b - s + layout.tilt_right(h)
        e = -layout.row_mean(tilted_A, weigh_A, tilted_b, weigh_b)
        off_A, off_b = tilted_A + e[:, layout.of_entry], tilted_b + e[:, layout.of_row]
        if layout.pairs:
            step = layout.pair_mean(off_A, weigh_A, off_b, weigh_b)
            h = h - step
            off_A = off_A - layout.tilt_entries(step)
            off_b = off_b - layout.tilt_right(step)
        if solutions is None:
            left = off_A - d[:, program.columns]
            d = -layout.column_mean(left, weigh_A, q + t, weigh_q)
            s = s + _row_mean(off_b, weigh_b)
            off_A = left + d[:, program.columns]
        t = -_row_mean(q + d, weigh_q)
        weigh_A, weigh_b, weigh_q = map(_weight, (off_A, off_b, q + d + t))
    e, h, d, s, t = (np.round(each) for each in (e, h, d, s, t))
    return Scaling(
        e[:, layout.of_entry] + layout.tilt_entries(h),
        e[:, layout.of_row] + layout.tilt_right(h),
        d + s,
        s[:, 0],
        (t - s)[:, 0],
    )


class Layout:
    """Which entries share a unit, and which may trade theirs against one another."""

    def __init__(self, program: ConeProgram) -> None:
        self.of_row = row_groups(program.cones)
        self.of_entry = self.of_row[program.indices]
        self.groups = int(self.of_row.max(initial=-1)) + 1
        entry, row, self._sign_entry, self._sign_row, self.pairs = program.hyperbolic
        self._pair_entry, self._pair_row = entry, row
        self._by_entry = _Groups(self.of_entry, self.groups)
        self._by_row = _Groups(self.of_row, self.groups)
        self._by_column = _Groups(program.columns, program.width)
        self._rows = _Groups(program.indices, program.height)
        self._row_of_entry, self._column_of_entry = program.indices, program.columns
        self.sides = (
            (self._rows, self._row_of_entry),
            (self._by_column, self._column_of_entry),
        )
        flat = [np.full(rows_of(*c), c[0] in ("zero", "nonneg")) for c in program.cones]
        curved = ~np.concatenate([np.zeros(0, dtype=bool), *flat])
        self._curved_entry = curved[program.indices]
        if self.pairs:
            self._of_pair_entry = _Groups(entry, self.pairs)
            self._of_pair_row = _Groups(row, self.pairs)

    def tilt_entries(self, h: Array) -> Array | float:
        """What the pairs' exponents are worth at each entry of A: (n, entries)."""
        return h[:, self._pair_entry] * self._sign_entry if self.pairs else 0.0

    def tilt_right(self, h: Array) -> Array | float:
        """The same for the right-hand side, shape (n, rows)."""
        return h[:, self._pair_row] * self._sign_row if self.pairs else 0.0

    def without_noise(self, A: Array) -> Array:
        """The entries, with 0 for those next to nothing in their row and column.

        In the rows of a curved cone, where matrices that were factored and inverted
        stand, they are what rounding left of terms that cancelled, and have no unit.
        """
        size = np.abs(A)
        row = self._rows.reduced(size, np.maximum)[:, self._row_of_entry]
        column = self._by_column.reduced(size, np.maximum)[:, self._column_of_entry]
        noise = (size < NOISE * np.minimum(row, column)) & self._curved_entry
        return np.where(noise, 0.0, A)

    def row_mean(self, A: Array, of_A: Array, b: Array, of_b: Array) -> Array:
        """Weighted mean exponent of each group of rows, shape (n, groups)."""
        total = self._by_entry.reduced(_terms(A, of_A))
        total = total + self._by_row.reduced(_terms(b, of_b))
        return _over(total, self._by_entry.reduced(of_A) + self._by_row.reduced(of_b))

    def column_mean(self, A: Array, of_A: Array, q: Array, of_q: Array) -> Array:
        """Weighted mean exponent of each column and its cost, shape (n, nx)."""
        total = self._by_column.reduced(_terms(A, of_A)) + _terms(q, of_q)
        return _over(total, self._by_column.reduced(of_A) + of_q)

    def pair_mean(self, A: Array, of_A: Array, b: Array, of_b: Array) -> Array:
        """Weighted mean exponent of y less that of t, of each pair: (n, pairs)."""
        own_A, own_b = of_A * np.abs(self._sign_entry), of_b * np.abs(self._sign_row)
        total = self._of_pair_entry.reduced(_terms(A, own_A) * self._sign_entry)
        total = total + self._of_pair_row.reduced(_terms(b, own_b) * self._sign_row)
        count = self._of_pair_entry.reduced(own_A) + self._of_pair_row.reduced(own_b)
        return _over(total, count)


def layout_of(program: ConeProgram) -> Layout:
    """The layout of a program, made once, at best before the first context."""
    if program not in _LAYOUTS:
        _LAYOUTS[program] = Layout(program)
    return _LAYOUTS[program]


_LAYOUTS: WeakKeyDictionary[ConeProgram, Layout] = WeakKeyDictionary()


class _Groups:
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


def _terms(values: Array, weights: Array) -> Array:
    return np.where(weights > 0, weights * values, 0.0)


def _over(total: Array, count: Array) -> Array:
    return np.asarray(total / np.where(count > 0, count, 1.0))


def _row_mean(values: Array, weights: Array) -> Array:
    """Weighted mean of the finite values of each context, 0 without any: (n, 1)."""
    total = _terms(values, weights).sum(axis=1, keepdims=True)
    return _over(total, weights.sum(axis=1, keepdims=True))


def _weight(off: Array) -> Array:
    """Weights that make a sum of squares one of sizes, for what is far off."""
    return np.where(np.isfinite(off), 1 / np.maximum(1.0, np.abs(off) / FAR), 0.0)


def _logs(values: Array) -> Array:
    """Exponents of two, nan where there is nothing to measure."""
    size = np.abs(values)
    usable = (size > 0) & np.isfinite(size)
    return np.where(usable, np.log2(np.where(usable, size, 1.0)), np.nan)


def _sizes(solutions: Array) -> Array:
    """Exponents of the sizes of solutions; what is next to nothing has no size."""
    size = np.abs(solutions)
    largest = size.max(axis=1, keepdims=True, initial=0.0)
    typical = np.where(largest > 0, largest, 1.0)
    return np.log2(np.where(size > 1e-9 * typical, size, typical))
