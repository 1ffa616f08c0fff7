"""Boxes: each component between two bounds.

{ y : lower <= y <= upper },   support(v) = sum_i max(lower_i v_i, upper_i v_i).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_vector
from ..conic.program import Indices
from ..deferred import cp
from ..errors import InvalidParameter, Unbounded
from .base import UncertaintySet

#: Relative size of what rounding does to an end.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Box(UncertaintySet):
    """Outcomes between two bounds, component by component.

    Parameters
    ----------
    lower, upper : arrays of shape (m,)
        Infinite ends are allowed.

    Examples
    --------
    >>> U = Box(lower=[0.0, -1.0], upper=[2.0, float("inf")])
    >>> U.contains([1.0, 50.0])
    True
    >>> U.support([1.0, -1.0]), U.support([0.0, 1.0])
    (3.0, inf)
    """

    lower: Array
    upper: Array

    if TYPE_CHECKING:

        def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        lower = as_vector("Box", "lower", self.lower, finite=False)
        upper = as_vector("Box", "upper", self.upper, lower.size, finite=False)
        crossed = (lower > upper) | (lower == inf) | (upper == -inf)
        if crossed.any():
            i = int(np.argmax(crossed))
            sign = ">" if lower[i] > upper[i] else "and"
            raise InvalidParameter(
                "Box(lower=..., upper=...) must satisfy lower <= upper, got "
                f"lower[{i}]={lower[i]} {sign} upper[{i}]={upper[i]}."
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def dim(self) -> int:
        return self.lower.size

    @property
    def is_bounded(self) -> bool:
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        size = self._size
        below = np.flatnonzero(np.isfinite(self.lower))
        above = np.flatnonzero(np.isfinite(self.upper))
        conditions = []
        if below.size:
            unit = cp.multiply(1 / size[below], outcome[below])
            conditions.append(unit >= self.lower[below] / size[below])
        if above.size:
            unit = cp.multiply(1 / size[above], outcome[above])
            conditions.append(unit <= self.upper[above] / size[above])
        return conditions

    def bounds(self) -> tuple[Array, Array]:
        return np.array(self.lower), np.array(self.upper)

    @property
    def _size(self) -> Array:
        """Largest finite magnitude of each component's ends, or one, shape (dim,)."""
        ends = np.abs(np.stack([self.lower, self.upper]))
        size = np.where(np.isfinite(ends), ends, 0.0).max(axis=0)
        return np.where(size > 0, size, 1.0)

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        # By the width, wherever the box lies: far from zero the size of its ends would
        # let outcomes in that are well outside. Rounding is of that size all the same.
        width = self.upper - self.lower
        width = np.where(np.isfinite(width) & (width > 0), width, self._size)
        slack = np.minimum(tol * width + ROUNDING * self._size, tol * self._size)
        inside = (outcomes >= self.lower - slack) & (outcomes <= self.upper + slack)
        return np.asarray(inside.all(axis=1))

    def maximiser(self, direction: Array) -> Array:
        rest = np.clip(0.0, self.lower, self.upper)
        end = np.where(direction > 0, self.upper, self.lower)
        if np.isinf(end[direction != 0]).any():
            i = int(np.argmax(np.isinf(end) & (direction != 0)))
            raise Unbounded(
                f"The worst case over Box is infinite: component {i} is unbounded in "
                "the direction asked for. Intersect it with a bounded set."
            )
        return np.where(direction != 0, end, rest)

    def blocks(self) -> Indices:
        return np.arange(self.dim)

    def corners(self, most: int) -> Array | None:
        moving = np.flatnonzero(self.lower < self.upper)
        if len(moving) > 30 or 2 ** len(moving) > most or not self.is_bounded:
            return None
        ends = np.tile(self.lower, (2 ** len(moving), 1))
        up = np.array(list(product((False, True), repeat=len(moving))), dtype=bool)
        ends[:, moving] = np.where(up, self.upper[moving], self.lower[moving])
        return ends

    def hull_basis(self) -> Array:
        return np.eye(self.dim)[:, self.lower < self.upper]

    def interior_point(self) -> Array:
        return (self.lower + self.upper) / 2

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.lower, self.upper, (size, self.dim))

    def measure(self) -> float:
        widths = self.upper - self.lower
        return float(np.prod(widths[widths > 0])) if (widths > 0).any() else 0.0
