"""Compiled: factors of K, solutions with them, and products with K."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..compiled import inlined, part
from .dense import (
    clear_tail,
    factor_tail,
    kept_pivot,
    substitute_tail,
    subtract_from_tail,
)
from .lanes import any_less, at, choose_less, fma, load, number, size, splat, store
from .nonsymmetric import block_product
from .walk import cone

#: Residuals at which a solution is good: absolute, and relative to the right-hand side.
ABSOLUTE, RELATIVE = 1e-10, 1e-8
#: Corrections at most, by what each must shrink the residual to be followed by one
#: more, and how many times too large a residual may be for the first correction to be
#: taken without a look at what it leaves.
CORRECTIONS, SHRINK, NEARLY = 4, 5.0, 100.0


class Side(NamedTuple):
    """Addresses of a right-hand side, its solution, and room for corrections."""

    right: int
    solution: int
    trial: int
    left: int


@part
def factor(plan: Any, room: Any) -> None:
    """L and the inverse of D, with Y = L D, of K plus a shift of its diagonal."""
    K, L, Y, inverse = room.K, room.L, room.Y, room.inverse
    clear_tail(plan, K, room.tail)
    for j in range(plan.unknowns - plan.tail):
        pivot = load(K, at(plan.pivot_slot, j)) + number(plan.shift, j)
        for t in range(at(plan.left_first, j), at(plan.left_first, j + 1)):
            e = at(plan.left_entry, t)
            pivot = fma(-load(Y, e), load(L, e), pivot)
        pivot = kept_pivot(pivot, number(plan.pivot_sign, j))
        one_over = 1.0 / pivot
        store(inverse, j, one_over)
        begin, end = at(plan.below_first, j), at(plan.below_first, j + 1)
        first = at(plan.tail_first, j)
        for e in range(begin, end):
            total = load(K, at(plan.slot, e))
            for t in range(at(plan.pair_first, e), at(plan.pair_first, e + 1)):
                product = load(L, at(plan.pair_right, t))
                total = fma(-load(Y, at(plan.pair_left, t)), product, total)
            if first > begin:
                # Nobody asks for it if all entries are in the tail.
                store(Y, e, total)
            store(L, e, total * one_over)
        subtract_from_tail(plan, L, pivot, room.tail, first, end)
    if plan.tail:
        factor_tail(plan, room.tail, room.panel, room.pivots, inverse)


@inlined
def substitute(plan: Any, room: Any, one: Any, other: Any) -> None:
    """Write solutions of L D L' x = right over one right-hand side, or over two."""
    L, inverse = room.L, room.inverse
    first = plan.unknowns - plan.tail
    for j in range(plan.unknowns):
        node = at(plan.node, j)
        total = load(one, node)
        if other is not None:
            second = load(other, node)
        for t in range(at(plan.left_first, j), at(plan.left_first, j + 1)):
            entry, before = load(L, at(plan.left_entry, t)), at(plan.left, t)
            total = fma(-entry, load(one, before), total)
            if other is not None:
                second = fma(-entry, load(other, before), second)
        store(one, node, total)
        if other is not None:
            store(other, node, second)
    if plan.tail:
        _in_tail(plan, room, one)
        if other is not None:
            _in_tail(plan, room, other)
    for k in range(first):
        j = first - 1 - k
        node = at(plan.node, j)
        total = load(one, node) * load(inverse, j)
        if other is not None:
            second = load(other, node) * load(inverse, j)
        for e in range(at(plan.below_first, j), at(plan.below_first, j + 1)):
            entry, after = load(L, e), at(plan.below, e)
            total = fma(-entry, load(one, after), total)
            if other is not None:
                second = fma(-entry, load(other, after), second)
        store(one, node, total)
        if other is not None:
            store(other, node, second)


@part
def _in_tail(plan: Any, room: Any, right: Any) -> None:
    first = plan.unknowns - plan.tail
    for k in range(plan.tail):
        store(room.last, k, load(right, at(plan.node, first + k)))
    substitute_tail(plan, room.tail, room.inverse, room.last)
    for k in range(plan.tail):
        store(right, at(plan.node, first + k), load(room.last, k))


@inlined
def row_product(plan: Any, K: Any, x: Any, i: int) -> Any:
    """Row i of A x."""
    total = splat(0.0)
    for t in range(at(plan.A_first, i), at(plan.A_first, i + 1)):
        factor = load(x, at(plan.A_column, t))
        total = fma(load(K, at(plan.A_slot, t)), factor, total)
    return total


@inlined
def column_product(plan: Any, K: Any, z: Any, shift: int, j: int) -> Any:
    """Column j of A' z, with z from position `shift` on."""
    total = splat(0.0)
    for e in range(at(plan.A_start, j), at(plan.A_start, j + 1)):
        total = fma(load(K, e), load(z, shift + at(plan.A_row, e)), total)
    return total


@inlined
def curvature(plan: Any, K: Any, x: Any, result: Any) -> None:
    """P x."""
    for j in range(plan.width):
        store(result, j, 0.0)
    first = plan.entries
    for e in range(plan.curves):
        i, j = at(plan.P_row, e), at(plan.P_column, e)
        value = load(K, first + e)
        store(result, i, fma(value, load(x, j), load(result, i)))
        if i != j:
            store(result, j, fma(value, load(x, i), load(result, j)))


@part
def residual(plan: Any, skew: Any, room: Any, right: Any, guess: Any, left: Any) -> Any:
    """Write right - K guess to `left`, and its largest size."""
    n, K, w = plan.width, room.K, room.w
    curved = plan.curves > 0
    if curved:
        curvature(plan, K, guess, left)
    worst = splat(0.0)
    for j in range(n):
        off = load(right, j) - column_product(plan, K, guess, n, j)
        if curved:
            off = off - load(left, j)
        store(left, j, off)
        worst = choose_less(worst, size(off), size(off), worst)
    for t in range(plan.flats):
        i = at(plan.flat, t)
        off = load(right, n + i) - row_product(plan, K, guess, i)
        off = fma(-load(K, at(plan.diagonal, i)), load(guess, n + i), off)
        store(left, n + i, off)
        worst = choose_less(worst, size(off), size(off), worst)
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        # H z = eta^2 (2 w w' - J) z.
        total = splat(0.0)
        for i in range(start, start + rows):
            total = fma(load(w, i), load(guess, n + i), total)
        square = load(room.eta, c) * load(room.eta, c)
        total = (total + total) * square
        for i in range(start, start + rows):
            off = load(right, n + i) - row_product(plan, K, guess, i)
            own = load(guess, n + i) * square
            off = fma(load(w, i), total, off) + (-own if i == start else own)
            store(left, n + i, off)
            worst = choose_less(worst, size(off), size(off), worst)
    if skew is not None:
        worst = _skew_residual(plan, skew, room, right, guess, left, worst)
    for k in range(n + plan.height, plan.unknowns):
        store(left, k, 0.0)
    return worst


@inlined
def _skew_residual(
    plan: Any, skew: Any, room: Any, right: Any, guess: Any, left: Any, worst: Any
) -> Any:
    """The same for the rows of exponential and power cones."""
    n = plan.width
    for c in range(skew.cones):
        start, product = block_product(plan, skew, room, guess, c)
        for k in range(3):
            i = start + k
            off = load(right, n + i) - row_product(plan, room.K, guess, i)
            off = off - product[k]
            store(left, n + i, off)
            worst = choose_less(worst, size(off), size(off), worst)
    return worst


@inlined
def _begun(plan: Any, side: Any) -> Any:
    """Copy the right-hand side, and say which residual is small enough."""
    largest = splat(0.0)
    for k in range(plan.width + plan.height):
        value = load(side.right, k)
        store(side.solution, k, value)
        value = size(value)
        largest = choose_less(largest, value, value, largest)
    for k in range(plan.width + plan.height, plan.unknowns):
        store(side.solution, k, 0.0)
    return fma(largest, RELATIVE, ABSOLUTE)


@part
def _corrected(
    plan: Any, skew: Any, room: Any, side: Any, wants: Any, worst: Any, enough: Any
) -> Any:
    """Add a correction where a lane wants it; what it wants, and misses, after that."""
    solution, left = side.solution, side.left
    sure = choose_less(worst, enough * NEARLY, wants, splat(0.0))
    wants = wants - sure
    if not any_less(0.5, wants):
        for k in range(plan.width + plan.height):
            kept = load(solution, k)
            better = kept + load(left, k)
            store(solution, k, choose_less(0.5, sure, better, kept))
        return wants, worst
    for k in range(plan.width + plan.height):
        kept = load(solution, k)
        better = kept + load(left, k)
        store(side.trial, k, better)
        store(solution, k, choose_less(0.5, sure, better, kept))
    after = residual(plan, skew, room, side.right, side.trial, left)
    better = choose_less(after, worst, wants, splat(0.0))
    for k in range(plan.width + plan.height):
        kept = load(solution, k)
        store(solution, k, choose_less(0.5, better, load(side.trial, k), kept))
    more = choose_less(after * SHRINK, worst, better, splat(0.0))
    worst = choose_less(0.5, better, after, worst)
    return choose_less(enough, worst, more, splat(0.0)), worst


@part
def solve_one(plan: Any, skew: Any, room: Any, side: Any) -> int:
    """Write the solution of K x = right, corrected until its residual is small.

    Gives the number of corrections.
    """
    enough = _begun(plan, side)
    substitute(plan, room, side.solution, None)
    worst = residual(plan, skew, room, side.right, side.solution, side.left)
    # One where a lane still wants correcting.
    wants = choose_less(enough, worst, 1.0, splat(0.0))
    for correction in range(CORRECTIONS):
        if not any_less(0.5, wants):
            return correction
        substitute(plan, room, side.left, None)
        wants, worst = _corrected(plan, skew, room, side, wants, worst, enough)
    return CORRECTIONS


@part
def solve_two(plan: Any, skew: Any, room: Any, one: Any, other: Any) -> int:
    """The same for two right-hand sides: the factors are read once for both."""
    enough, enough_2 = _begun(plan, one), _begun(plan, other)
    substitute(plan, room, one.solution, other.solution)
    worst = residual(plan, skew, room, one.right, one.solution, one.left)
    worst_2 = residual(plan, skew, room, other.right, other.solution, other.left)
    wants = choose_less(enough, worst, 1.0, splat(0.0))
    wants_2 = choose_less(enough_2, worst_2, 1.0, splat(0.0))
    for correction in range(CORRECTIONS):
        if not any_less(0.5, wants + wants_2):
            return correction
        substitute(plan, room, one.left, other.left)
        wants, worst = _corrected(plan, skew, room, one, wants, worst, enough)
        wants_2, worst_2 = _corrected(
            plan, skew, room, other, wants_2, worst_2, enough_2
        )
    return CORRECTIONS
