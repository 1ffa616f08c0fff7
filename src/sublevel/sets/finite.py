"""Finitely many outcomes: scenarios, past observations, corners.

{ points_1, ..., points_k },   support(v) = max_i points_i'v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_matrix
from ..deferred import cp
from .base import UncertaintySet


@dataclass(frozen=True, eq=False, repr=False)
class Finite(UncertaintySet):
    """A list of outcomes.

    Parameters
    ----------
    points : array of shape (k, m)

    Examples
    --------
    >>> U = Finite([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    >>> U.worst_case([0.0, 1.0])
    array([1., 2.])
    >>> U.volume()
    3.0
    """

    points: Array

    if TYPE_CHECKING:

        def __init__(self, points: npt.ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", as_matrix("Finite", "points", self.points))

    @property
    def dim(self) -> int:
        return int(self.points.shape[1])

    @property
    def is_bounded(self) -> bool:
        return True

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        """Exact, with one boolean variable a point: for mixed-integer solvers."""
        chosen = cp.Variable(len(self.points), boolean=True)
        return [outcome == self.points.T @ chosen, cp.sum(chosen) == 1]

    def bounds(self) -> tuple[Array, Array]:
        return self.points.min(axis=0), self.points.max(axis=0)

    def __repr__(self) -> str:
        return f"Finite(dim={self.dim}, points={len(self.points)})"

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        slack = tol * (float(np.abs(self.points).max()) or 1.0)
        inside = np.zeros(len(outcomes), dtype=bool)
        for point in self.points:
            inside |= (np.abs(outcomes - point) <= slack).all(axis=1)
        return inside

    def maximiser(self, direction: Array) -> Array:
        return np.array(self.points[int(np.argmax(self.points @ direction))])

    def maximum(self, direction: Array) -> float:
        return float((self.points @ direction).max())

    def maxima(self, directions: Array) -> Array | None:
        return np.asarray((directions @ self.points.T).max(axis=1))

    def hull_basis(self) -> Array:
        return np.zeros((self.dim, 0))

    def interior_point(self) -> Array:
        return np.array(self.points[0])

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        return np.asarray(rng.choice(self.listed(), size, axis=0))

    def measure(self) -> float:
        return float(len(self.listed()))

    def listed(self) -> Array:
        return np.unique(self.points, axis=0)
