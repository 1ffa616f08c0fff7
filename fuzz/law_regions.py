"""Balls of probability vectors, by CVXPY and the divergences' own formulas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import cvxpy as cp
import numpy as np

from .regions import Finite, Region
from .text import array, number

#: Divergence of p from q, by CVXPY and in NumPy, for q positive.
DIVERGENCES = {
    "KLBall": (
        lambda p, q: cp.sum(cp.kl_div(p, q)),
        lambda p, q: np.sum(p * np.log(np.where(p > 0, p, 1.0) / q)),
    ),
    "BurgBall": (
        lambda p, q: cp.sum(cp.multiply(q, np.log(q) - cp.log(p))),
        lambda p, q: np.sum(q * np.log(q / np.maximum(p, 1e-300))),
    ),
    "HellingerBall": (
        lambda p, q: 2 - 2 * cp.sum(cp.multiply(np.sqrt(q), cp.sqrt(p))),
        lambda p, q: np.sum((np.sqrt(np.maximum(p, 0)) - np.sqrt(q)) ** 2),
    ),
    "ChiSquareBall": (
        lambda p, q: cp.sum(cp.multiply(q**2, cp.inv_pos(p))) - 1,
        lambda p, q: np.sum((p - q) ** 2 / np.maximum(p, 1e-300)),
    ),
    "ModifiedChiSquareBall": (
        lambda p, q: cp.sum(cp.multiply(1 / q, cp.square(p - q))),
        lambda p, q: np.sum((p - q) ** 2 / q),
    ),
    "VariationBall": (
        lambda p, q: cp.norm1(p - q),
        lambda p, q: np.sum(np.abs(p - q)),
    ),
}

#: Those that `sl.sets` exports; the others are in a module of their own.
EXPORTED = ("KLBall", "VariationBall")


@dataclass(frozen=True, eq=False)
class Laws(Region):
    """Probability vectors within a divergence of a positive one."""

    name: str
    nominal: np.ndarray
    radius: float

    @property
    def kind(self):
        return self.name

    @property
    def dim(self):
        return len(self.nominal)

    @property
    def own_unit(self):
        return True

    @cached_property
    def _program(self):
        slope, law = cp.Parameter(self.dim), cp.Variable(self.dim)
        return cp.Problem(cp.Maximize(slope @ law), self.conditions(law)), slope, law

    def worst(self, v):
        size = np.abs(v - v.mean()).max()
        if self.radius == 0 or size == 0:
            return self.nominal.copy()
        problem, slope, law = self._program
        slope.value = (v - v.mean()) / size
        problem.solve(solver=cp.CLARABEL)
        worst = np.maximum(law.value, 0.0)
        worst /= worst.sum()
        # A solver's answer may be outside by a hair: drawn back until it is inside.
        for back in (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5):
            drawn = worst + back * (self.nominal - worst)
            if self.excess(drawn) <= 0:
                return drawn
        return self.nominal.copy()

    def excess(self, y):
        if y.min() < -1e-9:
            return float(-y.min())
        divergence = DIVERGENCES[self.name][1](np.maximum(y, 0.0), self.nominal)
        size = max(self.radius, 1e-3)
        return float(max(abs(y.sum() - 1) - 1e-12, (divergence - self.radius) / size))

    def conditions(self, y):
        if self.radius == 0:
            return [y == self.nominal]
        divergence = DIVERGENCES[self.name][0](y, self.nominal)
        return [cp.sum(y) == 1, y >= 0, divergence <= self.radius]

    def scaled(self, unit):
        return self

    def source(self):
        room = "sl.sets" if self.name in EXPORTED else "divergence_ball"
        return f"{room}.{self.name}({array(self.nominal)}, {number(self.radius)})"

    def shrunk(self, share):
        return replace(self, radius=share**2 * self.radius)

    def simpler(self):
        yield Finite(np.array([self.worst(axis) for axis in np.eye(self.dim)]).round(3))
