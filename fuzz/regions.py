"""Uncertainty sets by the oracle's own formulas, in numbers of order one.

A region knows the outcome that is worst in a direction, how far an outcome is outside,
how the library writes it, what it is in other units, and which regions are simpler.
Directions and outcomes are arrays of shape (m,).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import cvxpy as cp
import numpy as np

from .text import array, number


@dataclass(frozen=True, eq=False)
class Region:
    """A set of outcomes."""

    def __getstate__(self) -> dict[str, Any]:
        # A program that was solved does not travel between processes.
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    @property
    def kind(self) -> str:
        """Name in the table."""
        return type(self).__name__

    @property
    def dim(self) -> int:
        """Number of components of an outcome."""
        raise NotImplementedError

    def worst(self, v: np.ndarray) -> np.ndarray:
        """A member that maximises v'y."""
        raise NotImplementedError

    def excess(self, y: np.ndarray) -> float:
        """By how much y is outside, in units of the region; at most 0 inside."""
        raise NotImplementedError

    def conditions(self, y: Any) -> list[Any] | None:
        """Membership in CVXPY; None where the region is not convex."""
        return None

    def scaled(self, unit: np.ndarray) -> Region:
        """The same region where outcomes are multiplied by `unit`, shape (m,)."""
        raise NotImplementedError

    def source(self) -> str:
        """The library's set, as Python text."""
        raise NotImplementedError

    def shrunk(self, share: float) -> Region:
        """A smaller region of the same kind and middle: a fault to plant."""
        raise NotImplementedError

    def simpler(self) -> Iterator[Region]:
        """Regions to try in place of this one when a failure is made smaller."""
        return iter(())

    @property
    def common_unit(self) -> bool:
        """Whether all components must have the same unit."""
        return False

    @property
    def own_unit(self) -> bool:
        """Whether the region cannot be written in other units."""
        return False

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest value of each component."""
        axes = np.eye(self.dim)
        low = np.array([self.worst(-axis)[j] for j, axis in enumerate(axes)])
        high = np.array([self.worst(axis)[j] for j, axis in enumerate(axes)])
        return low, high

    def parts(self) -> list[str]:
        """Kinds of this region and of those it is made of."""
        return [self.kind]


def boxed(region: Region) -> Box:
    """The box around a region."""
    low, high = region.bounds()
    return Box(np.round(low, 3), np.maximum(np.round(high, 3), np.round(low, 3)))


@dataclass(frozen=True, eq=False)
class Box(Region):
    """Between two ends."""

    lower: np.ndarray
    upper: np.ndarray

    @property
    def dim(self):
        return len(self.lower)

    def worst(self, v):
        ends = np.where(v > 0, self.upper, self.lower)
        # Far enough to be seen as unbounded, near enough to calculate with.
        return np.where(v == 0, np.clip(0.0, self.lower, self.upper), ends).clip(
            -1e4, 1e4
        )

    def excess(self, y):
        return float(np.maximum(self.lower - y, y - self.upper).max())

    def conditions(self, y):
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        return [y[low] >= self.lower[low], y[high] <= self.upper[high]]

    def scaled(self, unit):
        return Box(self.lower * unit, self.upper * unit)

    def source(self):
        return f"sl.sets.Box({array(self.lower)}, {array(self.upper)})"

    def shrunk(self, share):
        middle, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        return Box(middle - share * half, middle + share * half)

    def simpler(self):
        lower, upper = np.round(self.lower, 1), np.round(self.upper, 1)
        if (lower != self.lower).any() or (upper != self.upper).any():
            yield Box(lower, np.maximum(lower, upper))


@dataclass(frozen=True, eq=False)
class Ball(Region):
    """The center plus scale times a ball of the 2-norm or the 1-norm."""

    center: np.ndarray
    scale: np.ndarray
    radius: float
    order: int

    @property
    def kind(self):
        return "Ellipsoid" if self.order == 2 else "L1Ball"

    @property
    def dim(self):
        return len(self.center)

    @property
    def matrix(self):
        """The scale as a matrix."""
        return np.diag(self.scale) if self.scale.ndim == 1 else self.scale

    def worst(self, v):
        slope = self.matrix.T @ v
        if not slope.any():
            return self.center.copy()
        if self.order == 2:
            step = slope / np.linalg.norm(slope)
        else:
            top = int(np.argmax(np.abs(slope)))
            step = np.sign(slope[top]) * np.eye(self.dim)[top]
        return self.center + self.radius * self.matrix @ step

    def excess(self, y):
        unit = np.linalg.solve(self.matrix, y - self.center)
        return float(np.linalg.norm(unit, self.order) - self.radius)

    def conditions(self, y):
        inverse = np.linalg.inv(self.matrix)
        return [cp.norm(inverse @ (y - self.center), self.order) <= self.radius]

    def scaled(self, unit):
        scale = (
            self.scale * unit if self.scale.ndim == 1 else self.scale * unit[:, None]
        )
        return replace(self, center=self.center * unit, scale=scale)

    def source(self):
        numbers = f"{array(self.center)}, {array(self.scale)}, {number(self.radius)}"
        return f"sl.sets.{self.kind}({numbers})"

    def shrunk(self, share):
        return replace(self, radius=share * self.radius)

    def simpler(self):
        yield boxed(self)
        if self.scale.ndim == 2:
            yield replace(self, scale=np.ones(self.dim))
        center, scale = np.round(self.center, 1), np.round(self.scale, 1)
        if (center != self.center).any() or (scale != self.scale).any():
            yield replace(self, center=center)
            if abs(np.linalg.det(np.diag(scale) if scale.ndim == 1 else scale)) > 0.05:
                yield replace(self, center=center, scale=scale)


@dataclass(frozen=True, eq=False)
class Budget(Region):
    """Deviations of at most one each and gamma together."""

    center: np.ndarray
    deviation: np.ndarray
    gamma: float

    @property
    def dim(self):
        return len(self.center)

    def worst(self, v):
        gain, left = np.abs(v) * self.deviation, self.gamma
        y = self.center.copy()
        for j in np.argsort(-gain, kind="stable"):
            y[j] += np.sign(v[j]) * self.deviation[j] * min(left, 1.0)
            left -= min(left, 1.0)
        return y

    def excess(self, y):
        away = np.abs(y - self.center)
        still = self.deviation == 0
        unit = away / np.where(still, 1.0, self.deviation)
        outside = [unit[~still].max(initial=0.0) - 1, unit[~still].sum() - self.gamma]
        return float(max(*outside, away[still].max(initial=0.0)))

    def conditions(self, y):
        step = cp.Variable(self.dim)
        return [
            y == self.center + cp.multiply(self.deviation, step),
            cp.abs(step) <= 1,
            cp.norm1(step) <= self.gamma,
        ]

    def scaled(self, unit):
        return Budget(self.center * unit, self.deviation * unit, self.gamma)

    def source(self):
        numbers = f"{array(self.center)}, {array(self.deviation)}, {number(self.gamma)}"
        return f"sl.sets.Budget({numbers})"

    def shrunk(self, share):
        return replace(self, deviation=share * self.deviation)

    def simpler(self):
        yield boxed(self)
        yield Budget(np.round(self.center, 1), np.round(self.deviation, 1), self.gamma)


@dataclass(frozen=True, eq=False)
class Finite(Region):
    """A list of outcomes."""

    points: np.ndarray

    @property
    def dim(self):
        return self.points.shape[1]

    def worst(self, v):
        return self.points[int(np.argmax(self.points @ v))].copy()

    def excess(self, y):
        return float(np.abs(self.points - y).max(axis=1).min())

    def scaled(self, unit):
        return Finite(self.points * unit)

    def source(self):
        return f"sl.sets.Finite({array(self.points)})"

    def shrunk(self, share):
        middle = self.points.mean(axis=0)
        return Finite(middle + share * (self.points - middle))

    def simpler(self):
        for k in range(len(self.points)):
            if len(self.points) > 1:
                yield Finite(np.delete(self.points, k, axis=0))
        if (np.round(self.points, 1) != self.points).any():
            yield Finite(np.round(self.points, 1))


@dataclass(frozen=True, eq=False)
class Polytope(Region):
    """Outcomes with A y <= b, bounded; corners are found by trying them all."""

    A: np.ndarray
    b: np.ndarray

    @property
    def dim(self):
        return self.A.shape[1]

    @property
    def corners(self):
        """Every corner, shape (n, m)."""
        kept = []
        for rows in combinations(range(len(self.A)), self.dim):
            square = self.A[list(rows)]
            if abs(np.linalg.det(square)) > 1e-9:
                point = np.linalg.solve(square, self.b[list(rows)])
                if self.excess(point) <= 1e-9:
                    kept.append(point)
        return np.array(kept)

    def worst(self, v):
        corners = self.corners
        return corners[int(np.argmax(corners @ v))]

    def excess(self, y):
        return float((self.A @ y - self.b).max())

    def conditions(self, y):
        return [self.A @ y <= self.b]

    def scaled(self, unit):
        return Polytope(self.A / unit, self.b)

    def source(self):
        return f"sl.sets.Polytope({array(self.A)}, {array(self.b)})"

    def shrunk(self, share):
        middle = self.corners.mean(axis=0)
        reach = self.b - self.A @ middle
        return Polytope(self.A, self.A @ middle + share * reach)

    def simpler(self):
        yield boxed(self)


@dataclass(frozen=True, eq=False)
class Labels(Region):
    """One-hot blocks of a total cost within a budget."""

    costs: tuple[np.ndarray, ...]
    budget: float

    @property
    def kind(self):
        return "LabelSet"

    @property
    def dim(self):
        return sum(map(len, self.costs))

    @property
    def own_unit(self):
        return True

    @property
    def points(self):
        """Every member, shape (n, m), and what it costs."""
        picks = list(product(*(range(len(cost)) for cost in self.costs)))
        paid = [sum(c[j] for c, j in zip(self.costs, p, strict=True)) for p in picks]
        most = max(self.budget, min(paid)) + 1e-12
        return [
            (
                np.concatenate(
                    [np.eye(len(c))[j] for c, j in zip(self.costs, p, strict=True)]
                ),
                cost,
            )
            for p, cost in zip(picks, paid, strict=True)
            if cost <= most
        ]

    def worst(self, v):
        return max((y for y, _ in self.points), key=lambda y: float(v @ y))

    def excess(self, y):
        return min(float(np.abs(point - y).max()) for point, _ in self.points)

    def scaled(self, unit):
        return self

    def source(self):
        costs = ", ".join(array(cost) for cost in self.costs)
        return f"sl.sets.LabelSet(({costs},), {number(self.budget)})"

    def simpler(self):
        yield Finite(np.array([y for y, _ in self.points]))
