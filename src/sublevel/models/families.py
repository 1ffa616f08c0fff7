"""Two losses whose residual keeps the loss: what a second model needs to go on.

    squared  loss(y, p + q) = loss(y - p, q)          p, q add up
    gamma    loss(y, p * q) = loss(y / p, q) + log p  p, q multiply

So trees fitted to what a line leaves improve the line in the very loss of both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import Ridge

from ..checks import Array
from .gamma_line import fit_gamma_line
from .nix_weigend import nix_weigend


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
