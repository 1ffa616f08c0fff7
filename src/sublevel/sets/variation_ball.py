"""Total-variation balls of probability vectors.

    { p in the simplex : sum_j |p_j - phat_j| <= radius }.

The worst case moves up to radius / 2 of mass from the classes of least gain to the
class of largest gain. Classes of nominal probability zero can receive mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import Array, BoolArray
from ..deferred import cp
from .probability_ball import ROUNDING, ProbabilityBall, on_simplex, simplex_basis


@dataclass(frozen=True, eq=False, repr=False, init=False)
class VariationBall(ProbabilityBall):
    """Probability vectors within a 1-norm distance of `probabilities`.

    Parameters
    ----------
    probabilities : array of shape (classes,)
    radius : float
        Sum of absolute differences, at least 0; 2 or more is the whole simplex.

    Examples
    --------
    >>> U = VariationBall([0.2, 0.3, 0.5], radius=0.5)
    >>> U.worst_case([3.0, 2.0, 1.0])
    array([0.45, 0.3 , 0.25])
    """

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        if self.radius == 0:
            return [outcome == self.probabilities]
        conditions = [cp.sum(outcome) == 1, outcome >= 0]
        if self.radius < 2:
            conditions.append(cp.norm1(outcome - self.probabilities) <= self.radius)
        return conditions

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        distance = np.abs(outcomes - self.probabilities).sum(axis=1)
        close = distance <= self.radius + max(tol, ROUNDING)
        return np.asarray(on_simplex(outcomes, tol) & close)

    def maximiser(self, direction: Array) -> Array:
        worst = np.array(self.probabilities)
        top = int(np.argmax(direction))
        order = np.argsort(direction, kind="stable")
        order = order[order != top]
        left = np.cumsum(worst[order])
        moved = min(self.radius / 2, float(left[-1])) if order.size else 0.0
        # Each class in turn gives what it has until enough has been moved.
        given = np.minimum(worst[order], np.maximum(moved - left + worst[order], 0.0))
        worst[order] -= given
        worst[top] += given.sum()
        return worst

    def hull_basis(self) -> Array:
        if self.radius == 0:
            return np.zeros((self.dim, 0))
        return simplex_basis(np.ones(self.dim, dtype=bool))

    def interior_point(self) -> Array:
        # Towards the uniform law, which makes every class positive, half-way out.
        step = 1 / self.dim - self.probabilities
        distance = float(np.abs(step).sum())
        share = min(0.5, self.radius / (2 * distance)) if distance > 0 else 0.0
        return np.asarray(self.probabilities + share * step)
