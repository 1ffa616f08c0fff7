"""Compiled: the last unknowns, whose part of the factors has hardly a zero.

Its T rows and columns, T a multiple of TILE, are kept in panels of TILE rows: entry
(i, j) is vector number ((i // TILE) * T + j) * TILE + i % TILE. A tile of four by four
stays in registers while all columns before it are subtracted.
"""

from __future__ import annotations

from typing import Any

from ..compiled import inlined, part
from .lanes import at, choose_less, fma, load, number, store

#: Rows and columns of a tile; the functions below are written out for four.
TILE = 4
#: A pivot below the first, or of the wrong sign, is replaced by the second.
LEAST_PIVOT, OWN_PIVOT = 1e-13, 2e-7


@inlined
def kept_pivot(pivot: Any, sign: float) -> Any:
    """The pivot, or one of our own where it is next to nothing or of wrong sign."""
    return choose_less(pivot * sign, LEAST_PIVOT, sign * OWN_PIVOT, pivot)


@part
def factor_tail(plan: Any, tail: Any, panel: Any, pivots: Any, inverse: Any) -> None:
    """L over the tail, and the inverse of D; K less all other columns is there."""
    T, first = plan.tail, plan.unknowns - plan.tail
    for J in range(T // TILE):
        start = J * TILE
        # Minus L D of these columns' own rows, once for all tiles.
        for k in range(start):
            own, place = -load(pivots, k), (J * T + k) * TILE
            for c in range(TILE):
                store(panel, k * TILE + c, own * load(tail, place + c))
        _diagonal_tile(plan, tail, panel, pivots, inverse, J, first)
        corner = (J * T + start) * TILE
        l10, l20, l30 = (
            load(tail, corner + 1),
            load(tail, corner + 2),
            load(tail, corner + 3),
        )
        l21, l31 = load(tail, corner + 6), load(tail, corner + 7)
        l32 = load(tail, corner + 11)
        i0, i1 = load(inverse, first + start), load(inverse, first + start + 1)
        i2, i3 = load(inverse, first + start + 2), load(inverse, first + start + 3)
        for panel_row in range(J + 1, T // TILE):
            base = panel_row * T * TILE
            p = base + start * TILE
            c00, c10, c20, c30 = _column(tail, p)
            c01, c11, c21, c31 = _column(tail, p + TILE)
            c02, c12, c22, c32 = _column(tail, p + 2 * TILE)
            c03, c13, c23, c33 = _column(tail, p + 3 * TILE)
            for k in range(start):
                a0, a1, a2, a3 = _column(tail, base + k * TILE)
                y0, y1, y2, y3 = _column(panel, k * TILE)
                c00, c10 = fma(a0, y0, c00), fma(a1, y0, c10)
                c20, c30 = fma(a2, y0, c20), fma(a3, y0, c30)
                c01, c11 = fma(a0, y1, c01), fma(a1, y1, c11)
                c21, c31 = fma(a2, y1, c21), fma(a3, y1, c31)
                c02, c12 = fma(a0, y2, c02), fma(a1, y2, c12)
                c22, c32 = fma(a2, y2, c22), fma(a3, y2, c32)
                c03, c13 = fma(a0, y3, c03), fma(a1, y3, c13)
                c23, c33 = fma(a2, y3, c23), fma(a3, y3, c33)
            _finish_row(tail, p, c00, c01, c02, c03, l10, l20, l30, l21, l31, l32)
            _finish_row(tail, p + 1, c10, c11, c12, c13, l10, l20, l30, l21, l31, l32)
            _finish_row(tail, p + 2, c20, c21, c22, c23, l10, l20, l30, l21, l31, l32)
            _finish_row(tail, p + 3, c30, c31, c32, c33, l10, l20, l30, l21, l31, l32)
            for r in range(TILE):
                store(tail, p + r, load(tail, p + r) * i0)
                store(tail, p + TILE + r, load(tail, p + TILE + r) * i1)
                store(tail, p + 2 * TILE + r, load(tail, p + 2 * TILE + r) * i2)
                store(tail, p + 3 * TILE + r, load(tail, p + 3 * TILE + r) * i3)


@inlined
def _column(tiles: Any, p: int) -> Any:
    return load(tiles, p), load(tiles, p + 1), load(tiles, p + 2), load(tiles, p + 3)


@inlined
def _finish_row(
    tail: Any,
    p: int,
    c0: Any,
    c1: Any,
    c2: Any,
    c3: Any,
    l10: Any,
    l20: Any,
    l30: Any,
    l21: Any,
    l31: Any,
    l32: Any,
) -> None:
    """Write a row of L D, less the columns of its own tile."""
    c1 = fma(-c0, l10, c1)
    c2 = fma(-c1, l21, fma(-c0, l20, c2))
    c3 = fma(-c2, l32, fma(-c1, l31, fma(-c0, l30, c3)))
    store(tail, p, c0)
    store(tail, p + TILE, c1)
    store(tail, p + 2 * TILE, c2)
    store(tail, p + 3 * TILE, c3)


@inlined
def _diagonal_tile(
    plan: Any, tail: Any, panel: Any, pivots: Any, inverse: Any, J: int, first: int
) -> None:
    T, start = plan.tail, J * TILE
    base = J * T * TILE
    for c in range(TILE):
        j = first + start + c
        for r in range(c, TILE):
            total = load(tail, base + (start + c) * TILE + r)
            for k in range(start):
                row = load(tail, base + k * TILE + r)
                total = fma(row, load(panel, k * TILE + c), total)
            for k in range(c):
                row = load(tail, base + (start + k) * TILE + r)
                own = load(tail, base + (start + k) * TILE + c)
                total = fma(-row * load(pivots, start + k), own, total)
            if r == c:
                pivot = kept_pivot(
                    total + number(plan.shift, j), number(plan.pivot_sign, j)
                )
                store(pivots, start + c, pivot)
                store(inverse, j, 1.0 / pivot)
            else:
                over = load(inverse, j)
                store(tail, base + (start + c) * TILE + r, total * over)


@inlined
def substitute_tail(plan: Any, tail: Any, inverse: Any, right: Any) -> None:
    """Write the solution of L D L' x = right over right, both of the tail alone."""
    T, first = plan.tail, plan.unknowns - plan.tail
    for panel_row in range(T // TILE):
        start = panel_row * TILE
        base = panel_row * T * TILE
        r0, r1, r2, r3 = _column(right, start)
        for k in range(start):
            p, value = base + k * TILE, load(right, k)
            r0 = fma(-load(tail, p), value, r0)
            r1 = fma(-load(tail, p + 1), value, r1)
            r2 = fma(-load(tail, p + 2), value, r2)
            r3 = fma(-load(tail, p + 3), value, r3)
        p = base + start * TILE
        r1 = fma(-load(tail, p + 1), r0, r1)
        r2 = fma(-load(tail, p + 6), r1, fma(-load(tail, p + 2), r0, r2))
        r3 = fma(-load(tail, p + 7), r1, fma(-load(tail, p + 3), r0, r3))
        r3 = fma(-load(tail, p + 11), r2, r3)
        store(right, start, r0)
        store(right, start + 1, r1)
        store(right, start + 2, r2)
        store(right, start + 3, r3)
    for k in range(T):
        store(right, k, load(right, k) * load(inverse, first + k))
    for turn in range(T // TILE):
        panel_row = T // TILE - 1 - turn
        start = panel_row * TILE
        base = panel_row * T * TILE
        p = base + start * TILE
        r0, r1, r2, r3 = _column(right, start)
        r2 = fma(-load(tail, p + 11), r3, r2)
        r1 = fma(-load(tail, p + 6), r2, fma(-load(tail, p + 7), r3, r1))
        r0 = fma(-load(tail, p + 2), r2, fma(-load(tail, p + 3), r3, r0))
        r0 = fma(-load(tail, p + 1), r1, r0)
        store(right, start, r0)
        store(right, start + 1, r1)
        store(right, start + 2, r2)
        for k in range(start):
            p = base + k * TILE
            value = fma(-load(tail, p), r0, load(right, k))
            value = fma(-load(tail, p + 1), r1, value)
            value = fma(-load(tail, p + 2), r2, value)
            store(right, k, fma(-load(tail, p + 3), r3, value))


@inlined
def clear_tail(plan: Any, K: Any, tail: Any) -> None:
    """The tail's own part of K."""
    T = plan.tail
    for panel_row in range(T // TILE):
        base = panel_row * T * TILE
        for k in range((panel_row + 1) * TILE * TILE):
            store(tail, base + k, 0.0)
    for e in range(plan.tail_slots):
        store(tail, at(plan.tail_at, e), load(K, at(plan.tail_slot, e)))


@inlined
def subtract_from_tail(
    plan: Any, L: Any, pivot: Any, tail: Any, first: int, end: int
) -> None:
    """One column's products, of its entries in the tail's rows."""
    T = plan.tail
    for e in range(first, end):
        row, own = at(plan.tail_row, e), -load(L, e) * pivot
        base = (row // TILE * T) * TILE + row % TILE
        for f in range(first, e + 1):
            p = base + at(plan.tail_row, f) * TILE
            store(tail, p, fma(own, load(L, f), load(tail, p)))
