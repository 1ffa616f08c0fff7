"""The units a solver sees: every context's numbers brought near one.

A solver's tolerances are absolute, so a model in units of 1e-8 is solved to no digit at
all, and one in units of 1e8 never well enough. Rows, columns, the right-hand side and
the objective are therefore measured in units of their own,

    A' = E A D,   b' = E b / s,   q' = t s D q,   P' = t s^2 D P D,   x = s D x',

with E, D, s, t powers of two (so that nothing is rounded) that bring the logarithms of
all entries, right-hand side and objective included, as near to zero as possible in the
least-squares sense. Rows of one cone share a unit, with one exception. CVXPY writes
x^2 <= t y as the second-order cone (y + t, y - t, 2 x), and such a cone is the same if y
is multiplied and t divided by a number: that number is chosen too.

A context whose numbers are near one already is left as it is. What is chosen depends on
the context alone, never on its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..checks import Array
from .program import ConeProgram, Indices, ProgramData, Varying, rows_of, whole

#: Numbers between one over this and this are left as they are.
ORDINARY = 64.0
#: Passes over rows and columns; the exponents are rounded afterwards.
SWEEPS = 8


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
        _, row, indptr = program.P_pattern
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
    """Contexts whose numbers are not all near one, shape (n,)."""
    q = Varying(data.q.base[:-1], data.q.where, data.q.values)
    if len(q.where) and q.where[-1] == len(q.base):
        q = Varying(q.base, q.where[:-1], q.values[:, :-1])
    odd = np.zeros(len(data), dtype=bool)
    for block in (data.P, q, data.A, data.b):
        fixed = np.ones(len(block.base), dtype=bool)
        fixed[block.where] = False
        odd |= _odd(block.base[fixed]).any() | _odd(block.values).any(axis=1)
    return odd


def scale(data: ProgramData, solutions: Array | None = None) -> Scaling:
    """The units of every context.

    Parameters
    ----------
    solutions : array of shape (n, nx), optional
        Solutions in other units: their sizes say what the columns' units are.
    """
    program, n = data.program, len(data)
    layout = _Layout(program)
    A, b = _logs(data.A.rows()), _logs(data.b.rows())
    q = _logs(data.q.rows()[:, :-1])
    e, h = np.zeros((n, layout.groups)), np.zeros((n, layout.pairs))
    d = np.zeros((n, program.width)) if solutions is None else _sizes(solutions)
    s, t = np.zeros((n, 1)), np.zeros((n, 1))
    for _ in range(SWEEPS):
        tilted_A = A + d[:, program.columns] + layout.tilt_entries(h)
        tilted_b = b - s + layout.tilt_right(h)
        e = -layout.row_mean(tilted_A, tilted_b)
        if layout.pairs:
            h = h - layout.pair_mean(
                tilted_A + e[:, layout.of_entry], tilted_b + e[:, layout.of_row]
            )
        if solutions is None:
            left = A + layout.tilt_entries(h) + e[:, layout.of_entry]
            d = -layout.column_mean(left, q + t)
            s = _row_mean(b + layout.tilt_right(h) + e[:, layout.of_row])
        t = -_row_mean(q + d)
    e, h, d, s, t = (np.round(each) for each in (e, h, d, s, t))
    return Scaling(
        e[:, layout.of_entry] + layout.tilt_entries(h),
        e[:, layout.of_row] + layout.tilt_right(h),
        d + s,
        s[:, 0],
        (t - s)[:, 0],
    )


class _Layout:
    """Which entries share a unit, and which may trade theirs against one another."""

    def __init__(self, program: ConeProgram) -> None:
        self.of_row = row_groups(program.cones)
        self.of_entry = self.of_row[program.indices]
        self.groups = int(self.of_row.max(initial=-1)) + 1
        entry, row, sign_entry, sign_row, self.pairs = program.hyperbolic
        self._tilt_entries = _table(entry, sign_entry, self.pairs)
        self._tilt_right = _table(row, sign_row, self.pairs)
        self._by_entry = _sums(self.of_entry, self.groups)
        self._by_row = _sums(self.of_row, self.groups)
        self._by_column = _sums(program.columns, program.width)

    def tilt_entries(self, h: Array) -> Array:
        """What the pairs' exponents are worth at each entry of A, shape (n, entries)."""
        return np.asarray((self._tilt_entries @ h.T).T)

    def tilt_right(self, h: Array) -> Array:
        """The same for the right-hand side, shape (n, rows)."""
        return np.asarray((self._tilt_right @ h.T).T)

    def row_mean(self, A: Array, b: Array) -> Array:
        """Mean exponent of each group of rows, shape (n, groups)."""
        return _mean(((self._by_entry, A), (self._by_row, b)))

    def column_mean(self, A: Array, q: Array) -> Array:
        """Mean exponent of each column and its cost, shape (n, nx)."""
        whole = sp.eye_array(q.shape[1], format="csr")
        return _mean(((self._by_column, A), (whole, q)))

    def pair_mean(self, A: Array, b: Array) -> Array:
        """Mean exponent of y less that of t, halved, of each pair: (n, pairs)."""
        parts = ((self._tilt_entries.T.tocsr(), A), (self._tilt_right.T.tocsr(), b))
        return _mean(parts)


def row_groups(cones: tuple[tuple[str, float], ...]) -> Indices:
    """Number of the unit of each row: a curved cone has one."""
    numbers, last = [np.zeros(0, dtype=int)], 0
    for kind, size in cones:
        rows = rows_of(kind, size)
        apart = kind in ("zero", "nonneg")
        numbers.append(last + (np.arange(rows) if apart else np.zeros(rows, dtype=int)))
        last += rows if apart else 1
    return np.concatenate(numbers)


def _table(pair: Indices, sign: Array, pairs: int) -> sp.csr_array:
    """Sparse (entries, pairs): the sign with which an entry answers to its pair."""
    where = np.flatnonzero(sign)
    shape = (len(sign), pairs)
    return sp.csr_array((sign[where], (where, pair[where])), shape=shape)


def _sums(group: Indices, size: int) -> sp.csr_array:
    entries = np.arange(len(group))
    shape = (int(size), len(group))
    return sp.csr_array((np.ones(len(group)), (group, entries)), shape=shape)


def _mean(parts: tuple[tuple[sp.csr_array, Array], ...]) -> Array:
    """Signed mean of the finite values of each group, 0 without any."""
    total, count = 0.0, 0.0
    for table, values in parts:
        finite = np.isfinite(values)
        total = total + (table @ np.where(finite, values, 0.0).T).T
        count = count + (abs(table) @ finite.T.astype(float)).T
    return np.asarray(total / np.maximum(count, 1.0))


def _row_mean(values: Array) -> Array:
    """Mean of the finite values of each context, 0 without any: shape (n, 1)."""
    finite = np.isfinite(values)
    total = np.where(finite, values, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(total / np.maximum(finite.sum(axis=1, keepdims=True), 1))


def _odd(values: Array) -> npt.NDArray[np.bool_]:
    size = np.abs(values)
    return (size > ORDINARY) | ((size < 1 / ORDINARY) & (size > 0))


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
