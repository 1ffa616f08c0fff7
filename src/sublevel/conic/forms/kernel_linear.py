"""Compiled: the least linear cost with prices on absolute values, as in `linear`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import part
from .kernel_order import put_in_order


@part
def ends(numbers: Any) -> None:
    """Each entry where its own cost is least."""
    for j in range(len(numbers.x)):
        numbers.x[j] = _end(numbers, j)


@part
def _end(numbers: Any, j: int) -> float:
    cost, price = numbers.cost[j], numbers.size_costs[j]
    end: float = 0.0
    if cost + price < 0:
        end = numbers.upper[j]
    elif cost - price > 0:
        end = numbers.lower[j]
    return float(min(max(end, numbers.lower[j]), numbers.upper[j]))


@part
def corner(numbers: Any, level: float) -> float:
    """On the simplex: all in the entry whose cost per unit is least."""
    best = 0
    least: float = np.inf
    for j in range(len(numbers.x)):
        rate = (numbers.cost[j] + numbers.size_costs[j]) / numbers.slopes[j]
        if rate < least:
            best, least = j, rate
        numbers.x[j] = 0.0
    numbers.x[best] = level / numbers.slopes[best]
    return -least


@part
def filled(numbers: Any, level: float, equal: bool) -> float:
    """All segments, in the order of their rates, as far as the level goes."""
    n, x, taken, begun = len(numbers.x), numbers.x, numbers.reduced, 0.0
    rates, rooms, segments = numbers.rates, numbers.rooms, numbers.segments
    count = 0
    for s in range(2 * n):
        # From start to the middle, and from there on.
        first = s < n
        j = s if first else s - n
        slope, lower, upper = numbers.slopes[j], numbers.lower[j], numbers.upper[j]
        if slope == 0:
            continue
        start, end = (lower, upper) if slope > 0 else (upper, lower)
        middle = min(max(0.0, lower), upper)
        if first:
            begun += slope * start
            x[j], taken[j] = start, 0.0
        rooms[s] = slope * (middle - start if first else end - middle)
        # One without room takes nothing.
        if rooms[s] > 0:
            price = numbers.size_costs[j]
            price = -price if first == (slope > 0) else price
            rates[count], segments[count] = (numbers.cost[j] + price) / slope, s
            count += 1
    level -= begun
    # The first segment with room left has the rate at which the row is paid for, or the
    # last of all. Those after it are not looked at.
    multiplier, short, ahead = 0.0, False, 0.0
    order = numbers.order
    put_in_order(rates, count, order, numbers.other)
    for k in range(count):
        s, rate = segments[order[k]], rates[order[k]]
        if (short and ahead >= level) or not (equal or rate < 0):
            break
        amount = min(max(level - ahead, 0.0), rooms[s])
        ahead += rooms[s]
        taken[s if s < n else s - n] += amount
        if not short:
            short, multiplier = amount < rooms[s], -rate
    if not equal:
        multiplier = max(multiplier, 0.0) if short else 0.0
    for j in range(n):
        if numbers.slopes[j] == 0:
            x[j] = _end(numbers, j)
        else:
            x[j] += taken[j] / numbers.slopes[j]
        x[j] = min(max(x[j], numbers.lower[j]), numbers.upper[j])
    return multiplier
