"""Levels at which a decision keeps its word, proved from decisions at other levels.

The objective is  c(y, x) = c0(x) + y' v(x),  only it is uncertain, and the set at
radius r is a ball around the prediction: in whitened coordinates the outcome is q, the
decision meets it as p(x), and

    worst case at r  =  m(x) + r |p(x)|,       realised  =  m(x) + q' p(x).

A decision x_i that is optimal at radius r_i, with its worst outcome r_i u_i, is half of
a saddle point: for every x that is allowed

    m(x) + r_i u_i' p(x) >= z_i,               z_i the worst case of x_i at r_i.     (1)

The decision x at another radius r costs no more than any other there:

    m(x) + r |p(x)| <= Z = min_i  m_i + r |p_i|.                                     (2)

Take weights k_i >= 0. If the mean of the outcome and these worst ones lies in the set,

    |q + sum_i k_i r_i u_i|  <=  r (1 + sum_i k_i),                                  (3)

then  q'p - r |p| <= sum_i k_i (r |p| - r_i u_i'p) <= sum_i k_i (Z - z_i),  by (1) and
(2). If that sum is not positive either, the realised cost is at most the worst case:
the decision at r keeps its word, whatever it is. A level above r has z_i > Z, one below
z_i < Z; one of each is used, the nearest.

Solutions have few digits. A gap e between z_i and the dual's value takes from (1)

    2 e + |p - p_i| sqrt(2 r_i e / |p_i|)

(move from x_i towards x by the step that balances the gap with the curvature of the
norm), and (2) is short by as much as the new solution may be. All of it is subtracted.
The proof is in docs/decisions/0034-levels-proved.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..conic.optimality import GOOD

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

#: Below this share of the objective, what is at stake has no direction to speak of.
AT_STAKE = 1e-4
#: Shares of the lower cut that are tried, of the most that is allowed.
SHARES = np.linspace(0.0, 1.0, 9)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Decisions that were computed, one each of k points, and what they prove.

    Attributes
    ----------
    radius : of the set, r_i, shape (k,)
    worst : the cost at its worst, z_i, shape (k,)
    middle : the cost at the prediction, m_i, shape (k,)
    gap : by how much `worst` may be above the least there is, shape (k,)
    outcome : the worst outcome, whitened, r_i u_i, shape (k, m)
    along : its inner product with the outcome that came, shape (k,)
    """

    radius: Array
    worst: Array
    middle: Array
    gap: Array
    outcome: Array
    along: Array

    def __len__(self) -> int:
        return len(self.radius)

    def at(self, rows: Rows | Flags) -> Cuts:
        """Some of them."""
        return Cuts(*(getattr(self, each.name)[rows] for each in fields(self)))

    def joined(self, other: Cuts) -> Cuts:
        """These and others."""
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return Cuts(*(np.concatenate(pair) for pair in pairs))

    @property
    def size(self) -> Array:
        """What the digits of a solution are counted against, shape (k,)."""
        return np.abs(self.worst) + np.abs(self.middle) + np.abs(self.reach)

    @property
    def reach(self) -> Array:
        """What is at stake, r_i |p_i|, shape (k,)."""
        return np.asarray(self.worst - self.middle)

    @property
    def length(self) -> Array:
        """|p_i|, shape (k,)."""
        return np.asarray(self.reach / self.radius)

    @property
    def error(self) -> Array:
        """What (1) loses for each unit of |p - p_i|, shape (k,)."""
        return np.sqrt(2 * self.radius * self.gap / self.length)

    @property
    def useful(self) -> Flags:
        """Whether a worst outcome can be told from others, shape (k,)."""
        at_stake = self.reach > AT_STAKE * self.size
        return np.asarray((self.radius > 0) & at_stake & np.isfinite(self.error))

    def at_radius(self, radius: Array) -> Array:
        """What these decisions cost at worst at other radii, shape (k,)."""
        return self.middle + radius * self.length


def are_kept(
    radius: Array, square: Array, above: Cuts, below: Cuts, has_below: Flags
) -> Flags:
    """Whether decisions are proved to keep their word, shape (k,).

    Parameters
    ----------
    radius : of the sets, shape (k,)
    square : squared whitened length of the outcomes, |q|^2, shape (k,)
    above : cuts of larger radii, useful ones
    below : cuts of smaller radii, useful ones; any where there is none
    has_below : where there is one

    Examples
    --------
    A decision whose worst outcome at radius 2 is (2, 0), and the outcome (0, 1.4):

    >>> one = np.ones(1)
    >>> cut = Cuts(2 * one, 2 * one, 0 * one, 0 * one, np.array([[2.0, 0.0]]), 0 * one)
    >>> are_kept(1.2 * one, 1.96 * one, cut, cut, np.array([False]))
    array([ True])
    >>> are_kept(0.5 * one, 1.96 * one, cut, cut, np.array([False]))
    array([False])
    """
    with np.errstate(all="ignore"):
        at_most = above.at_radius(radius)
        other = np.where(has_below, below.at_radius(radius), np.inf)
        at_most = np.minimum(at_most, other) + left_open(above, below, has_below)
        over, under = _Side(at_most, above), _Side(at_most, below)
        _sharpen(radius, over, under, has_below)
        most = np.where(
            has_below, np.where(under.short > 0, -over.short / under.short, np.inf), 0.0
        )
        # Weights beyond this change nothing but digits.
        most = np.minimum(most, 1e3)
        cross = np.sum(above.outcome * below.outcome, axis=1)
        proved = np.zeros(len(radius), dtype=bool)
        for share in SHARES:
            lower = share * most
            length = above.radius**2 + 2 * lower * cross + lower**2 * below.radius**2
            along = above.along + lower * np.where(lower > 0, below.along, 0.0)
            room = radius * (1 + lower) - over.slope - lower * under.slope
            # |q + k g|^2 <= (r + k room)^2 for some k > 0.
            linear = radius * room - along
            curved = np.maximum(length - room**2, 0.0)
            outside = np.maximum(square - radius**2, 0.0)
            proved |= (room > 0) & (linear > 0) & (linear**2 >= outside * curved)
        return np.asarray(proved & (over.short < 0) & (radius > 0))


def left_open(above: Cuts, below: Cuts, has_below: Flags) -> Array:
    """How far the decision asked about may be from the best: as those beside it.

    And no less than what certificates of optimality are silent about, shape (k,).
    """
    nearby = np.maximum(above.gap, np.where(has_below, below.gap, 0.0))
    return np.asarray(np.maximum(nearby, GOOD * above.size))


class _Side:
    """What a cut says of the decision at r: r |p| - r_i u_i'p <= short + slope |p|."""

    def __init__(self, at_most: Array, cuts: Cuts) -> None:
        self.cuts = cuts
        self.base = at_most - cuts.worst + 2 * cuts.gap
        self.slope = cuts.error
        # |p - p_i| <= |p| + |p_i|
        self.short = self.base + cuts.error * cuts.length

    def distance(self, radius: Array, length: Array) -> Array:
        """How far p may be from p_i, if it has this length, squared, shape (k,)."""
        own = self.cuts.length
        least = ((radius - self.slope) * length - self.short) / self.cuts.radius
        return np.asarray(length**2 + own**2 - 2 * own * least)


def _sharpen(radius: Array, over: _Side, under: _Side, has_below: Flags) -> None:
    """Between two cuts p is near p_i, and hardly anything is lost to digits.

    The lower cut bounds |p| from above, the upper one from below; a length in between
    leaves p little room beside p_i. The distance is convex in the length, so it is
    largest at an end.
    """
    step = radius - under.cuts.radius - under.slope
    longest = np.where(step > 0, under.short / step, np.inf)
    shortest = -over.short / (over.cuts.radius - radius + over.slope)
    shortest = np.maximum(shortest, 0.0)
    near = [
        np.sqrt(
            np.maximum(
                np.maximum(
                    side.distance(radius, shortest), side.distance(radius, longest)
                ),
                0.0,
            )
        )
        for side in (over, under)
    ]
    sharp = has_below & (step > 0) & (shortest <= longest)
    sharp &= np.isfinite(near[0]) & np.isfinite(near[1])
    for side, distance in zip((over, under), near, strict=True):
        sharper = side.base + side.cuts.error * distance
        side.short = np.where(sharp, sharper, side.short)
        side.slope = np.where(sharp, 0.0, side.slope)
