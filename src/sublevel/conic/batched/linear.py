"""Compiled: factors of K, solutions with them, and products with K."""

from __future__ import annotations

from typing import Any

from .compiled import inlined, part
from .lanes import any_less, at, choose_less, fma, load, size, splat, store

#: A pivot below the first, or of the wrong sign, is replaced by the second.
LEAST_PIVOT, OWN_PIVOT = 1e-13, 2e-7
#: Residuals at which a solution is good: absolute, and relative to the right-hand side.
ABSOLUTE, RELATIVE = 1e-11, 1e-10
#: Corrections at most, and by what each must shrink the residual to be followed by one
#: more.
CORRECTIONS, SHRINK = 4, 5.0


@part
def factor(plan: Any, K: Any, L: Any, Y: Any, inverse: Any) -> None:
    """L and the inverse of D, with Y = L D, of K plus a shift of its diagonal."""
    for j in range(plan.unknowns):
        sign = plan.pivot_sign[j]
        pivot = load(K, at(plan.pivot_slot, j)) + plan.shift[j]
        for t in range(at(plan.left_first, j), at(plan.left_first, j + 1)):
            e = at(plan.left_entry, t)
            pivot = fma(-load(Y, e), load(L, e), pivot)
        pivot = choose_less(pivot * sign, LEAST_PIVOT, sign * OWN_PIVOT, pivot)
        one_over = 1.0 / pivot
        store(inverse, j, one_over)
        for e in range(at(plan.below_first, j), at(plan.below_first, j + 1)):
            total = load(K, at(plan.slot, e))
            for t in range(at(plan.pair_first, e), at(plan.pair_first, e + 1)):
                product = load(L, at(plan.pair_right, t))
                total = fma(-load(Y, at(plan.pair_left, t)), product, total)
            store(Y, e, total)
            store(L, e, total * one_over)


@inlined
def substitute(plan: Any, L: Any, inverse: Any, right: Any) -> None:
    """Write the solution of L D L' x = right over right."""
    for j in range(plan.unknowns):
        node = at(plan.node, j)
        total = load(right, node)
        for t in range(at(plan.left_first, j), at(plan.left_first, j + 1)):
            solved = load(right, at(plan.left, t))
            total = fma(-load(L, at(plan.left_entry, t)), solved, total)
        store(right, node, total)
    for k in range(plan.unknowns):
        j = plan.unknowns - 1 - k
        node = at(plan.node, j)
        total = load(right, node) * load(inverse, j)
        for e in range(at(plan.below_first, j), at(plan.below_first, j + 1)):
            total = fma(-load(L, e), load(right, at(plan.below, e)), total)
        store(right, node, total)


@inlined
def times(plan: Any, K: Any, x: Any, result: Any, shift: int) -> None:
    """A x, written from position `shift` on."""
    for i in range(plan.height):
        total = splat(0.0)
        for t in range(at(plan.A_first, i), at(plan.A_first, i + 1)):
            factor = load(x, at(plan.A_column, t))
            total = fma(load(K, at(plan.A_slot, t)), factor, total)
        store(result, shift + i, total)


@inlined
def times_transposed(plan: Any, K: Any, z: Any, shift: int, result: Any) -> None:
    """A' z, with z from position `shift` on."""
    for j in range(plan.width):
        total = splat(0.0)
        for e in range(at(plan.A_start, j), at(plan.A_start, j + 1)):
            total = fma(load(K, e), load(z, shift + at(plan.A_row, e)), total)
        store(result, j, total)


@inlined
def add_curvature(plan: Any, K: Any, x: Any, result: Any) -> None:
    """P x, added."""
    first = len(plan.A_row)
    for e in range(len(plan.P_row)):
        i, j = at(plan.P_row, e), at(plan.P_column, e)
        value = load(K, first + e)
        store(result, i, fma(value, load(x, j), load(result, i)))
        if i != j:
            store(result, j, fma(value, load(x, i), load(result, j)))


@inlined
def times_squared(
    plan: Any, K: Any, w: Any, eta: Any, z: Any, shift: int, result: Any
) -> None:
    """H z, with z from position `shift` on."""
    for i in range(plan.height):
        store(result, i, -load(K, at(plan.diagonal, i)) * load(z, shift + i))
    for c in range(len(plan.soc)):
        start, rows = plan.soc[c, 0], plan.soc[c, 1]
        # eta^2 (2 w w' - J) z.
        total = splat(0.0)
        for k in range(rows):
            total = fma(load(w, start + k), load(z, shift + start + k), total)
        total = total + total
        square = load(eta, c) * load(eta, c)
        head = load(z, shift + start)
        store(result, start, square * fma(load(w, start), total, -head))
        for k in range(1, rows):
            tail = load(z, shift + start + k)
            store(result, start + k, square * fma(load(w, start + k), total, tail))


@inlined
def residual(
    plan: Any, K: Any, w: Any, eta: Any, right: Any, guess: Any, left: Any, room: Any
) -> Any:
    """Write right - K guess to `left`, and its largest size."""
    n, m = plan.width, plan.height
    times_transposed(plan, K, guess, n, left)
    add_curvature(plan, K, guess, left)
    worst = splat(0.0)
    for j in range(n):
        off = load(right, j) - load(left, j)
        store(left, j, off)
        worst = choose_less(worst, size(off), size(off), worst)
    times(plan, K, guess, left, n)
    times_squared(plan, K, w, eta, guess, n, room)
    for i in range(m):
        off = load(right, n + i) - (load(left, n + i) - load(room, i))
        store(left, n + i, off)
        worst = choose_less(worst, size(off), size(off), worst)
    for k in range(n + m, plan.unknowns):
        store(left, k, 0.0)
    return worst


@part
def solve(
    plan: Any,
    K: Any,
    L: Any,
    inverse: Any,
    w: Any,
    eta: Any,
    right: Any,
    solution: Any,
    trial: Any,
    left: Any,
    room: Any,
) -> int:
    """Write the solution of K x = right, corrected until its residual is small.

    Gives the number of corrections.
    """
    size_right = splat(0.0)
    for k in range(plan.width + plan.height):
        value = load(right, k)
        store(solution, k, value)
        value = size(value)
        size_right = choose_less(size_right, value, value, size_right)
    for k in range(plan.width + plan.height, plan.unknowns):
        store(solution, k, 0.0)
    substitute(plan, L, inverse, solution)
    enough = fma(size_right, RELATIVE, ABSOLUTE)
    worst = residual(plan, K, w, eta, right, solution, left, room)
    # One where a lane still wants correcting.
    wants = choose_less(enough, worst, 1.0, splat(0.0))
    for correction in range(CORRECTIONS):
        if not any_less(0.5, wants):
            return correction
        substitute(plan, L, inverse, left)
        for k in range(plan.width + plan.height):
            store(trial, k, load(solution, k) + load(left, k))
        after = residual(plan, K, w, eta, right, trial, left, room)
        better = choose_less(after, worst, wants, splat(0.0))
        for k in range(plan.width + plan.height):
            kept = load(solution, k)
            store(solution, k, choose_less(0.5, better, load(trial, k), kept))
        more = choose_less(after * SHRINK, worst, better, splat(0.0))
        worst = choose_less(0.5, better, after, worst)
        wants = choose_less(enough, worst, more, splat(0.0))
    return CORRECTIONS
