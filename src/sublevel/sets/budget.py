"""Budgeted deviations: few components are far from their center at the same time.

    { center + deviation z : |z_i| <= 1, sum_i |z_i| <= gamma },
    support(v) = center'v + the gamma largest |deviation_i v_i|, the last in part.

Reference: Bertsimas and Sim (2004), The price of robustness.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import (
    ROUNDED,
    Array,
    BoolArray,
    as_entries,
    as_vector,
    require_nonnegative,
)
from ..deferred import cp
from ..errors import InvalidParameter
from .base import UncertaintySet


@dataclass(frozen=True, eq=False, repr=False)
class Budget(UncertaintySet):
    """A box in which at most `gamma` components reach their ends together.

    Parameters
    ----------
    center : array of shape (m,)
    deviation : array of shape (m,), or a float for all
        Largest deviation of each component, at least 0.
    gamma : float
        Number of full deviations allowed together, at least 0; may be fractional.

    Examples
    --------
    >>> U = Budget(center=[1.0, 1.0, 1.0], deviation=[1.0, 2.0, 3.0], gamma=1.5)
    >>> U.support([1.0, 1.0, 1.0])
    7.0
    >>> U.worst_case([1.0, 1.0, 1.0])
    array([1., 2., 4.])
    """

    center: Array
    deviation: Array
    gamma: float

    if TYPE_CHECKING:

        def __init__(
            self, center: npt.ArrayLike, deviation: npt.ArrayLike, gamma: float
        ) -> None: ...

    def __post_init__(self) -> None:
        center = as_vector("Budget", "center", self.center)
        deviation = as_entries("Budget", "deviation", self.deviation, center.size)
        if (deviation < 0).any():
            i = int(np.argmax(deviation < 0))
            raise InvalidParameter(
                "Budget(deviation=...) must be at least 0, got "
                f"deviation[{i}]={deviation[i]}."
            )
        require_nonnegative("Budget", gamma=self.gamma)
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "deviation", deviation)
        object.__setattr__(self, "gamma", float(self.gamma))

    @property
    def dim(self) -> int:
        return self.center.size

    @property
    def is_bounded(self) -> bool:
        return True

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        moves = np.flatnonzero((self.deviation > 0) & (self.gamma > 0))
        stays = np.setdiff1d(np.arange(self.dim), moves)
        conditions = []
        if stays.size:
            conditions.append(outcome[stays] == self.center[stays])
        if moves.size:
            residual = outcome[moves] - self.center[moves]
            unit = cp.multiply(1 / self.deviation[moves], residual)
            most = min(self.gamma, moves.size)
            conditions += [cp.abs(unit) <= 1, cp.norm1(unit) <= most]
        return conditions

    def bounds(self) -> tuple[Array, Array]:
        reach = min(self.gamma, 1.0) * self.deviation
        return self.center - reach, self.center + reach

    def __repr__(self) -> str:
        return f"Budget(dim={self.dim}, gamma={self.gamma:.6g})"

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        residual = np.abs(outcomes - self.center)
        size = self.deviation + np.abs(self.center)
        within = residual <= self.deviation + tol * np.where(size > 0, size, 1.0)
        moves = self.deviation > 0
        # Rounding of an outcome is relative to its center, not to its deviation.
        share = np.maximum(residual - ROUNDED * size, 0.0)[:, moves]
        total = (share / self.deviation[moves]).sum(axis=1)
        fits = total <= self.gamma + tol * max(self.gamma, 1.0)
        return np.asarray(within.all(axis=1) & fits)

    def maximiser(self, direction: Array) -> Array:
        slope = self.deviation * direction
        order = np.argsort(-np.abs(slope), kind="stable")
        unit = np.zeros(self.dim)
        unit[order] = np.clip(self.gamma - np.arange(self.dim), 0.0, 1.0)
        return np.asarray(self.center + self.deviation * unit * np.sign(slope))

    def maxima(self, directions: Array) -> Array | None:
        gains = -np.sort(-np.abs(directions * self.deviation), axis=1)
        shares = np.clip(self.gamma - np.arange(self.dim), 0.0, 1.0)
        return np.asarray(directions @ self.center + gains @ shares)

    def hull_basis(self) -> Array:
        return np.eye(self.dim)[:, (self.deviation > 0) & (self.gamma > 0)]

    def interior_point(self) -> Array:
        return np.array(self.center)

    def measure(self) -> float:
        moving = self.deviation[self.deviation > 0]
        k = moving.size
        if k == 0 or self.gamma == 0:
            return 0.0
        # Irwin-Hall: the chance that k uniforms sum to at most gamma. The alternating
        # sum cancels badly in floating point, so it is taken in exact fractions.
        gamma = Fraction(min(self.gamma, k))
        terms = (
            (-1) ** j * comb(k, j) * (gamma - j) ** k for j in range(int(gamma) + 1)
        )
        chance = sum(terms, Fraction(0)) / factorial(k)
        return float(chance) * float(np.prod(2 * moving))
