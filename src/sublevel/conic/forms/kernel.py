"""Compiled: contexts one after another, each read, solved by its formula and checked.

What a context needs stays in the cache from its first number to its last, and only the
solution is written. The check (`kernel_check`) reads the program's own numbers; it
shares nothing with the formulas. Where it does not hold, or a formula is not written
here, a context is left to NumPy's formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import SOURCES, compiled, inlined
from .kernel_check import holds
from .kernel_largest import largest_on_simplex, largest_within
from .kernel_linear import corner, ends, filled
from .kernel_norm import norm_below_ends, norm_in_box, norm_on_simplex
from .kernel_reading import LARGEST, NORM, NOTHING


@inlined
def _fill(where: Any, values: Any, i: int, to: Any) -> None:
    """The entries of context i; those that all share are there already."""
    for k in range(len(where)):
        to[where[k]] = values[i, k]


@inlined
def _read_region(form: Any, A: Any, b: Any, numbers: Any) -> tuple[bool, bool]:
    """Ends and slopes; whether x >= 0 with positive slopes, and without upper ends."""
    for j in range(len(numbers.lower)):
        numbers.lower[j], numbers.upper[j] = -np.inf, np.inf
    for k in range(len(form.bound_rows)):
        j, unit = form.bound_members[k], form.bound_units[k]
        end = b[form.bound_rows[k]] * unit
        if unit > 0:
            numbers.upper[j] = min(numbers.upper[j], end)
        else:
            numbers.lower[j] = max(numbers.lower[j], end)
    for k in range(len(form.row_members)):
        numbers.slopes[form.row_members[k]] = A[form.row_entries[k]]
    orthant, free = True, True
    for j in range(len(numbers.lower)):
        orthant &= numbers.lower[j] == 0 and (numbers.slopes[j] > 0 or form.row < 0)
        free &= numbers.upper[j] == np.inf
    return orthant, free


@inlined
def _read(form: Any, q: Any, A: Any, numbers: Any) -> float:
    """The other numbers of one context: those of entries, and the price."""
    for j in range(len(form.columns)):
        numbers.cost[j] = q[form.columns[j]]
    for k in range(len(form.size_members)):
        numbers.size_costs[form.size_members[k]] = q[form.size_columns[k]]
    price = 0.0
    if form.above != NOTHING:
        price = q[form.top]
        if form.above == NORM:
            price /= -A[form.heads[0]]
        for k in range(len(form.members)):
            weight = A[form.entries[k]]
            if form.above == LARGEST:
                weight /= -A[form.heads[k]]
            numbers.weights[form.members[k]] = weight
    return price


@inlined
def _least(
    form: Any, numbers: Any, orthant: bool, free: bool, level: float, price: float
) -> tuple[bool, float]:
    """Solve one context: whether there is a formula, and the row's multiplier."""
    coupled = form.row >= 0
    if form.above == NOTHING:
        if not coupled:
            ends(numbers)
            return True, 0.0
        if form.equal and orthant and free:
            return True, corner(numbers, level)
        return True, filled(numbers, level, form.equal)
    if not orthant:
        return False, 0.0
    if form.above == NORM:
        if not coupled:
            return norm_in_box(numbers, price), 0.0
        good, nu = norm_on_simplex(numbers, level, price, form.equal)
        if good and not free and _is_over(numbers):
            good, nu = norm_below_ends(numbers, level, price, form.equal, nu)
        return good, nu
    if coupled:
        good, nu = largest_on_simplex(numbers, level, price, form.equal)
        if not good or free or not _is_over(numbers):
            return good, nu
    good, nu = largest_within(numbers, level, price, coupled, form.equal)
    return good, nu


@inlined
def _is_over(numbers: Any) -> bool:
    """Whether an entry is beyond its upper end."""
    over = False
    for j in range(len(numbers.x)):
        over |= numbers.x[j] > numbers.upper[j]
    return over


@inlined
def _columns(form: Any, A: Any, numbers: Any, columns: Any) -> None:
    """All columns of the program: x, and what is above it."""
    n = len(form.columns)
    for j in range(n):
        columns[form.columns[j]] = numbers.x[j]
    for k in range(len(form.size_members)):
        columns[form.size_columns[k]] = abs(numbers.x[form.size_members[k]])
    if form.above == NORM:
        total = 0.0
        for j in range(n):
            moved = numbers.weights[j] * numbers.x[j]
            total += moved * moved
        columns[form.top] = np.sqrt(total) / -A[form.heads[0]]
    elif form.above == LARGEST:
        top = 0.0
        for j in range(n):
            top = max(top, abs(numbers.weights[j] * numbers.x[j]))
        columns[form.top] = top


@inlined
def _multipliers(
    form: Any, A: Any, b: Any, numbers: Any, nu: float, price: float, z: Any
) -> None:
    """Multipliers of all rows, from those of the form."""
    reduced, weights = numbers.reduced, numbers.weights
    for r in range(len(z)):
        z[r] = 0.0
    for j in range(len(reduced)):
        reduced[j] = numbers.cost[j] + numbers.slopes[j] * nu
    if form.row >= 0:
        z[form.row] = nu
    if form.above == NORM:
        z[form.head_row] = price
        for k in range(len(form.members)):
            z[form.rows[k]] = price * numbers.pull[form.members[k]]
    elif form.above == LARGEST:
        for k in range(len(form.members)):
            j = form.members[k]
            own = price * numbers.pull[j] / -A[form.heads[k]]
            if len(form.mirrored) and not weights[j] > 0:
                z[form.mirrored[k]] = own
            else:
                z[form.rows[k]] = own
    if form.above != NOTHING:
        # It is the absolute values that are under the top, where there are any.
        under = numbers.size_costs if len(form.size_members) > 0 else reduced
        for j in range(len(reduced)):
            slope = price * numbers.pull[j] * weights[j]
            under[j] += abs(slope) if form.above == LARGEST else slope
    for k in range(len(form.size_members)):
        j = form.size_members[k]
        due, x = numbers.size_costs[j], numbers.x[j]
        # The price goes to the side on which x is; at 0 to both, as the rest asks.
        plus = due if x > 0 else 0.0 if x < 0 else (due - reduced[j]) / 2
        plus = min(max(plus, 0.0), due)
        z[form.size_plus[k]] = plus / form.size_units[0, k]
        z[form.size_minus[k]] = (due - plus) / form.size_units[1, k]
        reduced[j] += 2 * plus - due
    for k in range(len(form.bound_rows)):
        j, unit = form.bound_members[k], form.bound_units[k]
        above = unit > 0
        end = numbers.upper[j] if above else numbers.lower[j]
        # Of several bounds the tightest pays, and of equal ones the first.
        if b[form.bound_rows[k]] * unit == end:
            owed = max(-reduced[j] if above else reduced[j], 0.0)
            z[form.bound_rows[k]] = owed * abs(unit)
            reduced[j] += owed if above else -owed


@compiled
def solve_contexts(
    blocks: Any,
    pattern: Any,
    form: Any,
    numbers: Any,
    room: Any,
    x: Any,
    good: Any,
    value: Any,
    bound: Any,
    sources: int = SOURCES,
) -> None:
    """Solve all contexts; `good` says which are optimal beyond doubt.

    Parameters
    ----------
    blocks : what all contexts share is written over by what is a context's own
    room : array of shape (3, rows), written
    x : array of shape (m, nx), written
    good, value, bound : arrays of shape (m,), written
    """
    q, A, b, z = blocks.q, blocks.A, blocks.b, room[0]
    orthant, free = False, False
    for i in range(len(x)):
        _fill(blocks.q_where, blocks.q_values, i, q)
        _fill(blocks.A_where, blocks.A_values, i, A)
        _fill(blocks.b_where, blocks.b_values, i, b)
        if i == 0 or not blocks.steady:
            orthant, free = _read_region(form, A, b, numbers)
        price = _read(form, q, A, numbers)
        level = b[form.row] if form.row >= 0 else 0.0
        good[i], nu = _least(form, numbers, orthant, free, level, price)
        if good[i]:
            _columns(form, A, numbers, x[i])
            _multipliers(form, A, b, numbers, nu, price, z)
            good[i], value[i], bound[i] = holds(pattern, q, A, b, x[i], room)
