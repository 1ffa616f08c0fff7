"""A line for the logarithm of a positive target, under the gamma loss.

    minimise  mean(y exp(-eta) + eta) + penalty / 2 |b|^2,  eta = intercept + Z b

by Fisher scoring: the expected curvature of the gamma loss is the mean of Z Z',
whatever eta is, so it is factorised once and never small. (The curvature of Newton's
method, weighted by y exp(-eta), vanishes where y is tiny, as squared residuals are.)
The loss is convex; halving a step until the loss falls is all the care needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..checks import Array

MOST_STEPS, MOST_HALVINGS = 200, 40
#: Of a logarithm: noise does not differ by more than 1e26 between rows.
FARTHEST = 30.0


@dataclass(frozen=True, eq=False)
class GammaLine:
    """A fitted linear model of the logarithm; its first coefficient is free."""

    coefficients: Array

    def predict(self, design: Array) -> Array:
        """Predictions of shape (n,), positive and finite however far the row is."""
        eta = _with_ones(design) @ self.coefficients
        return np.asarray(np.exp(np.clip(eta, -FARTHEST, FARTHEST)))


def fit_gamma_line(
    design: Array, y: Array, weight: Array | None, penalty: float
) -> GammaLine:
    """The line with the smallest penalised loss.

    Parameters
    ----------
    design : array of shape (n, p), columns of about unit size
    y : array of shape (n,), positive
    weight : array of shape (n,), or None where all rows count the same
    penalty : float, on the slopes, relative to the mean loss

    Examples
    --------
    >>> Z = np.array([[-1.0], [0.0], [1.0]])
    >>> fit_gamma_line(Z, np.exp(1 + 2 * Z[:, 0]), None, 0.0).predict(Z).round(3)
    array([ 0.368,  2.718, 20.086])
    """
    raw = np.ones(len(y)) if weight is None else weight
    loss = _PenalisedLoss(_with_ones(design), y, raw / raw.sum(), penalty)
    return GammaLine(loss.minimiser())


@dataclass(frozen=True, eq=False)
class _PenalisedLoss:
    Z: Array
    y: Array
    shares: Array
    penalty: float

    @property
    def ridge(self) -> Array:
        return np.append(0.0, np.full(self.Z.shape[1] - 1, self.penalty))

    def value(self, b: Array) -> float:
        eta = self.Z @ b
        with np.errstate(over="ignore"):
            mean = self.shares @ (self.y * np.exp(-eta) + eta)
        return float(mean + self.ridge @ b**2 / 2)

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
