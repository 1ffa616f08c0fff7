"""The least cost'x + price * max_i weights_i x_i over a budget polytope, x >= 0.

Dual to an L1 ball. With v = -cost, r = price * weights and the multiplier nu of
a'x = level, the multipliers of weights_i x_i <= t are (v_i - nu a_i)_+ / r_i, as shares
of the price. On the simplex they add up to 1: an equation whose left side is piecewise
linear, convex and falling, so that Newton's method solves it after finitely many steps.

With upper bounds, a given t leaves a fractional knapsack, whose order does not depend
on t. Its value is piecewise linear and convex in t. Two tangents whose slopes differ in
sign meet at the next t; where the value lies on them, t is best, and what both tangents
pay, mixed so that their slopes cancel, are the multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array
from ..program import Indices
from .ellipsoid import MISS, NEAR, STEPS
from .numbers import FormNumbers
from .point import FormPoint, in_company


def least_with_largest(numbers: FormNumbers, coupled: bool, equal: bool) -> FormPoint:
    """Solutions of m contexts; nan where there is none, or none is found."""
    if not coupled:
        point = _within(_Knapsack.read(numbers, coupled, equal))
        point.x[:, ~numbers.nonnegative] = np.nan
        return point
    orthant = numbers.orthant
    point = _on_simplex(numbers, equal)
    point.x[:, ~orthant] = np.nan
    over = np.flatnonzero((point.x > numbers.upper).any(axis=0))
    if over.size:
        both = in_company(over)
        part = _within(_Knapsack.read(numbers.at(both), coupled, equal))
        point.put(both, part)
    return point


def _on_simplex(numbers: FormNumbers, equal: bool) -> FormPoint:
    """Without upper bounds: in units in which all coefficients of the row are 1."""
    slopes = numbers.slopes
    worth = -numbers.cost / slopes
    scale = numbers.price * np.abs(numbers.weights) / slopes
    certain = scale == 0
    inverse = np.where(certain, 0.0, 1 / scale)
    nu = (worth - scale).max(axis=0)
    if not equal:
        nu = np.maximum(nu, 0.0)
    for _ in range(STEPS):
        over = np.maximum(worth - nu, 0.0)
        pull = over * inverse
        miss = pull.sum(axis=0) - 1
        touching = np.where(over > 0, inverse, 0.0)
        total = touching.sum(axis=0)
        moved = nu + np.where(miss > MISS, miss / total, 0.0)
        if (moved == nu).all():
            break
        nu = moved
    level = np.broadcast_to(numbers.level, nu.shape)
    x = touching * (level / total)
    # Where the maximum does not pull as it might: all in one entry that is not under
    # it, or nothing at all. What is left of the pull may go anywhere.
    flat = np.flatnonzero(miss < -NEAR)
    if flat.size:
        x[:, flat] = 0.0
        at_nu = np.broadcast_to(certain, worth.shape)[:, flat]
        at_nu = at_nu & (worth[:, flat] == nu[flat])
        best = np.argmax(at_nu, axis=0)
        x[best, flat] = np.where(at_nu.any(axis=0), level[flat], 0.0)
        pull[best, flat] -= miss[flat]
    pull = pull / pull.sum(axis=0)
    return FormPoint(x / slopes, nu, pull)


@dataclass(frozen=True)
class _Knapsack:
    """Entries in the order of their worth, in units in which the row's slopes are 1.

    Attributes
    ----------
    order : shape (n, m), what is where
    worth, weights, upper : shape (n, m)
    slopes : shape (n, m), by which x is divided at the end
    level : shape (m,), infinite where there is no row
    price : shape (m,)
    equal : whether the level must be reached
    """

    order: Indices
    worth: Array
    weights: Array
    upper: Array
    slopes: Array
    level: Array
    price: Array
    equal: bool

    @classmethod
    def read(cls, numbers: FormNumbers, coupled: bool, equal: bool) -> _Knapsack:
        n, m = numbers.cost.shape
        slopes = numbers.slopes if coupled else np.ones((n, 1))
        worth = -numbers.cost / slopes
        # Where no row binds, it is enough that what costs comes after what earns.
        key = -worth if coupled else worth <= 0
        order = np.argsort(key, axis=0, kind="stable")
        parts = (
            worth,
            np.abs(numbers.weights) / slopes,
            numbers.upper * slopes,
            slopes,
        )
        worth, weights, upper, slopes = (
            np.take_along_axis(np.broadcast_to(part, (n, m)), order, axis=0)
            for part in parts
        )
        level = np.broadcast_to(numbers.level if coupled else np.inf, m)
        price = np.broadcast_to(numbers.price, m)
        return cls(order, worth, weights, upper, slopes, level, price, equal)

    def at(self, t: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Amounts, multiplier and pulls for a given t, the value there, its slope.

        Pulls are in units in which the price is the most they can add up to.
        """
        inverse = np.where(self.weights > 0, 1 / self.weights, np.inf)
        most = np.where(self.weights > 0, t * inverse, np.inf)
        room = np.minimum(self.upper, most)
        wanted = room if self.equal else np.where(self.worth > 0, room, 0.0)
        ahead = np.zeros_like(room)
        np.cumsum(wanted[:-1], axis=0, out=ahead[1:])
        amount = np.clip(self.level - ahead, 0.0, wanted)
        left = amount < room
        first = np.where(left.any(axis=0), np.argmax(left, axis=0), len(room) - 1)
        nu = np.take_along_axis(self.worth, first[None], axis=0)[0]
        if not self.equal:
            nu = np.where(left.any(axis=0), np.maximum(nu, 0.0), 0.0)
        gain = np.maximum(self.worth - nu, 0.0)
        pull = np.where(most < self.upper, gain * inverse, 0.0)
        value = self.price * t - (self.worth * amount).sum(axis=0)
        short = self.equal & (amount.sum(axis=0) < self.level * (1 - MISS))
        value = np.where(short, np.inf, value)
        return amount, nu, pull, value, self.price - pull.sum(axis=0)

    def point(self, amount: Array, nu: Array, pull: Array) -> FormPoint:
        """In the original order and units."""
        x, pulls = np.empty_like(amount), np.empty_like(pull)
        np.put_along_axis(x, self.order, amount / self.slopes, axis=0)
        np.put_along_axis(pulls, self.order, pull, axis=0)
        return FormPoint(x, nu, pulls)


def _within(knapsack: _Knapsack) -> FormPoint:
    """With upper bounds: between two tangents."""
    reach = np.minimum(knapsack.upper, knapsack.level)
    # Beyond the last bend: at the bend itself rounding may say that it lies ahead.
    right = 2 * (knapsack.weights * reach).max(axis=0)
    left = _least_top(knapsack) if knapsack.equal else np.zeros_like(right)
    _, nu_left, pull_left, value_left, slope_left = knapsack.at(left)
    _, nu_right, pull_right, value_right, slope_right = knapsack.at(right)
    t = left
    for _ in range(2 * len(knapsack.worth) + 2):
        width = slope_right - slope_left
        gap = value_left - value_right + slope_right * right - slope_left * left
        meet = gap / width
        # Lines of one slope meet nowhere: nan is not below the right end.
        meet = np.where(meet < right, np.maximum(meet, left), right)
        # The least value at the first end, where it does not fall from there.
        t = np.where(slope_left >= 0, left, meet)
        _, nu, pull, value, slope = knapsack.at(t)
        line = value_left + slope_left * (t - left)
        size = np.abs(value_left) + np.abs(slope_left * (t - left))
        done = (value - line <= MISS * size) | (t <= left) | (t >= right) | (slope == 0)
        if done.all():
            break
        down, up = ~done & (slope < 0), ~done & (slope > 0)
        left, right = np.where(down, t, left), np.where(up, t, right)
        value_left = np.where(down, value, value_left)
        value_right = np.where(up, value, value_right)
        slope_left = np.where(down, slope, slope_left)
        slope_right = np.where(up, slope, slope_right)
        nu_left, nu_right = np.where(down, nu, nu_left), np.where(up, nu, nu_right)
        pull_left = np.where(down, pull, pull_left)
        pull_right = np.where(up, pull, pull_right)
    amount = knapsack.at(t)[0]
    share = np.where(slope == 0, 0.0, slope_right / (slope_right - slope_left))
    share = np.clip(share, 0.0, 1.0)
    nu = np.where(slope == 0, nu, share * nu_left + (1 - share) * nu_right)
    mixed = share * pull_left + (1 - share) * pull_right
    pull = np.where(slope == 0, pull, mixed)
    paid = pull.sum(axis=0)
    pull = pull / np.maximum(paid, knapsack.price)
    # What is left of the pull is due where the top is free anyway.
    pull[-1] += np.maximum(1 - paid / knapsack.price, 0.0)
    return knapsack.point(amount, nu, pull)


def _least_top(knapsack: _Knapsack) -> Array:
    """The smallest t at which the level can be reached, by Newton's steps."""
    t = np.zeros_like(knapsack.level)
    inverse = np.where(knapsack.weights > 0, 1 / knapsack.weights, 0.0)
    for _ in range(len(knapsack.worth) + 1):
        most = np.where(knapsack.weights > 0, t * inverse, np.inf)
        missing = knapsack.level - np.minimum(knapsack.upper, most).sum(axis=0)
        growth = np.where(most < knapsack.upper, inverse, 0.0).sum(axis=0)
        step = np.where(missing > 0, missing / growth, 0.0)
        moved = t + np.where(np.isfinite(step), step, 0.0)
        if (moved == t).all():
            break
        t = moved
    return t
