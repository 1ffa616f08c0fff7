"""Compiled: the least cost'x + price * max_i weights_i x_i, as in `largest`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inlined, part
from .ellipsoid import MISS, NEAR, STEPS
from .kernel_order import put_in_order


@part
def largest_on_simplex(
    numbers: Any, level: float, price: float, equal: bool
) -> tuple[bool, float]:
    """Without upper bounds, in units in which all coefficients of the row are 1."""
    n, slopes, x = len(numbers.x), numbers.slopes, numbers.x
    worth, inverse, pull = numbers.reduced, numbers.x, numbers.pull
    nu = -np.inf if equal else 0.0
    for j in range(n):
        worth[j] = -numbers.cost[j] / slopes[j]
        scale = price * abs(numbers.weights[j]) / slopes[j]
        inverse[j] = 1 / scale if scale > 0 else 0.0
        nu = max(nu, worth[j] - scale)
    total, miss = 0.0, 0.0
    for _ in range(STEPS):
        total, paid = 0.0, 0.0
        for j in range(n):
            over = worth[j] - nu
            paid += max(over, 0.0) * inverse[j]
            total += inverse[j] if over > 0 else 0.0
        miss = paid - 1
        moved = nu + miss / total if miss > MISS else nu
        if moved == nu:
            break
        nu = moved
    if miss != miss:
        return False, nu
    # Where the maximum does not pull as it might: all in one entry that is not under
    # it, or nothing at all. What is left of the pull may go anywhere.
    flat, best = miss < -NEAR, 0
    amount, alone = 0.0 if flat else level / total, False
    for j in range(n):
        over = max(worth[j] - nu, 0.0)
        pull[j] = over * inverse[j]
        if flat and not alone and inverse[j] == 0 and worth[j] == nu:
            best, alone = j, True
        x[j] = inverse[j] * amount / slopes[j] if over > 0 else 0.0
    if flat:
        pull[best] -= miss
        x[best] = level / slopes[best] if alone else 0.0
    paid = 0.0
    for j in range(n):
        paid += pull[j]
    for j in range(n):
        pull[j] /= paid
    return True, nu


@part
def _at(
    t: float, worth: Any, inverse: Any, upper: Any, level: float, price: float,
    equal: bool, amount: Any, pull: Any,
) -> tuple[float, float, float]:  # fmt: skip
    """Amounts and pulls for a given t; the multiplier, the value there, its slope."""
    n, total, ahead, gained = len(worth), 0.0, 0.0, 0.0
    nu, active = worth[n - 1] if equal else 0.0, n
    for j in range(n):
        room = min(upper[j], _most(t, inverse[j]))
        wanted = room if equal or worth[j] > 0 else 0.0
        amount[j] = min(max(level - ahead, 0.0), wanted)
        ahead += wanted
        gained += worth[j] * amount[j]
        total += amount[j]
        if amount[j] < room:
            # Nothing is left for those after it, which are worth no more.
            nu = worth[j] if equal else max(worth[j], 0.0)
            active = j + 1
            break
    paid = 0.0
    for j in range(active):
        due = max(worth[j] - nu, 0.0) * inverse[j]
        pull[j] = due if _most(t, inverse[j]) < upper[j] else 0.0
        paid += pull[j]
    for j in range(active, n):
        amount[j] = pull[j] = 0.0
    value = price * t - gained
    if equal and total < level * (1 - MISS):
        value = np.inf
    return nu, value, price - paid


@inlined
def _most(t: float, inverse: float) -> float:
    """The largest entry under t; one without a weight has an infinite inverse."""
    return t * inverse if inverse < np.inf else np.inf


@part
def _gains_first(cost: Any, n: int, order: Any) -> None:
    """Where no row binds, it is enough that what costs comes after what earns."""
    at = 0
    for j in range(n):
        order[at] = j
        at += cost[j] < 0
    for j in range(n):
        if not cost[j] < 0:
            order[at] = j
            at += 1


@part
def _least_top(inverse: Any, upper: Any, level: float) -> float:
    """The smallest t at which the level can be reached, by Newton's steps."""
    t, n = 0.0, len(inverse)
    for _ in range(n + 1):
        reached, growth = 0.0, 0.0
        for j in range(n):
            most = _most(t, inverse[j])
            reached += min(upper[j], most)
            if most < upper[j]:
                growth += inverse[j]
        missing = level - reached
        if not (missing > 0 and growth > 0):
            break
        moved = t + missing / growth
        if moved == t:
            break
        t = moved
    return t


@part
def largest_within(
    numbers: Any, level: float, price: float, coupled: bool, equal: bool
) -> tuple[bool, float]:
    """With upper bounds: between two tangents of the value as a function of t."""
    n, slopes, rate = len(numbers.x), numbers.slopes, numbers.rates
    room, order, right = numbers.room, numbers.order, 0.0
    worth, inverse, upper, amount, pull = room[0], room[1], room[2], room[3], room[4]
    pull_left, pull_right = room[5], room[6]
    if not coupled:
        level = np.inf
    for j in range(n):
        if not coupled:
            slopes[j] = 1.0
        rate[j] = numbers.cost[j] / slopes[j]
    if coupled:
        put_in_order(rate, n, order, numbers.other)
    else:
        _gains_first(rate, n, order)
    for k in range(n):
        j = order[k]
        worth[k] = -numbers.cost[j] / slopes[j]
        weight = abs(numbers.weights[j]) / slopes[j]
        inverse[k] = 1 / weight if weight > 0 else np.inf
        upper[k] = numbers.upper[j] * slopes[j]
        right = max(right, weight * min(upper[k], level))
    # Beyond the last bend: at the bend itself rounding may say that it lies ahead.
    right *= 2
    left = _least_top(inverse, upper, level) if equal else 0.0
    nu_left, value_left, slope_left = _at(
        left, worth, inverse, upper, level, price, equal, amount, pull_left
    )
    nu_right, value_right, slope_right = _at(
        right, worth, inverse, upper, level, price, equal, amount, pull_right
    )
    nu, slope = 0.0, 0.0
    for _ in range(2 * n + 2):
        t = left
        if slope_left < 0:
            gap = value_left - value_right + slope_right * right - slope_left * left
            meet = gap / (slope_right - slope_left)
            # Lines of one slope meet nowhere: nan is not below the right end.
            t = max(meet, left) if meet < right else right
        nu, value, slope = _at(
            t, worth, inverse, upper, level, price, equal, amount, pull
        )
        line = value_left + slope_left * (t - left)
        size = abs(value_left) + abs(slope_left * (t - left))
        if value - line <= MISS * size or t <= left or t >= right or slope == 0:
            break
        if slope < 0:
            left, nu_left, value_left, slope_left = t, nu, value, slope
            pull_left, pull = pull, pull_left
        elif slope > 0:
            right, nu_right, value_right, slope_right = t, nu, value, slope
            pull_right, pull = pull, pull_right
        else:
            return False, nu
    if slope != 0:
        share = slope_right / (slope_right - slope_left)
        share = min(max(share, 0.0), 1.0)
        nu = share * nu_left + (1 - share) * nu_right
        for k in range(n):
            pull[k] = share * pull_left[k] + (1 - share) * pull_right[k]
    paid = 0.0
    for k in range(n):
        paid += pull[k]
    for k in range(n):
        j = order[k]
        numbers.x[j] = amount[k] / slopes[j]
        numbers.pull[j] = pull[k] / max(paid, price)
    # What is left of the pull is due where the top is free anyway.
    numbers.pull[order[n - 1]] += max(1 - paid / price, 0.0)
    return True, nu
