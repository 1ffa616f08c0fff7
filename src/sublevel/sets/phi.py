"""Convex functions phi, each of which measures how far one law is from another.

    divergence(p, q) = sum_j q_j phi(p_j / q_j),   phi(1) = phi'(1) = 0,

with p the unknown law and q the nominal one (Ben-Tal et al. 2013). A term with q_j = 0
is p_j times the slope of phi at infinity. The worst law in a direction v is p_j = q_j
ratio((v_j - t) / u) with ratio the derivative of the conjugate phi*, and the support is

    min over u >= 0 and t of  t + radius u + sum_j q_j u phi*((v_j - t) / u).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from ..checks import Array
from ..deferred import cp
from ..epigraph import Epigraph


@dataclass(frozen=True)
class Phi(ABC):
    """One divergence, by its function."""

    #: Slope of phi at infinity; where it is finite, classes never seen get mass.
    slope: ClassVar[float]

    @abstractmethod
    def value(self, ratio: Array) -> Array:
        """Phi itself, at ratios p / q."""

    @abstractmethod
    def ratio(self, price: Array) -> Array:
        """Derivative of the conjugate: the ratio p / q at a price below the slope."""

    @abstractmethod
    def ratio_slope(self, price: Array) -> Array:
        """Derivative of `ratio`."""

    @abstractmethod
    def marginal(self, ratio: Array) -> Array:
        """Derivative of phi: the price at which a ratio is taken."""

    @abstractmethod
    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """The divergence in CVXPY, for a law on the simplex and a positive nominal."""

    @abstractmethod
    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """Perspective multiplier * phi*(shift / multiplier), for each component."""

    def terms(self, law: Array, nominal: Array) -> Array:
        """The divergence by class, shape (..., classes)."""
        positive = nominal > 0
        mass = np.maximum(law, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = nominal * self.value(mass / np.where(positive, nominal, 1.0))
        unseen = np.where(mass > 0, mass * self.slope if self.slope < inf else inf, 0.0)
        return np.where(positive, seen, unseen)


@dataclass(frozen=True)
class KL(Phi):
    """D(p || q), phi(t) = t log t - t + 1.

    Examples
    --------
    >>> float(KL().terms(np.array([1.0, 0.0]), np.array([0.5, 0.5])).sum().round(4))
    0.6931
    """

    slope = inf

    def value(self, ratio: Array) -> Array:
        """T log t - t + 1."""
        logs = np.log(np.where(ratio > 0, ratio, 1.0))
        return _near_one(ratio, ratio * logs - ratio + 1, (1 / 2, -1 / 6, 1 / 12))

    def ratio(self, price: Array) -> Array:
        """exp(s)."""
        return np.exp(price)

    def ratio_slope(self, price: Array) -> Array:
        """exp(s)."""
        return np.exp(price)

    def marginal(self, ratio: Array) -> Array:
        """Log t."""
        return np.log(ratio)

    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """Relative entropy."""
        return cp.sum(cp.rel_entr(law, nominal))

    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """U exp(s / u) - u."""
        ones = np.ones(shift.size)
        top = cp.Variable(shift.size)
        cone = cp.ExpCone(shift, multiplier * ones, top)
        return Epigraph(top - multiplier, [cone])


@dataclass(frozen=True)
class Burg(Phi):
    """D(q || p), phi(t) = -log t + t - 1.

    Examples
    --------
    >>> float(Burg().terms(np.array([0.5, 0.5]), np.array([0.5, 0.5])).sum())
    0.0
    """

    slope = 1.0

    def value(self, ratio: Array) -> Array:
        """-log t + t - 1."""
        return _near_one(ratio, -np.log(ratio) + ratio - 1, (1 / 2, -1 / 3, 1 / 4))

    def ratio(self, price: Array) -> Array:
        """1 / (1 - s)."""
        return np.asarray(1 / (1 - price))

    def ratio_slope(self, price: Array) -> Array:
        """1 / (1 - s)^2."""
        return np.asarray(1 / (1 - price) ** 2)

    def marginal(self, ratio: Array) -> Array:
        """1 - 1 / t."""
        return np.asarray(1 - 1 / ratio)

    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """Relative entropy, the other way round."""
        return cp.sum(cp.rel_entr(nominal, law))

    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """-u log(1 - s / u)."""
        ones = np.ones(shift.size)
        return Epigraph(cp.rel_entr(multiplier * ones, multiplier - shift))


def _near_one(ratio: Array, value: Array, series: tuple[float, ...]) -> Array:
    """The value, by its power series near one, where rounding would drown it."""
    step = ratio - 1
    near = step**2 * sum(c * step**power for power, c in enumerate(series))
    return np.where(np.abs(step) < 1e-4, near, value)


@dataclass(frozen=True)
class ChiSquare(Phi):
    """Sum of (p - q)^2 / p, phi(t) = (t - 1)^2 / t.

    Examples
    --------
    >>> float(ChiSquare().terms(np.array([0.8, 0.2]), np.array([0.5, 0.5])).sum())
    0.5625
    """

    slope = 1.0

    def value(self, ratio: Array) -> Array:
        """(t - 1)^2 / t."""
        return np.asarray((ratio - 1) ** 2 / ratio)

    def ratio(self, price: Array) -> Array:
        """1 / sqrt(1 - s)."""
        return np.asarray(1 / np.sqrt(1 - price))

    def ratio_slope(self, price: Array) -> Array:
        """1 / (2 (1 - s)^(3/2))."""
        return np.asarray(0.5 * (1 - price) ** -1.5)

    def marginal(self, ratio: Array) -> Array:
        """1 - 1 / t^2."""
        return np.asarray(1 - 1 / ratio**2)

    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """Sum of q^2 / p, less one."""
        return nominal**2 @ cp.inv_pos(law) - 1

    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """2 u - 2 sqrt(u (u - s))."""
        ones, root = np.ones(shift.size), cp.Variable(shift.size, nonneg=True)
        cone = _product(root, multiplier * ones, multiplier - shift)
        return Epigraph(2 * multiplier - 2 * root, [cone])


@dataclass(frozen=True)
class ModifiedChiSquare(Phi):
    """Sum of (p - q)^2 / q, phi(t) = (t - 1)^2.

    Examples
    --------
    >>> law, nominal = np.array([0.8, 0.2]), np.array([0.5, 0.5])
    >>> float(ModifiedChiSquare().terms(law, nominal).sum().round(6))
    0.36
    """

    slope = inf

    def value(self, ratio: Array) -> Array:
        """(t - 1)^2."""
        return np.asarray((ratio - 1) ** 2)

    def ratio(self, price: Array) -> Array:
        """(1 + s / 2)_+."""
        return np.maximum(1 + price / 2, 0.0)

    def ratio_slope(self, price: Array) -> Array:
        """1/2 above -2."""
        return np.where(price > -2, 0.5, 0.0)

    def marginal(self, ratio: Array) -> Array:
        """2 (t - 1)."""
        return np.asarray(2 * (ratio - 1))

    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """A weighted sum of squares."""
        return cp.sum_squares(cp.multiply(1 / np.sqrt(nominal), law - nominal))

    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """(s / 2 + u)_+^2 / u - u."""
        ones = np.ones(shift.size)
        top, half = cp.Variable(shift.size), cp.Variable(shift.size, nonneg=True)
        cone = _product(half, multiplier * ones, top)
        return Epigraph(top - multiplier, [half >= shift / 2 + multiplier, cone])


@dataclass(frozen=True)
class Hellinger(Phi):
    """Sum of (sqrt p - sqrt q)^2, phi(t) = (sqrt t - 1)^2.

    Examples
    --------
    >>> float(Hellinger().terms(np.array([1.0, 0.0]), np.array([0.25, 0.75])).sum())
    1.0
    """

    slope = 1.0

    def value(self, ratio: Array) -> Array:
        """(sqrt t - 1)^2."""
        return np.asarray((np.sqrt(ratio) - 1) ** 2)

    def ratio(self, price: Array) -> Array:
        """1 / (1 - s)^2."""
        return np.asarray(1 / (1 - price) ** 2)

    def ratio_slope(self, price: Array) -> Array:
        """2 / (1 - s)^3."""
        return np.asarray(2 / (1 - price) ** 3)

    def marginal(self, ratio: Array) -> Array:
        """1 - 1 / sqrt(t)."""
        return np.asarray(1 - 1 / np.sqrt(ratio))

    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """2 - 2 sum sqrt(p q)."""
        return 2 - 2 * np.sqrt(nominal) @ cp.sqrt(law)

    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """U^2 / (u - s) - u."""
        ones, top = np.ones(shift.size), cp.Variable(shift.size)
        cone = _product(multiplier * ones, multiplier - shift, top)
        return Epigraph(top - multiplier, [cone])


@dataclass(frozen=True)
class Variation(Phi):
    """Sum of |p - q|, phi(t) = |t - 1|.

    Examples
    --------
    >>> law, nominal = np.array([0.8, 0.2]), np.array([0.5, 0.5])
    >>> float(Variation().terms(law, nominal).sum().round(6))
    0.6
    """

    slope = 1.0

    def value(self, ratio: Array) -> Array:
        """|t - 1|."""
        return np.abs(ratio - 1)

    def ratio(self, price: Array) -> Array:
        """0 below -1, 1 up to 1: the classes in between keep their mass."""
        return np.where(price < -1, 0.0, 1.0)

    def ratio_slope(self, price: Array) -> Array:
        """0 wherever there is one."""
        return np.zeros_like(price)

    def marginal(self, ratio: Array) -> Array:
        """-1 below 1, 1 above."""
        return np.sign(ratio - 1)

    def expression(self, law: cp.Expression, nominal: Array) -> cp.Expression:
        """1-norm."""
        return cp.norm1(law - nominal)

    def price(self, shift: cp.Expression, multiplier: cp.Expression) -> Epigraph:
        """max(s, -u) where s <= u."""
        return Epigraph(cp.maximum(shift, -multiplier), [shift <= multiplier])


def _product(
    middle: cp.Expression, left: cp.Expression, right: cp.Expression
) -> cp.SOC:
    """Componentwise middle^2 <= left * right, both nonnegative."""
    return cp.SOC(left + right, cp.vstack([2 * middle, left - right]), axis=0)
