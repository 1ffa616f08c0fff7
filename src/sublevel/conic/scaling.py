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

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .layout import Layout, layout_of, over, terms
from .ordinary import SMALL, is_far, largest_costs, still_part, uneven
from .program import Indices, ProgramData, whole

#: Passes over rows and columns, and those where the units of these were of no help; the
#: exponents are rounded afterwards.
SWEEPS, MANY_SWEEPS = 12, 120
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
    still = still_part(data)
    usable = still.finite & data.finite_values
    odd, cost = uneven(data, still), largest_costs(data, still)
    dear = is_far(cost)
    cheap = sweeps is None
    aimed = dear & ~odd if cheap else np.zeros(n, dtype=bool)
    rest = (odd | dear) & ~aimed
    for flags in (~(odd | dear), aimed, rest):
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
        good &= ~is_far(groups.reduced(size, np.maximum)).any(axis=1)
    good &= ~is_far(np.abs(seen.b.values)).any(axis=1)
    good &= ~((size < SMALL) & (size > 0)).any(axis=1)
    aim = np.where(is_far(cost), -_rounded_logs(cost), 0.0)
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
Sweeps = Callable[[Layout, Logarithms, int], Exponents]


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
            costs = terms(q + t, weigh_q) + curved
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
        [terms(*x).sum(axis=1, keepdims=True) for x in (b, q, P)],
        [x[1].sum(axis=1, keepdims=True) for x in (b, q, P)],
    )
    if not free:
        return np.zeros_like(sum_b), -over(sum_q + sum_P, of_q + of_P)
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
