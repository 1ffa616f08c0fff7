"""Compiled: the exponents of `scaling`, eight contexts at a time.

The same sweeps as `scaling.swept`. What no context has (a zero has no size) weighs
nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import SOURCES, compiled, inlined, part
from ..layout import Layout
from ..scaling import FAR, Exponents, Logarithms
from .lanes import WIDTH, at, choose_less, fma, load, number, put, size, splat, store


class Groups(NamedTuple):
    """Sizes, and addresses of the positions that a layout has."""

    entries: int
    rows: int
    columns: int
    curves: int
    groups: int
    pairs: int
    start: int
    of_entry: int
    of_row: int
    pair_entry: int
    pair_row: int
    sign_entry: int
    sign_row: int
    p_row: int
    p_column: int


class Place(NamedTuple):
    """Addresses of where the lanes live."""

    A: int
    weights_of_a: int
    b: int
    weights_of_b: int
    q: int
    weights_of_q: int
    P: int
    weights_of_p: int
    e: int
    h: int
    d: int
    total: int
    weight: int


def swept(layout: Layout, logs: Logarithms, sweeps: int) -> Exponents:
    """The exponents of all contexts."""
    n, entries = logs.A.shape
    rows, columns, curves = logs.b.shape[1], logs.q.shape[1], logs.P.shape[1]
    positions = [
        np.ascontiguousarray(part, dtype=np.int32)
        for part in (
            layout.column_starts,
            layout.of_entry,
            layout.of_row,
            layout.pair_entry,
            layout.pair_row,
        )
    ]
    signs = [
        np.ascontiguousarray(part, dtype=float)
        for part in (layout.sign_entry, layout.sign_row)
    ]
    curved = [
        np.ascontiguousarray(part, dtype=np.int32)
        for part in (layout.P_row, layout.P_column)
    ]
    arrays = [*positions, *signs, *curved]
    counts = entries, rows, columns, curves, layout.groups, layout.pairs
    groups = Groups(*counts, *(part.ctypes.data for part in arrays))
    widest = max(layout.groups, layout.pairs, columns, 1)
    sizes = [entries, entries, rows, rows, columns, columns, curves, curves]
    sizes += [layout.groups, layout.pairs, columns, widest, widest]
    vector = 8 * WIDTH
    memory = np.zeros((sum(sizes) + 1) * WIDTH)
    start = -(-memory.ctypes.data // vector) * vector
    ends = np.cumsum([0, *sizes[:-1]]) * vector
    place = Place(*(start + int(end) for end in ends))
    given = [np.ascontiguousarray(part) for part in logs]
    e, h = np.zeros((n, layout.groups)), np.zeros((n, layout.pairs))
    d, s, t = np.zeros((n, columns)), np.zeros((n, 1)), np.zeros((n, 1))
    _sweep_all(groups, place, tuple(given), (e, h, d, s, t), sweeps)
    # Both outlive the addresses that were taken of them.
    del arrays, memory
    return Exponents(e, h, d, s, t)


@inlined
def _take(values: Any, i: int, lane: int, to: int, by: int) -> None:
    """Logarithms of one context, and their weights."""
    for k in range(values.shape[1]):
        there = np.isfinite(values[i, k])
        put(to, k * WIDTH + lane, values[i, k] if there else 0.0)
        put(by, k * WIDTH + lane, 1.0 if there else 0.0)


@inlined
def _give(values: Any, i: int, lane: int, address: int) -> None:
    for k in range(values.shape[1]):
        values[i, k] = number(address, k * WIDTH + lane)


@compiled
def _sweep_all(
    groups: Any,
    place: Any,
    logs: Any,
    exponents: Any,
    sweeps: int,
    sources: int = SOURCES,
) -> None:
    A, b, q, P = logs
    e, h, d, s, t = exponents
    contexts = len(A)
    kept = np.zeros(2 * WIDTH)
    for first in range(0, contexts, WIDTH):
        for lane in range(WIDTH):
            # Lanes without a context of their own repeat one, and tell nobody.
            i = min(first + lane, contexts - 1)
            _take(A, i, lane, place.A, place.weights_of_a)
            _take(b, i, lane, place.b, place.weights_of_b)
            _take(q, i, lane, place.q, place.weights_of_q)
            _take(P, i, lane, place.P, place.weights_of_p)
        for k in range(groups.pairs):
            store(place.h, k, 0.0)
        for k in range(groups.columns):
            store(place.d, k, 0.0)
        point, aim = splat(0.0), splat(0.0)
        for _ in range(sweeps):
            point, aim = _sweep(groups, place, point, aim)
        store(np.intp(kept.ctypes.data), 0, point)
        store(np.intp(kept.ctypes.data), 1, aim)
        for lane in range(min(WIDTH, contexts - first)):
            _give(e, first + lane, lane, place.e)
            _give(h, first + lane, lane, place.h)
            _give(d, first + lane, lane, place.d)
            s[first + lane, 0] = kept[lane]
            t[first + lane, 0] = kept[WIDTH + lane]


@inlined
def _tilt(groups: Any, place: Any, pair: int, sign: int, k: int) -> Any:
    return load(place.h, at(pair, k)) * number(sign, k)


@inlined
def _add(place: Any, group: int, by: Any, value: Any) -> None:
    store(place.total, group, fma(by, value, load(place.total, group)))
    store(place.weight, group, load(place.weight, group) + by)


@inlined
def _over(total: Any, weight: Any) -> Any:
    return total / choose_less(0.0, weight, weight, 1.0)


@inlined
def _clear(place: Any, count: int) -> None:
    for k in range(count):
        store(place.total, k, 0.0)
        store(place.weight, k, 0.0)


@inlined
def _weigh(by: int, k: int, off: Any) -> None:
    """Weights that make a sum of squares one of sizes, for what is far off."""
    far = size(off) * (1.0 / FAR)
    less = 1.0 / choose_less(far, 1.0, 1.0, far)
    store(by, k, choose_less(0.0, load(by, k), less, 0.0))


@inlined
def _row_units(groups: Any, place: Any, point: Any) -> None:
    """The exponent of every group of rows."""
    _clear(place, groups.groups)
    for j in range(groups.columns):
        own = load(place.d, j)
        for k in range(at(groups.start, j), at(groups.start, j + 1)):
            off = load(place.A, k) + own
            if groups.pairs:
                sign = groups.sign_entry
                off = off + _tilt(groups, place, groups.pair_entry, sign, k)
            _add(place, at(groups.of_entry, k), load(place.weights_of_a, k), off)
    for i in range(groups.rows):
        off = load(place.b, i) - point
        if groups.pairs:
            off = off + _tilt(groups, place, groups.pair_row, groups.sign_row, i)
        _add(place, at(groups.of_row, i), load(place.weights_of_b, i), off)
    for g in range(groups.groups):
        store(place.e, g, -_over(load(place.total, g), load(place.weight, g)))


@inlined
def _entry(groups: Any, place: Any, k: int) -> Any:
    """An entry of A in the units of its row."""
    off = load(place.A, k) + load(place.e, at(groups.of_entry, k))
    if groups.pairs:
        off = off + _tilt(groups, place, groups.pair_entry, groups.sign_entry, k)
    return off


@inlined
def _right(groups: Any, place: Any, i: int, point: Any) -> Any:
    off = load(place.b, i) - point + load(place.e, at(groups.of_row, i))
    if groups.pairs:
        off = off + _tilt(groups, place, groups.pair_row, groups.sign_row, i)
    return off


@part
def _pair_units(groups: Any, place: Any, point: Any) -> None:
    """What y and t of each pair trade."""
    _clear(place, groups.pairs)
    for j in range(groups.columns):
        own = load(place.d, j)
        for k in range(at(groups.start, j), at(groups.start, j + 1)):
            sign = number(groups.sign_entry, k)
            if sign != 0.0:
                off = (_entry(groups, place, k) + own) * sign
                _add(place, at(groups.pair_entry, k), load(place.weights_of_a, k), off)
    for i in range(groups.rows):
        sign = number(groups.sign_row, i)
        if sign != 0.0:
            off = _right(groups, place, i, point) * sign
            _add(place, at(groups.pair_row, i), load(place.weights_of_b, i), off)
    for g in range(groups.pairs):
        step = _over(load(place.total, g), load(place.weight, g))
        store(place.h, g, load(place.h, g) - step)


@inlined
def _column_units(groups: Any, place: Any, point: Any, aim: Any) -> None:
    """The exponent of every column."""
    _clear(place, groups.columns)
    for k in range(groups.curves):
        i, j = at(groups.p_row, k), at(groups.p_column, k)
        off, by = load(place.P, k) + aim + point, load(place.weights_of_p, k)
        if i == j:
            # A square has its column's unit twice.
            _add(place, i, by * 4.0, off * 0.5)
        else:
            _add(place, i, by, off + load(place.d, j))
            _add(place, j, by, off + load(place.d, i))
    for j in range(groups.columns):
        by = load(place.weights_of_q, j)
        total = fma(by, load(place.q, j) + aim, load(place.total, j))
        weight = load(place.weight, j) + by
        for k in range(at(groups.start, j), at(groups.start, j + 1)):
            by = load(place.weights_of_a, k)
            total = fma(by, _entry(groups, place, k), total)
            weight = weight + by
        store(place.d, j, -_over(total, weight))


@part
def _sweep(groups: Any, place: Any, point: Any, aim: Any) -> Any:
    """One pass over rows, pairs, columns; gives the exponents of point and aim."""
    _row_units(groups, place, point)
    if groups.pairs:
        _pair_units(groups, place, point)
    _column_units(groups, place, point, aim)
    zero = splat(0.0)
    sum_b, of_b, sum_q, of_q, sum_P, of_P = zero, zero, zero, zero, zero, zero
    for i in range(groups.rows):
        by = load(place.weights_of_b, i)
        sum_b, of_b = fma(by, _right(groups, place, i, point), sum_b), of_b + by
    for j in range(groups.columns):
        by, off = load(place.weights_of_q, j), load(place.q, j) + load(place.d, j) + aim
        sum_q, of_q = fma(by, off, sum_q), of_q + by
    for k in range(groups.curves):
        by, off = load(place.weights_of_p, k), _curve(groups, place, k, point, aim)
        sum_P, of_P = fma(by, off, sum_P), of_P + by
    # A trace of weight says what happens where something is free: nothing.
    own_s, own_t = of_b + of_P + 1e-9, of_q + of_P + 1e-9
    right_s, right_t = sum_b - sum_P, -sum_q - sum_P
    over = 1.0 / (own_s * own_t - of_P * of_P)
    point = point + (own_t * right_s - of_P * right_t) * over
    aim = aim + (own_s * right_t - of_P * right_s) * over
    for j in range(groups.columns):
        own = load(place.d, j)
        for k in range(at(groups.start, j), at(groups.start, j + 1)):
            _weigh(place.weights_of_a, k, _entry(groups, place, k) + own)
        _weigh(place.weights_of_q, j, load(place.q, j) + own + aim)
    for i in range(groups.rows):
        _weigh(place.weights_of_b, i, _right(groups, place, i, point))
    for k in range(groups.curves):
        _weigh(place.weights_of_p, k, _curve(groups, place, k, point, aim))
    return point, aim


@inlined
def _curve(groups: Any, place: Any, k: int, point: Any, aim: Any) -> Any:
    """An entry of P in all units."""
    both = load(place.d, at(groups.p_row, k)) + load(place.d, at(groups.p_column, k))
    return load(place.P, k) + aim + point + both
