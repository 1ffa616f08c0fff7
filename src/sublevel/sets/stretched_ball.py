"""What Ellipsoid and L1Ball share: everything but the norm.

The formulas are those of `sublevel.norm_ball`; here they become a set.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array, as_matrix, as_vector, freeze, require_nonnegative
from ..errors import InvalidParameter, Unbounded
from ..norm_ball import NormBall
from .base import UncertaintySet


@dataclass(frozen=True, eq=False, repr=False)
class StretchedBall(UncertaintySet):
    """The ball { center + scale z : ||z|| <= radius } of the norm named by a subclass.

    Parameters
    ----------
    center : array of shape (m,)
    scale : positive float, array of shape (m,), or invertible matrix of shape (m, m)
    radius : float
        At least 0; 0 is the center alone, inf is every outcome.

    Examples
    --------
    >>> from sublevel.sets import Ellipsoid
    >>> isinstance(Ellipsoid([0.0, 0.0]), StretchedBall)
    True
    """

    center: Array
    scale: Any = 1.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        center = as_vector(owner, "center", self.center)
        require_nonnegative(owner, radius=self.radius)
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "scale", _as_scale(owner, self.scale, center.size))
        object.__setattr__(self, "radius", float(self.radius))

    @property
    @abstractmethod
    def _order(self) -> int:
        """Order of the norm: 1 or 2."""

    @property
    def _ball(self) -> NormBall:
        return NormBall(self.center, self.scale, self.radius, self._order)

    @property
    def dim(self) -> int:
        return self.center.size

    @property
    def is_bounded(self) -> bool:
        return self.radius < inf

    def _constraints(self, outcome: cp.Expression) -> list[cp.Constraint]:
        if self.radius == inf:
            return []
        if self.radius == 0:
            return [outcome == self.center]
        # In units of the radius, so that a solver's tolerances mean the same for balls
        # of any size.
        residual = outcome - self.center
        if self.scale.ndim == 1:
            unit = cp.multiply(1 / (self.radius * self.scale), residual)
        else:
            unit = np.linalg.inv(self.radius * self.scale) @ residual
        return [cp.norm(unit, self._order) <= 1]

    def bounds(self) -> tuple[Array, Array]:
        axes = np.eye(self.dim)
        reach = np.array([self._ball.support(axis) for axis in axes]) - self.center
        return self.center - reach, self.center + reach

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, radius={self.radius:.6g})"

    def _contains(self, outcomes: Array, tol: float) -> np.ndarray[Any, Any]:
        if self.radius == inf:
            return np.ones(len(outcomes), dtype=bool)
        ball = self._ball
        # Rounding of an outcome is relative to its size, not to that of the ball.
        rounding = 1e-14 * ball.norm(np.zeros(self.dim))
        return np.asarray(ball.norm(outcomes) <= self.radius * (1 + tol) + rounding)

    def _worst_case(self, direction: Array) -> Array:
        if not direction.any():
            return np.array(self.center)
        if self.radius == inf:
            raise Unbounded(
                f"The worst case over {type(self).__name__} is infinite: the radius is "
                "inf. Calibrate with more data, or intersect it with a bounded set "
                "such as Box."
            )
        return self._ball.worst_case(direction)

    def _support(self, direction: Array) -> float:
        return self._ball.support(direction)

    def _basis(self) -> Array:
        return np.eye(self.dim)[:, : self.dim if self.radius > 0 else 0]

    def _interior(self) -> Array:
        return np.array(self.center)

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        return self._ball.sample(size, rng)

    def _volume(self) -> float:
        return self._ball.volume()


def _as_scale(owner: str, value: Any, dim: int) -> Array:
    """A positive vector of shape (dim,) or an invertible matrix of shape (dim, dim)."""
    if np.ndim(value) == 2:
        matrix = as_matrix(owner, "scale", value, (dim, dim))
        if np.linalg.matrix_rank(matrix) < dim:
            raise InvalidParameter(
                f"{owner}(scale=...) must be an invertible matrix, got one of rank "
                f"{np.linalg.matrix_rank(matrix)}. For a flat set, use AffineImage."
            )
        return matrix
    if np.ndim(value) == 0:
        value = np.full(dim, as_vector(owner, "scale", value, 1)[0])
    vector = as_vector(owner, "scale", value, dim)
    if not (vector > 0).all():
        where = int(np.argmin(vector > 0))
        raise InvalidParameter(
            f"{owner}(scale=...) must be positive, got scale[{where}]={vector[where]}."
        )
    return freeze(vector)
