"""Two losses whose residual keeps the loss: what a second model needs to go on.

    squared  loss(y, p + q) = loss(y - p, q)          p, q add up
    gamma    loss(y, p * q) = loss(y / p, q) + log p  p, q multiply

So trees fitted to what a line leaves improve the line in the very loss of both.

The gamma loss is that of a mean and a variance (Nix & Weigend 1994),

    loss(r, s) = r^2 / s + log s,

twice the Gaussian negative log-likelihood of the residual r at variance s, less a
constant. With the mean held fixed it is the unit gamma deviance of the squares,

    deviance(q, s) = 2 (q / s - 1 - log(q / s)) = 2 loss + terms without s,   q = r^2,

so any regressor with a gamma loss learns the variance from squared residuals. Both
change by a constant when the units of q and s change together. A line for the logarithm

    minimises  mean(y exp(-eta) + eta) + penalty / 2 |b|^2,  eta = intercept + Z b,

by Fisher scoring: the expected curvature of the gamma loss is the mean of Z Z',
whatever eta is, so it is factorised once and never small. (The curvature of Newton's
method, weighted by y exp(-eta), vanishes where y is tiny, as squared residuals are.)
The loss is convex; halving a step until the loss falls is all the care needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.linear_model import Ridge

from ..checks import Array


def nix_weigend(squares: Array, variance: Array) -> Array:
    """Loss of squared residuals at predicted variances, element by element.

    Examples
    --------
    >>> nix_weigend(np.array([1.0, 4.0]), np.array([1.0, 4.0])).round(3)
    array([1.   , 2.386])
    """
    return np.asarray(squares / variance + np.log(variance))


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


class Family(ABC):
    """A loss, how two models of it combine, and its linear model."""

    #: The name HistGradientBoostingRegressor has for the loss.
    boosting: ClassVar[str]
    #: Penalties on the slopes to choose among, relative to the mean loss.
    penalties: ClassVar[tuple[float, ...]]

    @abstractmethod
    def loss(self, y: Array, p: Array) -> Array:
        """Loss of each row."""

    @abstractmethod
    def join(self, p: Array, q: Array) -> Array:
        """The prediction of two models, the second fitted to what the first left."""

    @abstractmethod
    def leave(self, y: Array, p: Array) -> Array:
        """What p leaves to be predicted of y."""

    @abstractmethod
    def line(
        self, design: Array, y: Array, weight: Array | None, penalty: float
    ) -> Any:
        """A fitted linear model of standardised columns."""


class Squared(Family):
    """Squared error: residuals are differences.

    Examples
    --------
    >>> family, y, p, q = Squared(), np.array([3.0]), np.array([2.0]), np.array([5.0])
    >>> family.loss(y, family.join(p, q)) == family.loss(family.leave(y, p), q)
    array([ True])
    """

    boosting = "squared_error"
    penalties = (1e-8, 1e-4, 1e-2, 1e-1, 1.0)

    def loss(self, y: Array, p: Array) -> Array:
        """Squared difference."""
        return np.asarray((y - p) ** 2)

    def join(self, p: Array, q: Array) -> Array:
        """Sum."""
        return p + q

    def leave(self, y: Array, p: Array) -> Array:
        """Difference."""
        return y - p

    def line(
        self, design: Array, y: Array, weight: Array | None, penalty: float
    ) -> Any:
        """Ridge regression, whose own penalty is relative to the sum of the losses."""
        total = len(y) if weight is None else float(np.sum(weight))
        ridge = Ridge(penalty * total, solver="cholesky")
        return ridge.fit(design, y, sample_weight=weight)


class Gamma(Family):
    """Gamma loss y / p + log p of positive y: residuals are ratios.

    Examples
    --------
    >>> family, y, p, q = Gamma(), np.array([3.0]), np.array([2.0]), np.array([5.0])
    >>> whole = family.loss(y, family.join(p, q))
    >>> np.allclose(whole, family.loss(family.leave(y, p), q) + np.log(p))
    True
    """

    boosting = "gamma"
    penalties = (1e-3, 1e-2, 1e-1, 1.0)

    def loss(self, y: Array, p: Array) -> Array:
        """That of Nix and Weigend."""
        return nix_weigend(y, p)

    def join(self, p: Array, q: Array) -> Array:
        """Product."""
        return p * q

    def leave(self, y: Array, p: Array) -> Array:
        """Ratio."""
        return y / p

    def line(
        self, design: Array, y: Array, weight: Array | None, penalty: float
    ) -> Any:
        """A line for the logarithm."""
        return fit_gamma_line(design, y, weight, penalty)
