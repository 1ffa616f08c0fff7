"""Compiled: the order of some keys. NumPy's own takes many seconds to compile.

Of equal keys the one that came first is first, as in NumPy's stable order.
"""

from __future__ import annotations

from typing import Any

from ..compiled import inlined, part

#: Keys of a run, each compared with all: many comparisons, of which several are made at
#: once, and none of which decides what is done next. Runs are merged. A run is always
#: compared as a whole, since how many comparisons there are is then known beforehand.
RUN = 64


def room_for(n: int) -> int:
    """Numbers of an array in which n keys can be put in order: whole runs."""
    return -(-n // RUN) * RUN


@part
def put_in_order(keys: Any, n: int, order: Any, other: Any) -> None:
    """Numbers of the first n keys from the least to the largest.

    Parameters
    ----------
    keys : shape (room_for(n),) or more
    order : of the same shape, its first n numbers written
    other : of the same shape, room
    """
    # Every round of merging goes from one array to the other; the last ends in `order`.
    here, there, width = order, other, RUN
    while width < n:
        here, there = there, here
        width *= 2
    for start in range(0, n, RUN):
        end = start + RUN
        run = keys[start:end], here[start:end], there[start:end]
        _place(run[0], run[1], run[2], start, min(end, n) - start)
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            _merge(keys, here, there, start, middle, stop)
        here, there = there, here
        width *= 2


@inlined
def _place(keys: Any, order: Any, rank: Any, start: int, n: int) -> None:
    """One run: a key's place is the number of keys below it, or the next one free."""
    for j in range(RUN):
        rank[j], order[j] = 0, -1
    for k in range(n):
        key = keys[k]
        for j in range(RUN):
            rank[j] += key < keys[j]
    for j in range(n):
        at = rank[j]
        while order[at] >= 0:
            at += 1
        order[at] = start + j


@inlined
def _merge(keys: Any, order: Any, to: Any, start: int, middle: int, stop: int) -> None:
    """Two runs that follow each other, as one."""
    one, two = start, middle
    for k in range(start, stop):
        if one < middle and (two == stop or keys[order[one]] <= keys[order[two]]):
            to[k] = order[one]
            one += 1
        else:
            to[k] = order[two]
            two += 1
