"""Balls of probability vectors in four more divergences.

    { p in the simplex : sum_j q_j phi(p_j / q_j) <= radius },

phi as in `sublevel.sets.phi`: chi-square, modified chi-square, Hellinger and Burg's
entropy D(q || p). KLBall and VariationBall have files of their own. The worst law
comes by bisection and Newton's method, for any number of directions at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from ..checks import Array, BoolArray
from ..deferred import cp
from .phi import Burg, ChiSquare, Hellinger, ModifiedChiSquare, Phi
from .probability_ball import ROUNDING, ProbabilityBall, on_simplex, simplex_basis

#: Halvings of the interval of multipliers: to the last digit.
HALVINGS = 60
#: Most steps of Newton's method; it takes about ten.
MOST_STEPS = 200


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DivergenceBall(ProbabilityBall):
    """Probability vectors within a divergence of `probabilities`.

    Parameters
    ----------
    probabilities : array of shape (classes,)
        The nominal law.
    radius : float
        At least 0; inf is the whole simplex.
    """

    phi: ClassVar[Phi]

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        if self.radius == 0:
            return [outcome == self.probabilities]
        seen = self.probabilities > 0
        on, off = np.flatnonzero(seen), np.flatnonzero(~seen)
        conditions = [cp.sum(outcome) == 1, outcome >= 0]
        if off.size and self.phi.slope == inf:
            conditions.append(outcome[off] == 0)
        if self.radius < inf:
            divergence = self.phi.expression(outcome[on], self.probabilities[on])
            conditions.append(divergence <= self.radius)
        return conditions

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        can = self._possible
        terms = self.phi.terms(outcomes[:, can], self.probabilities[can])
        absent = (np.abs(outcomes[:, ~can]) <= max(tol, ROUNDING)).all(axis=1)
        close = terms.sum(axis=1) <= self.radius * (1 + tol) + ROUNDING
        return np.asarray(on_simplex(outcomes, tol) & absent & close)

    @property
    def _possible(self) -> BoolArray:
        """Classes that can have mass: all, or those the nominal law has seen."""
        return np.asarray((self.probabilities > 0) | (self.phi.slope < inf))

    def maximiser(self, direction: Array) -> Array:
        can = self._possible
        nominal, worst = self.probabilities[can], np.zeros(self.dim)
        if self.radius == inf:
            worst[np.flatnonzero(can)[int(np.argmax(direction[can]))]] = 1.0
            return worst
        if not (nominal > 0).all():
            return super().maximiser(direction)
        radius = np.array([self.radius])
        worst[can] = worst_laws(self.phi, nominal, direction[None, can], radius)[0]
        return worst

    def hull_basis(self) -> Array:
        if self.radius == 0:
            return np.zeros((self.dim, 0))
        return simplex_basis(self._possible)

    def interior_point(self) -> Array:
        point = np.array(self.probabilities)
        if (point[self._possible] > 0).all():
            return point
        share = 0.5
        while not self.contains(point + share * (1 / self.dim - point)):
            share /= 2
        return np.asarray(point + share / 2 * (1 / self.dim - point))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ChiSquareBall(DivergenceBall):
    """Probability vectors p with sum (p - q)^2 / p at most `radius`.

    Examples
    --------
    >>> ChiSquareBall([0.5, 0.5], radius=0.5625).worst_case([1.0, 0.0]).round(6)
    array([0.8, 0.2])
    """

    phi = ChiSquare()


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ModifiedChiSquareBall(DivergenceBall):
    """Probability vectors p with sum (p - q)^2 / q at most `radius`.

    Examples
    --------
    >>> ModifiedChiSquareBall([0.5, 0.5], radius=0.36).worst_case([1.0, 0.0]).round(6)
    array([0.8, 0.2])
    """

    phi = ModifiedChiSquare()


@dataclass(frozen=True, eq=False, repr=False, init=False)
class HellingerBall(DivergenceBall):
    """Probability vectors p with sum (sqrt p - sqrt q)^2 at most `radius`.

    Examples
    --------
    >>> HellingerBall([0.25, 0.75], radius=1.0).worst_case([1.0, 0.0]).round(6)
    array([1., 0.])
    """

    phi = Hellinger()


@dataclass(frozen=True, eq=False, repr=False, init=False)
class BurgBall(DivergenceBall):
    """Probability vectors p with D(q || p) at most `radius`.

    Examples
    --------
    >>> worst = BurgBall([0.5, 0.5], radius=0.1).worst_case([1.0, 0.0])
    >>> float((0.5 * np.log(0.5 / worst)).sum().round(6))
    0.1
    """

    phi = Burg()


def worst_laws(phi: Phi, nominal: Array, directions: Array, radii: Array) -> Array:
    """The law that maximises `direction @ p` over each ball, shape (n, classes).

    Parameters
    ----------
    phi : smooth, such that phi* has a derivative
    nominal : array of shape (classes,) or (n, classes), positive
    directions : array of shape (n, classes)
    radii : array of shape (n,), finite

    Examples
    --------
    >>> nominal, radii = np.array([0.5, 0.5]), np.full(2, 0.36)
    >>> directions = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> worst_laws(ModifiedChiSquare(), nominal, directions, radii).round(3)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    nominal = np.broadcast_to(nominal, directions.shape)
    gain = directions - directions.max(axis=1, keepdims=True)
    spread = -gain.min(axis=1)
    # Scaled to [-1, 0], so that one bracket suits directions of any size.
    gain = gain / np.where(spread > 0, spread, 1.0)[:, None]
    top = gain == 0
    extreme = np.where(top, nominal, 0.0)
    extreme = extreme / extreme.sum(axis=1, keepdims=True)
    laws = _tilted(phi, nominal, gain, radii)
    beyond = phi.terms(extreme, nominal).sum(axis=1) <= radii
    laws = np.where(beyond[:, None], extreme, laws)
    still = (spread == 0) | (radii == 0)
    return np.asarray(np.where(still[:, None], nominal, laws))


def _tilted(phi: Phi, nominal: Array, gain: Array, radii: Array) -> Array:
    """The law whose divergence is the radius: bisect the multiplier's logarithm."""
    low, high = np.full(len(gain), -60.0), np.full(len(gain), 60.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        law = _normalised(phi, nominal, gain * np.exp(-middle)[:, None])
        far = phi.terms(law, nominal).sum(axis=1) > radii
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return _normalised(phi, nominal, gain * np.exp(-high)[:, None])


def _normalised(phi: Phi, nominal: Array, prices: Array) -> Array:
    """The law q ratio(price + shift) that sums to one, by Newton's method.

    The sum is convex and increasing in the shift. At the start one class alone makes
    it one or more, so the steps go down to the root and never past it.
    """
    top = np.max(np.where(prices == 0, nominal, 0.0), axis=1)
    shift = phi.marginal(1 / top)
    for _ in range(MOST_STEPS):
        at = prices + shift[:, None]
        over = np.sum(nominal * phi.ratio(at), axis=1) - 1
        step = over / np.sum(nominal * phi.ratio_slope(at), axis=1)
        shift = shift - np.maximum(step, 0.0)
        if (step <= 1e-15 * (1 + np.abs(shift))).all():
            break
    law = nominal * phi.ratio(prices + shift[:, None])
    return np.asarray(law / law.sum(axis=1, keepdims=True))
