"""Compiled: the order of some keys. NumPy's own takes many seconds to compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inlined, part


@part
def order_of(keys: Any) -> Any:
    """Numbers of the keys from the least to the largest, by a heap: shape (n,)."""
    n = len(keys)
    order = np.empty(n, dtype=np.int64)
    for k in range(n):
        order[k] = k
    for start in range(n // 2 - 1, -1, -1):
        _sift(keys, order, start, n)
    for stop in range(n - 1, 0, -1):
        order[0], order[stop] = order[stop], order[0]
        _sift(keys, order, 0, stop)
    return order


@inlined
def _is_before(keys: Any, one: int, other: int) -> bool:
    """Of equal keys the one that came first, as in a stable order."""
    return keys[one] < keys[other] or (keys[one] == keys[other] and one < other)


@part
def _sift(keys: Any, order: Any, start: int, stop: int) -> None:
    """Let the key at a place sink until none below it is larger."""
    at, own = start, order[start]
    while 2 * at + 1 < stop:
        below = 2 * at + 1
        if below + 1 < stop and _is_before(keys, order[below], order[below + 1]):
            below += 1
        if not _is_before(keys, own, order[below]):
            break
        order[at], at = order[below], below
    order[at] = own
