"""Balls of the 2-norm and the 1-norm, stretched and moved: Ellipsoid and L1Ball.

    { center + scale z : ||z|| <= radius },
    support(v) = center'v + radius ||scale'v||_dual.

Squared, gaussian and Mahalanobis losses have the first kind of set, the absolute loss
the second. The formulas are those of `sublevel.norm_ball`; here they become a set.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import (
    COARSE,
    ROUNDED,
    Array,
    BoolArray,
    as_entries,
    as_matrix,
    as_numbers,
    as_vector,
    require_nonnegative,
)
from ..deferred import cp
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
    scale: Array = 1.0  # type: ignore[assignment]
    radius: float = 1.0

    if TYPE_CHECKING:

        def __init__(
            self,
            center: npt.ArrayLike,
            scale: npt.ArrayLike = 1.0,
            radius: float = 1.0,
        ) -> None: ...

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
    def norm_ball(self) -> NormBall:
        """The same ball, with the formulas and without the checks."""
        return NormBall(self.center, self.scale, self.radius, self._order)

    @property
    def dim(self) -> int:
        return self.center.size

    @property
    def is_bounded(self) -> bool:
        return self.radius < inf

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
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
        reach = np.array([self.norm_ball.support(axis) for axis in axes]) - self.center
        return self.center - reach, self.center + reach

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, radius={self.radius:.6g})"

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        if self.radius == inf:
            return np.ones(len(outcomes), dtype=bool)
        ball = self.norm_ball
        # Rounding of an outcome is relative to its size, not to that of the ball.
        rounding = ROUNDED * ball.norm(np.zeros(self.dim))
        if rounding > COARSE * self.radius:
            # An entry that is the middle's is not rounded.
            moved = np.where(outcomes == self.center, self.center, 0.0)
            rounding = ROUNDED * ball.norm(moved)
        return np.asarray(ball.norm(outcomes) <= self.radius * (1 + tol) + rounding)

    def maximiser(self, direction: Array) -> Array:
        if not direction.any():
            return np.array(self.center)
        if self.radius == inf:
            raise Unbounded(
                f"The worst case over {type(self).__name__} is infinite: the radius is "
                "inf. Calibrate with more data, or intersect it with a bounded set "
                "such as Box."
            )
        return self.norm_ball.worst_case(direction)

    def maximum(self, direction: Array) -> float:
        return self.norm_ball.support(direction)

    def maxima(self, directions: Array) -> Array | None:
        if self.radius == inf:
            return None
        matrix = np.diag(self.scale) if self.scale.ndim == 1 else self.scale
        dual = 2 if self._order == 2 else inf
        reach = np.linalg.norm(directions @ matrix, ord=dual, axis=1)
        return np.asarray(directions @ self.center + self.radius * reach)

    def hull_basis(self) -> Array:
        return np.eye(self.dim)[:, : self.dim if self.radius > 0 else 0]

    def interior_point(self) -> Array:
        return np.array(self.center)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        return self.norm_ball.sample(size, rng)

    def measure(self) -> float:
        return self.norm_ball.volume()


def _as_scale(owner: str, value: object, dim: int) -> Array:
    """A positive vector of shape (dim,) or an invertible matrix of shape (dim, dim)."""
    given = as_numbers(owner, "scale", value)
    if given.ndim == 2:
        matrix = as_matrix(owner, "scale", given, (dim, dim))
        if np.linalg.matrix_rank(matrix) < dim:
            raise InvalidParameter(
                f"{owner}(scale=...) must be an invertible matrix, got one of rank "
                f"{np.linalg.matrix_rank(matrix)}. For a flat set, use AffineImage."
            )
        return matrix
    vector = as_entries(owner, "scale", given, dim)
    if not (vector > 0).all():
        where = int(np.argmin(vector > 0))
        raise InvalidParameter(
            f"{owner}(scale=...) must be positive, got scale[{where}]={vector[where]}."
        )
    return vector


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Ellipsoid(StretchedBall):
    """A Euclidean ball, stretched and moved.

    Parameters
    ----------
    center : array of shape (m,)
    scale : positive float, array of shape (m,), or invertible matrix of shape (m, m)
        What one unit of the radius means, in the units of the outcome.
    radius : float
        At least 0; 0 is the center alone, inf is every outcome.

    Examples
    --------
    >>> U = Ellipsoid(center=[1.0, 2.0], scale=[1.0, 0.5], radius=2.0)
    >>> U.support([0.0, 1.0])
    3.0
    >>> U.worst_case([0.0, 1.0])
    array([1., 3.])
    """

    @classmethod
    def from_covariance(
        cls, center: npt.ArrayLike, covariance: npt.ArrayLike, radius: float = 1.0
    ) -> Ellipsoid:
        """The outcomes of Mahalanobis distance at most `radius` from the center.

        Parameters
        ----------
        center : array of shape (m,)
        covariance : array of shape (m, m)
            Symmetric and positive definite.
        radius : float

        Examples
        --------
        >>> U = Ellipsoid.from_covariance([0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]], 1.0)
        >>> U.support([1.0, 0.0])
        2.0
        """
        dim = as_vector(cls.__name__, "center", center).size
        matrix = as_matrix(cls.__name__, "covariance", covariance, (dim, dim))
        gap = float(np.abs(matrix - matrix.T).max())
        if gap > 1e-8 * float(np.abs(matrix).max()):
            raise InvalidParameter(
                f"{cls.__name__}(covariance=...) must be symmetric, got entries that "
                f"differ by {gap:.3g} across the diagonal."
            )
        try:
            scale = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError as error:
            least = float(np.linalg.eigvalsh(matrix)[0])
            raise InvalidParameter(
                f"{cls.__name__}(covariance=...) must be positive definite, got least "
                f"eigenvalue {least:.3g}. Add a small multiple of the identity."
            ) from error
        return cls(center, scale, radius)

    @property
    def _order(self) -> int:
        return 2


@dataclass(frozen=True, eq=False, repr=False, init=False)
class L1Ball(StretchedBall):
    """A cross-polytope, stretched and moved.

    Parameters
    ----------
    center : array of shape (m,)
    scale : positive float, array of shape (m,), or invertible matrix of shape (m, m)
        What one unit of the radius means, in the units of the outcome.
    radius : float
        At least 0; 0 is the center alone, inf is every outcome.

    Examples
    --------
    >>> U = L1Ball(center=[0.0, 0.0], scale=[1.0, 3.0], radius=2.0)
    >>> U.worst_case([1.0, 1.0])
    array([0., 6.])
    >>> U.volume()
    24.0
    """

    def corners(self, most: int) -> Array | None:
        if 2 * self.dim > most or not self.is_bounded:
            return None
        scale = np.diag(self.scale) if self.scale.ndim == 1 else self.scale
        steps = self.radius * scale.T
        return np.concatenate([self.center + steps, self.center - steps])

    @property
    def _order(self) -> int:
        return 1
