"""Divergences by powers of the ratio: chi-square both ways, Hellinger, variation."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..epigraph import Epigraph
from .phi import Phi


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

    def expression(self, law: Any, nominal: Array) -> cp.Expression:
        """Sum of q^2 / p, less one."""
        return nominal**2 @ cp.inv_pos(law) - 1

    def price(self, shift: Any, multiplier: Any) -> Epigraph:
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

    def expression(self, law: Any, nominal: Array) -> cp.Expression:
        """A weighted sum of squares."""
        return cp.sum_squares(cp.multiply(1 / np.sqrt(nominal), law - nominal))

    def price(self, shift: Any, multiplier: Any) -> Epigraph:
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

    def expression(self, law: Any, nominal: Array) -> cp.Expression:
        """2 - 2 sum sqrt(p q)."""
        return 2 - 2 * np.sqrt(nominal) @ cp.sqrt(law)

    def price(self, shift: Any, multiplier: Any) -> Epigraph:
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

    def expression(self, law: Any, nominal: Array) -> cp.Expression:
        """1-norm."""
        return cp.norm1(law - nominal)

    def price(self, shift: Any, multiplier: Any) -> Epigraph:
        """max(s, -u) where s <= u."""
        return Epigraph(cp.maximum(shift, -multiplier), [shift <= multiplier])


def _product(middle: Any, left: Any, right: Any) -> cp.SOC:
    """Componentwise middle^2 <= left * right, both nonnegative."""
    return cp.SOC(left + right, cp.vstack([2 * middle, left - right]), axis=0)
