"""Kullback-Leibler balls of probability vectors.

    { p in the simplex : D(p || phat) = sum_j p_j log(p_j / phat_j) <= radius }.

The orientation is D(p || phat): the unknown law first, the nominal one second, so a
class of nominal probability zero keeps probability zero. For a direction v,

    support(v) = min_{u >= 0}  u radius + u log sum_j phat_j exp(v_j / u),

attained at p_j proportional to phat_j exp(v_j / u), where u solves D(p || phat) =
radius; or, for a radius of at least -log phat(argmax v), at phat given argmax v.
Reference: Hu and Hong (2013), Kullback-Leibler divergence constrained DRO.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ..checks import Array, BoolArray
from ..deferred import cp
from .probability_ball import ROUNDING, ProbabilityBall, on_simplex, simplex_basis


@dataclass(frozen=True, eq=False, repr=False, init=False)
class KLBall(ProbabilityBall):
    """Probability vectors p of divergence D(p || probabilities) at most `radius`.

    Parameters
    ----------
    probabilities : array of shape (classes,)
        The nominal law; classes of probability zero stay at zero.
    radius : float
        In nats, at least 0; inf is the whole simplex on the support.

    Examples
    --------
    >>> U = KLBall([0.5, 0.5], radius=0.1)
    >>> U.worst_case([1.0, 0.0])
    array([0.7198, 0.2802])
    >>> KLBall([0.5, 0.5], radius=1.0).worst_case([1.0, 0.0])
    array([1., 0.])
    """

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        if self.radius == 0:
            return [outcome == self.probabilities]
        on, off = np.flatnonzero(self._active), np.flatnonzero(~self._active)
        conditions = [cp.sum(outcome) == 1, outcome[on] >= 0]
        if off.size:
            conditions.append(outcome[off] == 0)
        if self.radius < inf:
            divergence = cp.rel_entr(outcome[on], self.probabilities[on])
            conditions.append(cp.sum(divergence) <= self.radius)
        return conditions

    @property
    def _active(self) -> BoolArray:
        return np.asarray(self.probabilities > 0)

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        on = self._active
        mass = np.maximum(outcomes[:, on], 0.0)
        ratio = np.where(mass > 0, mass, 1.0) / np.where(
            mass > 0, self.probabilities[on], 1.0
        )
        # sum p log(p / phat) - p + phat: the same where p sums to one, and of second
        # order in p - phat, so that rounding does not drown a small radius.
        divergence = (mass * np.log(ratio) - mass + self.probabilities[on]).sum(axis=1)
        absent = (np.abs(outcomes[:, ~on]) <= max(tol, ROUNDING)).all(axis=1)
        close = divergence <= self.radius * (1 + tol) + ROUNDING
        return np.asarray(on_simplex(outcomes, tol) & absent & close)

    def maximiser(self, direction: Array) -> Array:
        on = self._active
        worst = np.zeros(self.dim)
        worst[on] = _tilt(self.probabilities[on], direction[on], self.radius)
        return worst

    def hull_basis(self) -> Array:
        if self.radius == 0:
            return np.zeros((self.dim, 0))
        return simplex_basis(self._active)

    def interior_point(self) -> Array:
        return np.array(self.probabilities)


def _tilt(nominal: Array, slope: Array, radius: float) -> Array:
    """The worst case over a ball around a positive nominal law, shape (classes,)."""
    from scipy.optimize import brentq

    spread = float(slope.max() - slope.min())
    if spread == 0.0 or radius == 0.0:
        return nominal
    # Shifted exponents never overflow; scaled ones make the bracket scale-free.
    shifted = (slope - slope.max()) / spread
    top = shifted == 0.0
    if radius >= -np.log(nominal[top].sum()):
        return np.asarray(np.where(top, nominal, 0.0) / nominal[top].sum())

    def tilt(rate: float) -> Array:
        """Logarithm of the worst law over the nominal one."""
        total = np.log1p(float(nominal @ np.expm1(rate * shifted)))
        return np.asarray(rate * shifted - total)

    def excess(rate: float) -> float:
        # sum p log(p / phat) - p + phat, term by term: tiny balls do not drown in
        # rounding.
        log_ratio = tilt(rate)
        far = log_ratio * np.exp(log_ratio) - np.expm1(log_ratio)
        near = log_ratio**2 * (1 / 2 + log_ratio / 3 + log_ratio**2 / 8)
        terms = np.where(np.abs(log_ratio) < 1e-4, near, far)
        return float(nominal @ terms) - radius

    high = 1.0
    while excess(high) < 0.0 and high < 1e300:
        high *= 2.0
    # A tiny ball has a tiny rate: halving from one to there takes up to 1100 steps.
    exact = {"xtol": 1e-300, "rtol": 1e-15, "maxiter": 2000}
    rate = brentq(excess, 0.0, high, **exact) if high < 1e300 else high
    weights = nominal * np.exp(tilt(rate))
    return np.asarray(weights / weights.sum())
