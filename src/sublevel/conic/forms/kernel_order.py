"""Compiled: the order of some keys. NumPy's own takes many seconds to compile.

Of equal keys the one that came first is first, as in NumPy's stable order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inlined, part

#: Keys of a run, each compared with all: many comparisons, of which several are made at
#: once, and none of which decides what is done next. Runs are merged.
RUN = 64


@part
def order_of(keys: Any, n: int) -> Any:
    """Numbers of the first n keys from the least to the largest: shape (n,)."""
    order, other = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for start in range(0, n, RUN):
        stop = min(start + RUN, n)
        _place(keys[start:stop], order[start:stop], other[start:stop], start)
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            _merge(keys, order, other, start, min(start + width, n), width)
        order, other = other, order
        width *= 2
    return order


@inlined
def _place(keys: Any, order: Any, rank: Any, start: int) -> None:
    """One run: a key's place is the number of keys below it, or the next one free."""
    n = len(keys)
    for j in range(n):
        rank[j], order[j] = 0, -1
    for k in range(n):
        key = keys[k]
        for j in range(n):
            rank[j] += key < keys[j]
    for j in range(n):
        at = rank[j]
        while order[at] >= 0:
            at += 1
        order[at] = start + j


@inlined
def _merge(keys: Any, order: Any, to: Any, start: int, middle: int, width: int) -> None:
    """Two runs that follow each other, as one."""
    stop = min(middle + width, len(order))
    one, two = start, middle
    for k in range(start, stop):
        if one < middle and (two == stop or keys[order[one]] <= keys[order[two]]):
            to[k] = order[one]
            one += 1
        else:
            to[k] = order[two]
            two += 1
