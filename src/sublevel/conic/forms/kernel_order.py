"""Compiled: the order of some keys. NumPy's own takes many seconds to compile.

Of equal keys the one that came first is first, as in NumPy's stable order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inlined, part

#: Keys that are put in order one by one before such runs are merged.
RUN = 16


@part
def order_of(keys: Any) -> Any:
    """Numbers of the keys from the least to the largest: shape (n,)."""
    n = len(keys)
    order, other = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for start in range(0, n, RUN):
        for k in range(start, min(start + RUN, n)):
            at = k
            while at > start and keys[order[at - 1]] > keys[k]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = k
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            _merge(keys, order, other, start, width)
        order, other = other, order
        width *= 2
    return order


@inlined
def _merge(keys: Any, order: Any, to: Any, start: int, width: int) -> None:
    """Two runs that follow each other, as one."""
    middle = min(start + width, len(keys))
    stop = min(middle + width, len(keys))
    one, two = start, middle
    for k in range(start, stop):
        if one < middle and (two == stop or keys[order[one]] <= keys[order[two]]):
            to[k] = order[one]
            one += 1
        else:
            to[k] = order[two]
            two += 1


@part
def heap_of(keys: Any, numbers: Any, count: int) -> None:
    """Put the least of the first keys, and its number, at the top of a heap."""
    for start in range(count // 2 - 1, -1, -1):
        _sift(keys, numbers, start, count)


@part
def without_least(keys: Any, numbers: Any, count: int) -> None:
    """Take the least away: the heap is one shorter."""
    keys[0], numbers[0] = keys[count - 1], numbers[count - 1]
    _sift(keys, numbers, 0, count - 1)


@inlined
def _sift(keys: Any, numbers: Any, start: int, count: int) -> None:
    """Let the key at a place sink until none below it is smaller."""
    at, key, number = start, keys[start], numbers[start]
    while 2 * at + 1 < count:
        low = 2 * at + 1
        up = low + 1
        if up < count and (
            keys[up] < keys[low] or (keys[up] == keys[low] and numbers[up] < numbers[low])
        ):
            low = up
        if key < keys[low] or (key == keys[low] and number < numbers[low]):
            break
        keys[at], numbers[at] = keys[low], numbers[low]
        at = low
    keys[at], numbers[at] = key, number
