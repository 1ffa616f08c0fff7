"""Compiled: the least linear cost with prices on absolute values, as in `linear`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import part
from .kernel_order import order_of


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
    rate, room = np.empty(2 * n), np.empty(2 * n)
    for j in range(n):
        slope, lower, upper = numbers.slopes[j], numbers.lower[j], numbers.upper[j]
        if slope == 0:
            rate[j] = rate[n + j] = -np.inf
            room[j] = room[n + j] = 0.0
            continue
        sign = 1.0 if slope > 0 else -1.0
        start, end = (lower, upper) if slope > 0 else (upper, lower)
        middle = min(max(0.0, lower), upper)
        # From start to the middle, and from there on.
        rate[j] = (numbers.cost[j] - sign * numbers.size_costs[j]) / slope
        rate[n + j] = (numbers.cost[j] + sign * numbers.size_costs[j]) / slope
        room[j], room[n + j] = slope * (middle - start), slope * (end - middle)
        begun += slope * start
        x[j], taken[j] = start, 0.0
    level -= begun
    # The first segment with room left has the rate at which the row is paid for.
    order, multiplier, short, ahead = order_of(rate), 0.0, False, 0.0
    for k in range(2 * n):
        s = order[k]
        amount = min(max(level - ahead, 0.0), room[s])
        if not (equal or rate[s] < 0):
            amount = 0.0
        ahead += room[s]
        taken[s % n] += amount
        if amount < room[s] and not short:
            short, multiplier = True, -rate[s]
    if not short and equal:
        multiplier = -rate[order[-1]]
    if not equal:
        multiplier = max(multiplier, 0.0)
    for j in range(n):
        if numbers.slopes[j] == 0:
            x[j] = _end(numbers, j)
        else:
            x[j] += taken[j] / numbers.slopes[j]
        x[j] = min(max(x[j], numbers.lower[j]), numbers.upper[j])
    return multiplier
