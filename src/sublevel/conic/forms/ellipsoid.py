"""The least cost'x + price * |weights * x|_2 over a budget polytope.

With v = -cost, s = price * |weights| and the multiplier nu of a'x = level, a point is
optimal if and only if, for tau = |s x|,

    x_i = tau (v_i - nu a_i) / s_i^2,   cut off at lower_i and upper_i.

On the simplex nothing is cut off but at 0, tau drops out, and nu solves one equation,
|(v - nu a)_+ / s| = 1. Its left side is convex and falls, so that Newton's steps from
the left never overshoot, and the piece on which the solution lies is reached after
finitely many. Where an upper bound is reached, or x may be negative, tau and nu are
found one inside the other: a'x falls with nu, and |s x| - tau changes sign once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...checks import Array
from .numbers import FormNumbers
from .point import FormPoint, in_company

#: Most steps of Newton's method, and the miss at which they end.
STEPS, MISS = 80, 4e-15
#: How far a norm may be from 1 that should be 1.
NEAR = 1e-9
#: Most rounds in which entries are put at their upper ends, or taken back, and the miss
#: that is enough until the ends are those of the round before.
ROUNDS, COARSE = 20, 0.1


def least_with_norm(numbers: FormNumbers, coupled: bool, equal: bool) -> FormPoint:
    """Solutions of m contexts; nan where there is none, or none is found."""
    simple = numbers.orthant if coupled else numbers.nonnegative
    if not simple.any():
        return _within(numbers, coupled, equal)
    point = _on_simplex(numbers, equal) if coupled else _in_box(numbers)
    over = np.flatnonzero((point.x > numbers.upper).any(axis=0) & simple)
    rest = ~simple
    if over.size:
        both = in_company(over)
        x, nu = np.take(point.x, both, axis=1), point.multiplier[both]
        part, settled = _with_upper_ends(numbers.at(both), x, nu, equal)
        point.put(both, part)
        rest[both[~settled]] = True
    if rest.any():
        left = in_company(np.flatnonzero(rest))
        point.put(left, _within(numbers.at(left), coupled, equal))
    return point


def _with_upper_ends(
    numbers: FormNumbers, x: Array, nu: Array, equal: bool
) -> tuple[FormPoint, npt.NDArray[np.bool_]]:
    """Entries beyond their upper ends are put there, until none is; which are settled.

    With some entries at their ends, tau follows from what is left to the others, and nu
    still solves one equation of the same kind, with `total` the sum of all shares:
    |(v - nu)_+ / s|^2 + |s upper|^2 (total / left)^2 = 1.
    """
    slopes = numbers.slopes
    worth, upper = -numbers.cost / slopes, numbers.upper * slopes
    scale = numbers.price * np.abs(numbers.weights) / slopes
    worth, upper, scale = np.broadcast_arrays(worth, upper, scale)
    curve = 1 / (scale * scale)
    full = np.asarray(x > numbers.upper)
    done, settled = np.zeros((2, x.shape[1]), dtype=bool)
    x, best, goal = x.copy(), nu, np.full(x.shape[1], COARSE)
    for _ in range(ROUNDS):
        left = numbers.level - np.where(full, upper, 0.0).sum(axis=0)
        ends = np.where(full, scale * upper, 0.0)
        held = (ends * ends).sum(axis=0) / (left * left)
        free = np.where(full, 0.0, curve)
        start = np.where(full, -np.inf, worth - scale).max(axis=0)
        nu = np.maximum(nu, start)
        for step in range(STEPS):
            over = np.maximum(worth - nu, 0.0)
            rising = np.where(over > 0, free, 0.0)
            share = over * rising
            total = share.sum(axis=0)
            norm = np.sqrt((share * over).sum(axis=0) + held * total * total)
            miss = norm - 1
            moved = nu + miss * norm / (total + held * total * rising.sum(axis=0))
            moved = np.where(moved >= start, moved, start)
            # From the right, where the last round may have ended, one step goes left.
            moves = (miss > goal) | ((miss < -goal) & (step == 0))
            moved = np.where(moves, moved, nu)
            if (moved == nu).all():
                break
            nu = moved
        wish = left / total * over * curve
        beyond = wish > upper
        # What has ended stays as it was when it did, whatever is beside it.
        same = (beyond == full).all(axis=0)
        ended = same & (goal == MISS) & ~done
        x[:, ended] = (np.minimum(wish, upper) / slopes)[:, ended]
        best = np.where(ended, nu, best)
        settled |= ended & (left > 0) & (equal | (nu >= 0))
        done |= ended
        if done.all():
            break
        full, goal = beyond, np.where(same, MISS, goal)
    moved = numbers.weights * x
    pull = moved / np.sqrt((moved * moved).sum(axis=0))
    return FormPoint(x, best, pull), settled


def _on_simplex(numbers: FormNumbers, equal: bool) -> FormPoint:
    """Without upper bounds: in units in which all coefficients of the row are 1."""
    slopes = numbers.slopes
    worth = -numbers.cost
    scale = numbers.price * np.abs(numbers.weights)
    if (slopes != 1).any():
        worth, scale = worth / slopes, scale / slopes
    certain = scale == 0
    inverse = 1 / scale
    if certain.any():
        inverse = np.where(certain, 0.0, inverse)
    # Room that is written to at every step.
    pull, share, squares = np.empty((3, *worth.shape))
    nu = np.subtract(worth, scale, out=share).max(axis=0)
    if not equal:
        nu = np.maximum(nu, 0.0)
    for _ in range(STEPS):
        np.subtract(worth, nu, out=pull)
        np.maximum(pull, 0.0, out=pull)
        np.multiply(pull, inverse, out=pull)
        total = np.multiply(pull, inverse, out=share).sum(axis=0)
        norm = np.sqrt(np.multiply(pull, pull, out=squares).sum(axis=0))
        miss = norm - 1
        moved = nu + np.where(miss > MISS, miss * norm / total, 0.0)
        if (moved == nu).all():
            break
        nu = moved
    x = share
    x *= numbers.level / total
    x /= slopes
    # Where no norm pulls: all in one entry without uncertainty, or nothing at all.
    flat = np.flatnonzero(norm < 1 - NEAR)
    if flat.size:
        x[:, flat] = 0.0
        at_nu = np.broadcast_to(certain, worth.shape)[:, flat]
        at_nu = at_nu & (worth[:, flat] == nu[flat])
        best = np.argmax(at_nu, axis=0)
        amount = np.where(
            at_nu.any(axis=0), np.resize(numbers.level, nu.shape)[flat], 0
        )
        x[best, flat] = amount / np.broadcast_to(slopes, worth.shape)[best, flat]
    pull *= 1 / np.maximum(norm, 1.0)
    return FormPoint(x, nu, np.copysign(pull, numbers.weights, out=pull))


def _in_box(numbers: FormNumbers) -> FormPoint:
    """Between 0 and upper ends, where no row binds: by tau = |s x| alone."""
    worth = np.maximum(-numbers.cost, 0.0)
    scale = numbers.price * np.abs(numbers.weights)
    scale, upper = (
        np.broadcast_to(part, worth.shape) for part in (scale, numbers.upper)
    )
    curve = 1 / (scale * scale)
    still = (worth * worth * curve).sum(axis=0) <= 1
    far = scale * upper
    high = np.sqrt((far * far).sum(axis=0))
    low, tau, x = np.zeros_like(high), high, upper
    for _ in range(STEPS):
        wish = tau * worth * curve
        x = np.minimum(wish, upper)
        squares = scale * x * (scale * x)
        norm = np.sqrt(squares.sum(axis=0))
        gain = np.where(wish < upper, squares, 0.0).sum(axis=0)
        miss = norm - tau
        low, high = np.where(miss > 0, tau, low), np.where(miss > 0, high, tau)
        following = tau - miss / (gain / (tau * norm) - 1)
        inside = (following >= low) & (following <= high)
        following = np.where(inside, following, (low + high) / 2)
        following = np.where(np.abs(miss) > MISS * tau, following, tau)
        if (following == tau).all():
            break
        tau = following
    x = np.where(still, 0.0, x)
    moved = numbers.weights * x
    pull = moved / np.sqrt((moved * moved).sum(axis=0))
    rest = np.copysign(worth / scale, numbers.weights)
    return FormPoint(x, np.zeros_like(tau), np.where(still, rest, pull))


def _within(numbers: FormNumbers, coupled: bool, equal: bool) -> FormPoint:
    """With bounds of any kind, where every entry has some uncertainty."""
    search = _Search(numbers, coupled, equal)
    still, pull = search.rest()
    tau, nu = search.tau()
    x = np.where(still, 0.0, search.x(tau, nu))
    moved = numbers.weights * x
    pull = np.where(still, pull, moved / np.sqrt((moved * moved).sum(axis=0)))
    return FormPoint(x, np.where(still, 0.0, nu), pull)


class _Search:
    """The two numbers tau and nu, by Newton's method between ends that close in."""

    def __init__(self, numbers: FormNumbers, coupled: bool, equal: bool) -> None:
        self.numbers, self.coupled, self.equal = numbers, coupled, equal
        self.worth = -numbers.cost
        shape = self.worth.shape
        self.scale = np.broadcast_to(numbers.price * np.abs(numbers.weights), shape)
        self.slopes = np.broadcast_to(numbers.slopes, shape)
        self.curve = 1 / (self.scale * self.scale)
        self.lower = np.broadcast_to(numbers.lower, shape)
        self.upper = np.broadcast_to(numbers.upper, shape)
        if coupled and equal:
            # Nobody takes more than the others leave; twice that is never reached.
            start = np.sum(self.slopes * self.lower, axis=0)
            most = 2 * (numbers.level - start) / self.slopes
            ends = np.minimum(self.upper, self.lower + most)
            self.upper = np.where((self.slopes > 0) & (most >= 0), ends, self.upper)

    def rest(self) -> tuple[Array, Array]:
        """Whether x = 0 is best, and the pull that says so."""
        numbers = self.numbers
        wish = self.worth / self.scale
        wish = np.where(self.lower == 0, np.maximum(wish, 0.0), wish)
        wish = np.where(self.upper == 0, np.minimum(wish, 0.0), wish)
        inside = ((self.lower <= 0) & (self.upper >= 0)).all(axis=0)
        if self.coupled:
            inside &= (not self.equal) & (numbers.level >= 0)
        still = inside & ((wish * wish).sum(axis=0) <= 1)
        return still, np.sign(numbers.weights) * wish

    def x(self, tau: Array, nu: Array) -> Array:
        """The best point for given tau and nu, shape (n, m)."""
        wish = tau * (self.worth - nu * self.slopes) * self.curve
        return np.clip(wish, self.lower, self.upper)

    def tau(self) -> tuple[Array, Array]:
        """Where |s x| is tau, and nu there."""
        far = self.scale * np.maximum(np.abs(self.lower), np.abs(self.upper))
        high = np.sqrt((far * far).sum(axis=0))
        low = np.zeros_like(high)
        tau, nu = high.copy(), np.zeros_like(high)
        done = np.zeros(high.shape, dtype=bool)
        for _ in range(STEPS):
            # What has ended stays as it was when it did, whatever is beside it.
            nu = np.where(done, nu, self._nu(tau, nu))
            x = self.x(tau, nu)
            free = (x > self.lower) & (x < self.upper)
            sizes = self.scale * x
            norm = np.sqrt((sizes * sizes).sum(axis=0))
            miss = norm - tau
            low, high = np.where(miss > 0, tau, low), np.where(miss <= 0, tau, high)
            slope = self._slope(x, free, tau, nu, norm) - 1
            step = -miss / slope
            following = tau + np.where(np.abs(miss) > MISS * tau, step, 0.0)
            outside = ~((following >= low) & (following <= high))
            following = np.where(outside, (low + high) / 2, following)
            done |= following == tau
            if done.all():
                break
            tau = np.where(done, tau, following)
        return tau, nu

    def _slope(
        self, x: Array, free: npt.NDArray[np.bool_], tau: Array, nu: Array, norm: Array
    ) -> Array:
        """How |s x| grows with tau."""
        gain = np.where(free, (self.worth - nu * self.slopes) * self.curve, 0.0)
        if self.coupled:
            along = np.where(free, self.slopes * self.curve, 0.0)
            take = (self.slopes * gain).sum(axis=0) / (self.slopes * along).sum(axis=0)
            bound = self.equal | (nu > 0)
            gain = gain - np.where(bound & np.isfinite(take), take, 0.0) * along
        return np.asarray((self.scale**2 * x * gain).sum(axis=0) / norm)

    def _nu(self, tau: Array, nu: Array) -> Array:
        """Where a'x is the level, for given tau; from a guess."""
        if not self.coupled:
            return nu
        level = self.numbers.level
        ends = [
            (self.worth - end / (tau * self.curve)) / self.slopes
            for end in (self.lower, self.upper)
        ]
        flat = self.slopes == 0
        low = np.where(flat, np.inf, np.minimum(*ends)).min(axis=0)
        high = np.where(flat, -np.inf, np.maximum(*ends)).max(axis=0)
        if not self.equal:
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
            low = np.zeros_like(low)
        nu = np.clip(nu, low, high)
        for _ in range(STEPS):
            x = self.x(tau, nu)
            miss = (self.slopes * x).sum(axis=0) - level
            free = (x > self.lower) & (x < self.upper)
            fall = tau * np.where(free, self.slopes**2 * self.curve, 0.0).sum(axis=0)
            low, high = np.where(miss > 0, nu, low), np.where(miss <= 0, nu, high)
            following = nu + miss / fall
            outside = ~((following >= low) & (following <= high))
            following = np.where(outside, (low + high) / 2, following)
            close = np.abs(miss) <= MISS * np.abs(self.slopes * x).sum(axis=0)
            if not self.equal:
                close |= (nu == 0) & (miss <= 0)
            following = np.where(close, nu, following)
            if (following == nu).all():
                break
            nu = following
        return nu
