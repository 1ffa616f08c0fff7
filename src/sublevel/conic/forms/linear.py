"""The least linear cost over a budget polytope, with prices on absolute values.

    minimise  sum_i  cost_i x_i + price_i |x_i|,   lower <= x <= upper,  a'x = level

Each x_i starts where a'x is smallest and goes through at most two segments (its sign
changes at 0). Segments are filled in the order of their cost per unit of a'x: a
fractional knapsack. Where the row is an inequality, a segment that earns nothing is
left alone. The multiplier of the row is minus the rate of the first one not full.
"""

from __future__ import annotations

import numpy as np

from ...checks import Array
from .numbers import FormNumbers
from .point import FormPoint


def least_linear(numbers: FormNumbers, coupled: bool, equal: bool) -> FormPoint:
    """Solutions of m contexts; nan where there is none, or none is finite."""
    pull = np.zeros((len(numbers.cost), 1))
    if not coupled:
        nowhere = np.zeros(numbers.cost.shape[1])
        return FormPoint(_ends(numbers), nowhere, pull)
    if equal and numbers.is_simplex:
        return FormPoint(*_corner(numbers), pull)
    return FormPoint(*_filled(numbers, equal), pull)


def _ends(numbers: FormNumbers) -> Array:
    """Each entry where its own cost is least."""
    cost, price = numbers.cost, numbers.size_costs
    low = np.where(cost - price > 0, numbers.lower, 0.0)
    x = np.where(cost + price < 0, numbers.upper, low)
    return np.clip(x, numbers.lower, numbers.upper)


def _corner(numbers: FormNumbers) -> tuple[Array, Array]:
    """All in the entry whose cost per unit is least."""
    rate = (numbers.cost + numbers.size_costs) / numbers.slopes
    best = np.argmin(rate, axis=0)[None]
    slopes = np.broadcast_to(numbers.slopes, rate.shape)
    x = np.zeros(rate.shape)
    amount = numbers.level / np.take_along_axis(slopes, best, axis=0)
    np.put_along_axis(x, best, amount, axis=0)
    return x, -np.take_along_axis(rate, best, axis=0)[0]


def _filled(numbers: FormNumbers, equal: bool) -> tuple[Array, Array]:
    """All segments, in the order of their rates, as far as the level goes."""
    shape = numbers.cost.shape
    cost, price, slopes, lower, upper = (
        np.broadcast_to(part, shape)
        for part in (
            numbers.cost,
            numbers.size_costs,
            numbers.slopes,
            numbers.lower,
            numbers.upper,
        )
    )
    rising, loose = slopes > 0, slopes == 0
    start = np.where(rising, lower, upper)
    level = numbers.level - np.sum(np.where(loose, 0.0, slopes * start), axis=0)
    middle = np.clip(0.0, lower, upper)
    # From start to the middle, and from there on.
    before, after = np.where(rising, -1.0, 1.0), np.where(rising, 1.0, -1.0)
    rate = np.stack([(cost + price * sign) / slopes for sign in (before, after)])
    end = np.where(rising, upper, lower)
    room = np.stack([slopes * (middle - start), slopes * (end - middle)])
    # A segment without room takes nothing, and pays for nothing.
    room[:, loose] = 0.0
    rate = np.where(room > 0, rate, -np.inf)
    room, rate = (part.reshape(-1, shape[1]) for part in (room, rate))
    order = np.argsort(rate, axis=0, kind="stable")
    rate, room = (np.take_along_axis(part, order, axis=0) for part in (rate, room))
    ahead = np.zeros_like(room)
    np.cumsum(room[:-1], axis=0, out=ahead[1:])
    amount = np.clip(level - ahead, 0.0, room)
    if not equal:
        amount = np.where(rate < 0, amount, 0.0)
    # The first segment with room left has the rate at which the row is paid for.
    left = amount < room
    first = np.where(left.any(axis=0), np.argmax(left, axis=0), len(rate) - 1)
    paid = np.take_along_axis(rate, first[None], axis=0)[0]
    multiplier = np.where(np.isneginf(paid), 0.0, -paid)
    if not equal:
        multiplier = np.where(left.any(axis=0), np.maximum(multiplier, 0.0), 0.0)
    taken = np.empty_like(amount)
    np.put_along_axis(taken, order, amount, axis=0)
    taken = taken.reshape(2, *shape).sum(axis=0)
    x = np.where(loose, _ends(numbers), start + taken / slopes)
    return np.clip(x, lower, upper), multiplier
