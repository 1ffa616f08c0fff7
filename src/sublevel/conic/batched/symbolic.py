"""Which numbers the factors of a matrix have, and what each is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import SOURCES, compiled

#: The tail begins where so many of the entries below and right of a pivot are there.
DENSE = 0.8
#: It has at least so many rows, and a multiple of the second.
LEAST_TAIL, STEP = 16, 4


@compiled
def eliminate(
    size: int,
    starts: Any,
    rows: Any,
    places: Any,
    zero: int,
    sources: int = SOURCES,
) -> Any:
    """Lists of the entries of L in K = L D L', and of the products in each.

    The last columns, the tail, have no lists: hardly one of their entries is zero.

    Parameters
    ----------
    starts, rows, places : pattern of K below its diagonal, by column, and the slots of
        its entries
    zero : slot of entries that K does not have
    """
    parent = np.full(size, -1)
    flag = np.full(size, -1)
    # Columns of K to the left of its diagonal, row by row.
    count = np.zeros(size + 1, np.int64)
    for e in range(len(rows)):
        count[rows[e] + 1] += 1
    across = np.cumsum(count)
    fill = across.copy()
    column_of = np.empty(len(rows), np.int64)
    for j in range(size):
        for e in range(starts[j], starts[j + 1]):
            column_of[fill[rows[e]]] = j
            fill[rows[e]] += 1
    # The tree of elimination, and how many entries the columns of L have.
    below_count = np.zeros(size, np.int64)
    for i in range(size):
        flag[i] = i
        for t in range(across[i], across[i + 1]):
            k = column_of[t]
            while flag[k] != i:
                if parent[k] < 0:
                    parent[k] = i
                below_count[k] += 1
                flag[k] = i
                k = parent[k]
    tail, filled = 0, 0
    for k in range(1, size + 1):
        filled += below_count[size - k]
        dense = filled >= DENSE * (k * (k - 1) // 2)
        if dense and k >= LEAST_TAIL and k % STEP == 0:
            tail = k
    split = size - tail
    below_count[split:] = 0
    below_first = np.zeros(size + 1, np.int64)
    below_first[1:] = np.cumsum(below_count)
    left_first = np.zeros(size + 1, np.int64)
    total = below_first[size]
    below, left = np.empty(total, np.int64), np.empty(total, np.int64)
    left_entry = np.empty(total, np.int64)
    fill = below_first.copy()
    flag[:] = -1
    end = 0
    for i in range(size):
        flag[i] = i
        for t in range(across[i], across[i + 1]):
            k = column_of[t]
            while flag[k] != i:
                if k < split:
                    left[end] = k
                    end += 1
                flag[k] = i
                k = parent[k]
        left_first[i + 1] = end
        left[left_first[i] : end] = np.sort(left[left_first[i] : end])
        for t in range(left_first[i], end):
            k = left[t]
            left_entry[t] = fill[k]
            below[fill[k]] = i
            fill[k] += 1
    # Slots of K, and numbers of products.
    where = np.empty(size, np.int64)
    slot = np.full(total, zero)
    pair_first = np.zeros(total + 1, np.int64)
    tail_first = np.empty(split, np.int64)
    for j in range(split):
        tail_first[j] = below_first[j + 1]
        for e in range(below_first[j], below_first[j + 1]):
            where[below[e]] = e
            if below[e] >= split:
                tail_first[j] = min(tail_first[j], e)
        for e in range(starts[j], starts[j + 1]):
            slot[where[rows[e]]] = places[e]
        for t in range(left_first[j], left_first[j + 1]):
            k = left[t]
            for e in range(left_entry[t] + 1, below_first[k + 1]):
                pair_first[where[below[e]] + 1] += 1
    pair_first = np.cumsum(pair_first)
    pair_Y = np.empty(pair_first[total], np.int64)
    pair_L = np.empty(pair_first[total], np.int64)
    fill = pair_first.copy()
    for j in range(split):
        for e in range(below_first[j], below_first[j + 1]):
            where[below[e]] = e
        for t in range(left_first[j], left_first[j + 1]):
            k = left[t]
            for e in range(left_entry[t] + 1, below_first[k + 1]):
                target = where[below[e]]
                pair_Y[fill[target]] = e
                pair_L[fill[target]] = left_entry[t]
                fill[target] += 1
    return (
        below,
        below_first,
        slot,
        left,
        left_entry,
        left_first,
        pair_Y,
        pair_L,
        pair_first,
        tail_first,
        tail,
    )


@compiled
def firm_pivots(
    order: Any, starts: Any, neighbours: Any, solid: Any, sources: int = SOURCES
) -> Any:
    """Which pivots are other than zero before anything is added to them, in order.

    Parameters
    ----------
    order : unknowns in the order of elimination
    starts, neighbours : of each unknown
    solid : whether the diagonal is other than zero
    """
    firm, reached = np.zeros(len(order), np.bool_), solid.copy()
    for k in range(len(order)):
        node = order[k]
        firm[k] = reached[node]
        for t in range(starts[node], starts[node + 1]):
            reached[neighbours[t]] = True
    return firm


@compiled
def postpone(
    order: Any, starts: Any, neighbours: Any, late: Any, sources: int = SOURCES
) -> Any:
    """The order, but that some unknowns wait until a neighbour of theirs is eliminated.

    Parameters
    ----------
    order : unknowns in the order wanted
    starts, neighbours : of each unknown
    late : which unknowns wait
    """
    size = len(order)
    result = np.empty(size, np.int64)
    placed, waiting = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    ready = ~late
    end = 0
    for turn in range(2):
        for k in range(size):
            node = order[k]
            if placed[node]:
                continue
            if not ready[node] and turn == 0:
                waiting[node] = True
                continue
            done = end
            result[end], placed[node] = node, True
            end += 1
            # Whatever waited for a node follows it, and so on.
            while done < end:
                last = result[done]
                done += 1
                for t in range(starts[last], starts[last + 1]):
                    other = neighbours[t]
                    ready[other] = True
                    if waiting[other] and not placed[other]:
                        result[end], placed[other] = other, True
                        end += 1
    return result
