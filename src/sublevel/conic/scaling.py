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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .program import ConeProgram, Indices, ProgramData, rows_of, whole

#: Numbers between one over this and this are left as they are.
ORDINARY = 64.0
#: Passes over rows and columns, and those where the units of these were of no help; the
#: exponents are rounded afterwards.
SWEEPS, MANY_SWEEPS = 12, 120
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

    def at(self, rows: Indices) -> Scaling:
        """Those of some contexts."""
        each = (self.entries, self.right, self.columns, self.size, self.objective)
        return Scaling(*(part[rows] for part in each))

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


@dataclass(frozen=True)
class Aim:
    """The exponent of two of the objective, at n contexts of ordinary size otherwise.

    Attributes
    ----------
    objective : shape (n,), t
    """

    objective: Array

    def apply(self, data: ProgramData) -> ProgramData:
        """The data in the new units."""
        by = np.exp2(self.objective)[:, None]
        P, q = (whole(x.rows() * by) for x in (data.P, data.q))
        return ProgramData(data.program, P, q, data.A, data.b)

    def points(self, x: Array) -> Array:
        """Solutions are what they are."""
        return x

    def values(self, objective: Array) -> Array:
        """Values of the objective, shape (n,), in the units of the model."""
        return np.asarray(objective * np.exp2(-self.objective))


#: Units of either kind.
Units = Scaling | Aim


def in_groups(
    data: ProgramData, sweeps: int | None = None, by: Sweeps | None = None
) -> Iterator[tuple[Indices, ProgramData, Units | None]]:
    """Contexts that are of ordinary size, those of which only the objective is not, and
    others: their numbers, their data, and the units they need.

    Parameters
    ----------
    sweeps : passes over rows and columns for units; by default SWEEPS, and none where
        units of cones and of the objective are enough
    by : what sweeps, as for `scale`
    """
    n = len(data)
    still = (_LAYOUTS.get(data.program) or layout_of(data.program)).still(data)
    usable = still.finite & data.finite_values
    uneven, cost = _uneven(data, still), _costs(data, still)
    dear = _is_far(cost)
    cheap = sweeps is None
    aimed = dear & ~uneven if cheap else np.zeros(n, dtype=bool)
    rest = (uneven | dear) & ~aimed
    for flags in (~(uneven | dear), aimed, rest):
        rows = np.flatnonzero(usable & flags)
        if not rows.size:
            continue
        some = data if len(rows) == n else data.at(rows)
        if flags is aimed:
            yield rows, some, Aim(np.asarray(-np.round(np.log2(cost[rows])), float))
        elif flags is not rest:
            yield rows, some, None
        elif cheap:
            yield from _by_cones(rows, some, by)
        else:
            yield rows, some, scale(some, sweeps=sweeps or SWEEPS, by=by)


def _by_cones(
    rows: Indices, data: ProgramData, by: Sweeps | None
) -> Iterator[tuple[Indices, ProgramData, Units]]:
    """Contexts for which units of curved cones and of the objective are enough, and
    others: numbers such as the reach of a ball are all in one cone.
    """
    units, good = cone_units(data)
    for flags, enough in ((good, True), (~good, False)):
        at = np.flatnonzero(flags)
        if at.size:
            some = data if len(at) == len(rows) else data.at(at)
            yield rows[at], some, units.at(at) if enough else scale(some, by=by)


def _costs(data: ProgramData, still: _Still) -> Array:
    """The largest number in the objective of each context, shape (n,)."""
    P, q = data.P, data.q
    linear = np.abs(q.values[:, still.costs]).max(axis=1, initial=still.cost)
    curved = np.abs(P.values).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(linear, curved))


def extraordinary(data: ProgramData) -> npt.NDArray[np.bool_]:
    """Contexts in which a row, a column, a right-hand side or the objective is not of
    ordinary size, or a coefficient so small that what it multiplies must be large or
    what it adds up to small, shape (n,).
    """
    still = layout_of(data.program).still(data)
    return np.asarray(_uneven(data, still) | _is_far(_costs(data, still)))


def _uneven(data: ProgramData, still: _Still) -> npt.NDArray[np.bool_]:
    """The same of all but the objective."""
    A, b = data.A, data.b
    varying = np.abs(A.values)
    odd = _is_far(np.abs(b.values)).any(axis=1) | still.odd
    for order, first, largest in still.sides:
        # The largest of a row or column in which some entry varies.
        moved = np.maximum.reduceat(varying[:, order], first, axis=1)
        odd |= _is_far(np.maximum(moved, largest)).any(axis=1)
    if still.small or ((varying < SMALL) & (varying > 0)).any():
        size = np.abs(layout_of(data.program).without_noise(A.rows()))
        odd |= ((size < SMALL) & (size > 0)).any(axis=1)
    return np.asarray(odd)


def _is_far(sizes: Array) -> npt.NDArray[np.bool_]:
    """Which sizes are not ordinary."""
    return np.asarray((sizes > ORDINARY) | ((sizes < 1 / ORDINARY) & (sizes > 0)))


class _Still:
    """What `extraordinary` sees in the entries that no context moves.

    Attributes
    ----------
    blocks : P, q, A and b it was made from: their bases and which entries move
    finite : whether all of their bases are
    costs : which of the entries of q that move are costs, and not the offset
    cost : the largest of all other costs
    odd : whether something else is not of ordinary size
    small : whether a coefficient is small
    sides : for rows and columns the entries that move, in the order of their rows;
        where each row starts; and the largest of its other entries
    """

    def __init__(self, data: ProgramData, layout: Layout) -> None:
        P, q, A, b = self.blocks = (data.P, data.q, data.A, data.b)
        self.finite = all(np.isfinite(block.base).all() for block in self.blocks)
        constant, last = np.abs(A.base), len(q.base) - 1
        constant[A.where] = 0.0
        self.costs = q.where < last
        fixed = np.delete(np.abs(q.base), np.append(q.where, last))
        curved = np.delete(np.abs(P.base), P.where)
        self.cost = float(np.maximum(fixed.max(initial=0.0), curved.max(initial=0.0)))
        right = np.delete(np.abs(b.base), b.where)
        self.odd = bool(_is_far(right).any())
        self.small = bool(((constant < SMALL) & (constant > 0)).any())
        self.sides: list[tuple[Indices, Indices, Array]] = []
        for groups, of_entry in layout.sides:
            largest = groups.reduced(constant[None], np.maximum)
            order = np.argsort(of_entry[A.where], kind="stable")
            hit, first = np.unique(of_entry[A.where][order], return_index=True)
            self.odd |= bool(_is_far(np.delete(largest, hit, axis=1)).any())
            if hit.size:
                self.sides.append((order, first, largest[:, hit]))

    def is_of(self, data: ProgramData) -> bool:
        """Whether it was made from the same arrays."""
        blocks = (data.P, data.q, data.A, data.b)
        return all(
            own.base is other.base and own.where is other.where
            for own, other in zip(self.blocks, blocks, strict=True)
        )


def cone_units(data: ProgramData) -> tuple[Scaling, npt.NDArray[np.bool_]]:
    """One unit for each curved cone and its own columns, one for the objective; and
    whether all is of ordinary size then, shape (n,).
    """
    program, n = data.program, len(data)
    layout = layout_of(program)
    e = -_rounded_logs(layout.largest_shared(np.abs(data.A.rows())))
    d = np.where(layout.own >= 0, -e[:, np.maximum(layout.own, 0)], 0.0)
    units = Scaling(
        e[:, layout.of_entry], e[:, layout.of_row], d, np.zeros(n), np.zeros(n)
    )
    seen = units.apply(data)
    cost = np.maximum(
        np.abs(seen.q.values[:, :-1]).max(axis=1, initial=0.0),
        np.abs(seen.P.values).max(axis=1, initial=0.0),
    )
    size, good = np.abs(seen.A.values), np.isfinite(cost)
    for groups, _ in layout.sides:
        good &= ~_is_far(groups.reduced(size, np.maximum)).any(axis=1)
    good &= ~_is_far(np.abs(seen.b.values)).any(axis=1)
    good &= ~((size < SMALL) & (size > 0)).any(axis=1)
    aim = np.where(_is_far(cost), -_rounded_logs(cost), 0.0)
    return replace(units, objective=aim), np.asarray(good)


def _rounded_logs(sizes: Array) -> Array:
    """The nearest exponents of two, 0 where there is no size."""
    usable = (sizes > 0) & np.isfinite(sizes)
    return np.asarray(np.round(np.log2(np.where(usable, sizes, 1.0))), dtype=float)


class Logarithms(NamedTuple):
    """Exponents of two of the sizes of A, b, q and P, each (n, entries).

    Without a finite number where there is nothing to measure.
    """

    A: Array
    b: Array
    q: Array
    P: Array


class Exponents(NamedTuple):
    """Of groups of rows, pairs, columns, the point and the aim, each (n, number)."""

    e: Array
    h: Array
    d: Array
    s: Array
    t: Array


#: What finds exponents: layout, logarithms and the number of sweeps are given.
Sweeps = Callable[["Layout", Logarithms, int], Exponents]


def scale(
    data: ProgramData,
    solutions: Array | None = None,
    sweeps: int = SWEEPS,
    by: Sweeps | None = None,
) -> Scaling:
    """The units of every context.

    Parameters
    ----------
    solutions : array of shape (n, nx), optional
        Solutions in other units: their sizes say what the columns' units are.
    by : what finds the exponents, where there are no solutions; `swept` by default
    """
    layout = layout_of(data.program)
    logs = Logarithms(
        _logs(layout.without_noise(data.A.rows())),
        _logs(data.b.rows()),
        _logs(data.q.rows()[:, :-1]),
        _logs(data.P.rows()),
    )
    if by is not None and solutions is None:
        exponents = by(layout, logs, sweeps)
    else:
        exponents = swept(layout, logs, sweeps, solutions)
    e, h, d, s, t = (np.round(each) for each in exponents)
    return Scaling(
        e[:, layout.of_entry] + layout.tilt_entries(h),
        e[:, layout.of_row] + layout.tilt_right(h),
        d + s,
        s[:, 0],
        (t - s)[:, 0],
    )


def swept(
    layout: Layout, logs: Logarithms, sweeps: int, solutions: Array | None = None
) -> Exponents:
    """The exponents of all contexts, not yet rounded."""
    (A, b, q, P), n = logs, len(logs.A)
    columns = layout.column_of_entry
    e, h = np.zeros((n, layout.groups)), np.zeros((n, layout.pairs))
    d = np.zeros(q.shape) if solutions is None else _sizes(solutions)
    s, t = np.zeros((n, 1)), np.zeros((n, 1))
    weigh_A, weigh_b, weigh_q, weigh_P = (
        np.isfinite(x).astype(float) for x in (A, b, q, P)
    )
    for _ in range(sweeps):
        tilted_A = A + d[:, columns] + layout.tilt_entries(h)
        tilted_b = b - s + layout.tilt_right(h)
        e = -layout.row_mean(tilted_A, weigh_A, tilted_b, weigh_b)
        off_A, off_b = tilted_A + e[:, layout.of_entry], tilted_b + e[:, layout.of_row]
        if layout.pairs:
            step = layout.pair_mean(off_A, weigh_A, off_b, weigh_b)
            h = h - step
            off_A = off_A - layout.tilt_entries(step)
            off_b = off_b - layout.tilt_right(step)
        if solutions is None:
            left = off_A - d[:, columns]
            curved, weigh = layout.curvature(P + t + s, weigh_P, d)
            costs = _terms(q + t, weigh_q) + curved
            d = -layout.column_mean(left, weigh_A, costs, weigh_q + weigh)
            off_A = left + d[:, columns]
        off_q, off_P = q + d + t, P + t + s + layout.both(d)
        more_s, more_t = _sizes_of_point_and_aim(
            (off_b, weigh_b), (off_q, weigh_q), (off_P, weigh_P), solutions is None
        )
        s, t = s + more_s, t + more_t
        off_b, off_q, off_P = off_b - more_s, off_q + more_t, off_P + more_s + more_t
        weigh_A, weigh_b, weigh_q, weigh_P = map(_weight, (off_A, off_b, off_q, off_P))
    return Exponents(e, h, d, s, t)


class Layout:
    """Which entries share a unit, and which may trade theirs against one another."""

    def __init__(self, program: ConeProgram) -> None:
        self.of_row = row_groups(program.cones)
        self.of_entry = self.of_row[program.indices]
        self.groups = int(self.of_row.max(initial=-1)) + 1
        entry, row, self.sign_entry, self.sign_row, self.pairs = program.hyperbolic
        self.pair_entry, self.pair_row = entry, row
        self._by_entry = _Groups(self.of_entry, self.groups)
        self._by_row = _Groups(self.of_row, self.groups)
        self._by_column = _Groups(program.columns, program.width)
        self._rows = _Groups(program.indices, program.height)
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
        self._still: _Still | None = None
        if self.pairs:
            self._of_pair_entry = _Groups(entry, self.pairs)
            self._of_pair_row = _Groups(row, self.pairs)

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

    def still(self, data: ProgramData) -> _Still:
        """What no context moves: looked at again only if it is something else."""
        if self._still is None or not self._still.is_of(data):
            self._still = _Still(data, self)
        return self._still

    def tilt_entries(self, h: Array) -> Array | float:
        """What the pairs' exponents are worth at each entry of A: (n, entries)."""
        return h[:, self.pair_entry] * self.sign_entry if self.pairs else 0.0

    def tilt_right(self, h: Array) -> Array | float:
        """The same for the right-hand side, shape (n, rows)."""
        return h[:, self.pair_row] * self.sign_row if self.pairs else 0.0

    def without_noise(self, A: Array) -> Array:
        """The entries, with 0 for those next to nothing in their row and column.

        In the rows of a curved cone, where matrices that were factored and inverted
        stand, they are what rounding left of terms that cancelled, and have no unit.
        """
        size = np.abs(A)
        row = self._rows.reduced(size, np.maximum)[:, self._row_of_entry]
        column = self._by_column.reduced(size, np.maximum)[:, self.column_of_entry]
        noise = (size < NOISE * np.minimum(row, column)) & self._curved_entry
        return np.where(noise, 0.0, A)

    def row_mean(self, A: Array, of_A: Array, b: Array, of_b: Array) -> Array:
        """Weighted mean exponent of each group of rows, shape (n, groups)."""
        total = self._by_entry.reduced(_terms(A, of_A))
        total = total + self._by_row.reduced(_terms(b, of_b))
        return _over(total, self._by_entry.reduced(of_A) + self._by_row.reduced(of_b))

    def column_mean(self, A: Array, of_A: Array, costs: Array, of_q: Array) -> Array:
        """Weighted mean exponent of each column and its costs (their sum with weights
        is `costs`), shape (n, nx).
        """
        total = self._by_column.reduced(_terms(A, of_A)) + costs
        return _over(total, self._by_column.reduced(of_A) + of_q)

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
            np.add.at(total.T, own, _terms(wish, half).T)
            np.add.at(count.T, own, half.T)
        return total, count

    def pair_mean(self, A: Array, of_A: Array, b: Array, of_b: Array) -> Array:
        """Weighted mean exponent of y less that of t, of each pair: (n, pairs)."""
        own_A, own_b = of_A * np.abs(self.sign_entry), of_b * np.abs(self.sign_row)
        total = self._of_pair_entry.reduced(_terms(A, own_A) * self.sign_entry)
        total = total + self._of_pair_row.reduced(_terms(b, own_b) * self.sign_row)
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


def _sizes_of_point_and_aim(
    b: tuple[Array, Array],
    q: tuple[Array, Array],
    P: tuple[Array, Array],
    free: bool,
) -> tuple[Array, Array]:
    """What to add to the exponents of s and of t, shapes (n, 1), so that the weighted
    squares of b - s, q + t and P + s + t are least. Both at once: one after the other
    creeps along the valley in which what P gains by one it loses by the other. Where s
    is not `free` it stays.
    """
    (sum_b, sum_q, sum_P), (of_b, of_q, of_P) = (
        [_terms(*x).sum(axis=1, keepdims=True) for x in (b, q, P)],
        [x[1].sum(axis=1, keepdims=True) for x in (b, q, P)],
    )
    if not free:
        return np.zeros_like(sum_b), -_over(sum_q + sum_P, of_q + of_P)
    # A trace of weight says what happens where something is free: nothing.
    own_s, own_t = of_b + of_P + 1e-9, of_q + of_P + 1e-9
    right_s, right_t = sum_b - sum_P, -sum_q - sum_P
    determinant = own_s * own_t - of_P**2
    return (
        (own_t * right_s - of_P * right_t) / determinant,
        (own_s * right_t - of_P * right_s) / determinant,
    )


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
