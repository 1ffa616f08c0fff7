"""A line for the logarithm of a positive target, under the gamma loss.

    minimise  mean(y exp(-eta) + eta) + penalty / 2 |slopes|^2,  eta = intercept + Z slopes

by Fisher scoring: the expected curvature of the gamma loss is the mean of Z Z', whatever
eta is, so it is factorised once and never small. (The curvature of Newton's method,
weighted by y exp(-eta), vanishes where y is tiny, as squared residuals are.) The loss is
convex; halving a step until the loss falls is all the care needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..checks import Array

MOST_STEPS, MOST_HALVINGS = 200, 40


@dataclass(frozen=True, eq=False)
class GammaLine:
    """A linear model of the logarithm, fitted in the style of scikit-learn.

    Parameters
    ----------
    penalty : float, on the slopes, relative to the mean loss

    Examples
    --------
    >>> Z = np.array([[-1.0], [0.0], [1.0]])
    >>> GammaLine(0.0).fit(Z, np.exp(1 + 2 * Z[:, 0])).predict(Z).round(3)
    array([ 0.368,  2.718, 20.086])
    """

    penalty: float
    coefficients: Array | None = None

    def fit(
        self, design: Array, y: Array, sample_weight: Array | None = None
    ) -> GammaLine:
        """A fitted copy; design has shape (n, p), y is positive."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        loss = _PenalisedLoss(_with_ones(design), y, weight / weight.sum(), self.penalty)
        return GammaLine(self.penalty, loss.minimiser())

    def predict(self, design: Array) -> Array:
        """Positive predictions of shape (n,); infinite where the line is too high."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(_with_ones(design) @ self.coefficients))


@dataclass(frozen=True, eq=False)
class _PenalisedLoss:
    Z: Array
    y: Array
    shares: Array
    penalty: float

    @property
    def ridge(self) -> Array:
        """The intercept, first, is free."""
        return np.append(0.0, np.full(self.Z.shape[1] - 1, self.penalty))

    def value(self, b: Array) -> float:
        eta = self.Z @ b
        with np.errstate(over="ignore"):
            return float(self.shares @ (self.y * np.exp(-eta) + eta)) + float(
                self.ridge @ b**2 / 2
            )

    def slope(self, b: Array) -> Array:
        pull = self.shares * (1 - self.y * np.exp(-(self.Z @ b)))
        return np.asarray(self.Z.T @ pull + self.ridge * b)

    def minimiser(self) -> Array:
        # The last term only keeps a column that repeats others from being singular.
        expected = (self.Z * self.shares[:, None]).T @ self.Z + np.diag(self.ridge)
        factor = cho_factor(expected + 1e-10 * np.eye(len(expected)))
        b = np.zeros(self.Z.shape[1])
        b[0] = np.log(self.shares @ self.y)
        for _ in range(MOST_STEPS):
            slope = self.slope(b)
            step = cho_solve(factor, slope)
            gain = float(slope @ step)
            if gain < 1e-10:
                break
            b = b - self._length(b, step, gain) * step
        return b

    def _length(self, b: Array, step: Array, gain: float) -> float:
        """A power of 1/2 at which the loss falls enough (Armijo)."""
        length, start = 1.0, self.value(b)
        for _ in range(MOST_HALVINGS):
            if self.value(b - length * step) <= start - 0.1 * length * gain:
                break
            length /= 2
        return length


def _with_ones(design: Array) -> Array:
    return np.column_stack([np.ones(len(design)), design])
