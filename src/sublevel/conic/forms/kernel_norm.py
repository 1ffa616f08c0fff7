"""Compiled: the least cost'x + price * |weights * x|_2, as in `ellipsoid`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inlined, part
from .ellipsoid import COARSE, MISS, NEAR, ROUNDS, STEPS


@inlined
def _shares(worth: Any, inverse: Any, nu: float) -> tuple[float, float]:
    """The sum of all shares at a multiplier, and the norm."""
    total, norm = 0.0, 0.0
    for j in range(len(worth)):
        unit = max(worth[j] - nu, 0.0) * inverse[j]
        norm += unit * unit
        total += unit * inverse[j]
    return total, np.sqrt(norm)


@part
def norm_on_simplex(
    numbers: Any, level: float, price: float, equal: bool
) -> tuple[bool, float]:
    """Without upper bounds, in units in which all coefficients of the row are 1.

    Whether there is a solution here, and the row's multiplier.
    """
    n, slopes, x = len(numbers.x), numbers.slopes, numbers.x
    worth, inverse = numbers.reduced, numbers.pull
    nu = -np.inf if equal else 0.0
    for j in range(n):
        scale = price * abs(numbers.weights[j])
        worth[j] = -numbers.cost[j]
        if slopes[j] != 1:
            worth[j], scale = worth[j] / slopes[j], scale / slopes[j]
        inverse[j] = 1 / scale if scale > 0 else 0.0
        nu = max(nu, worth[j] - scale)
    total, norm = 0.0, 0.0
    for _ in range(STEPS):
        total, norm = _shares(worth, inverse, nu)
        miss = norm - 1
        moved = nu + miss * norm / total if miss > MISS else nu
        if moved == nu:
            break
        nu = moved
    if norm != norm:
        return False, nu
    # Where no norm pulls: all in one entry without uncertainty, or nothing at all.
    flat, rest = norm < 1 - NEAR, level
    amount, length = 0.0 if flat else level / total, 1 / max(norm, 1.0)
    for j in range(n):
        unit = max(worth[j] - nu, 0.0) * inverse[j]
        x[j] = unit * inverse[j] * amount
        if flat and inverse[j] == 0 and worth[j] == nu:
            x[j], rest = rest, 0.0
        if slopes[j] != 1:
            x[j] /= slopes[j]
        numbers.pull[j] = np.copysign(unit * length, numbers.weights[j])
    return True, nu


@part
def norm_below_ends(
    numbers: Any, level: float, price: float, equal: bool, nu: float
) -> tuple[bool, float]:
    """From a point beyond upper ends: entries are put there, until none is beyond."""
    n, slopes, x = len(numbers.x), numbers.slopes, numbers.x
    worth, full, curve = numbers.reduced, numbers.pull, numbers.size_costs
    for j in range(n):
        full[j] = 1.0 if x[j] > numbers.upper[j] else 0.0
        scale = price * abs(numbers.weights[j]) / slopes[j]
        worth[j], curve[j] = -numbers.cost[j] / slopes[j], 1 / (scale * scale)
    goal = COARSE
    for _ in range(ROUNDS):
        taken, held, start, free = 0.0, 0.0, -np.inf, x
        for j in range(n):
            scale = price * abs(numbers.weights[j]) / slopes[j]
            free[j] = curve[j]
            if full[j] > 0:
                end = numbers.upper[j] * slopes[j]
                taken += end
                held += scale * end * (scale * end)
                free[j] = 0.0
            else:
                start = max(start, worth[j] - scale)
        left = level - taken
        held /= left * left
        nu, total = max(nu, start), 0.0
        for step in range(STEPS):
            total, norm, growth = 0.0, 0.0, 0.0
            for j in range(n):
                over = max(worth[j] - nu, 0.0)
                rising = free[j] * (worth[j] > nu)
                share = over * rising
                total += share
                norm += share * over
                growth += rising
            norm = np.sqrt(norm + held * total * total)
            miss = norm - 1
            moved = nu + miss * norm / (total + held * total * growth)
            # From the right, where the last round may have ended, one step goes left.
            if not (moved >= start):
                moved = start
            if not (miss > goal or (step == 0 and miss < -goal)) or moved == nu:
                break
            nu = moved
        tau, same = left / total, True
        for j in range(n):
            wish = tau * max(worth[j] - nu, 0.0) * curve[j]
            end = numbers.upper[j] * slopes[j]
            beyond = 1.0 if wish > end else 0.0
            same &= beyond == full[j]
            full[j] = beyond
            x[j] = min(wish, end) / slopes[j]
        if same and goal == MISS:
            _pull(numbers)
            return left > 0 and (equal or nu >= 0), nu
        if same:
            goal = MISS
    return False, nu


@part
def norm_in_box(numbers: Any, price: float) -> bool:
    """Between 0 and upper ends, where no row binds: by tau = |s x| alone.

    Beside a norm there are no prices of absolute values: their room is free.
    """
    n, x, worth, curve = len(numbers.x), numbers.x, numbers.reduced, numbers.size_costs
    most, rest = 0.0, 0.0
    for j in range(n):
        scale = price * abs(numbers.weights[j])
        worth[j], curve[j] = max(-numbers.cost[j], 0.0), 1 / (scale * scale)
        most += (scale * numbers.upper[j]) ** 2
        rest += worth[j] * worth[j] * curve[j]
    if rest <= 1:
        for j in range(n):
            scale = price * abs(numbers.weights[j])
            x[j] = 0.0
            numbers.pull[j] = np.copysign(worth[j] / scale, numbers.weights[j])
        return True
    low, high = 0.0, np.sqrt(most)
    tau = high
    for _ in range(STEPS):
        norm, gain = 0.0, 0.0
        for j in range(n):
            wish = tau * worth[j] * curve[j]
            x[j] = min(wish, numbers.upper[j])
            size = price * abs(numbers.weights[j]) * x[j]
            norm += size * size
            gain += size * size if wish < numbers.upper[j] else 0.0
        norm = np.sqrt(norm)
        miss = norm - tau
        if miss > 0:
            low = tau
        else:
            high = tau
        if not abs(miss) > MISS * tau:
            break
        following = tau - miss / (gain / (tau * norm) - 1)
        if not (following >= low and following <= high):
            following = (low + high) / 2
        if following == tau:
            break
        tau = following
    _pull(numbers)
    return True


@part
def _pull(numbers: Any) -> None:
    """Where the norm pulls at a point other than 0."""
    total = 0.0
    for j in range(len(numbers.x)):
        moved = numbers.weights[j] * numbers.x[j]
        total += moved * moved
    total = np.sqrt(total)
    for j in range(len(numbers.x)):
        numbers.pull[j] = numbers.weights[j] * numbers.x[j] / total
