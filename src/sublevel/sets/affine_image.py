"""Affine images: a set of factors seen through a linear map.

    { matrix z + offset : z in set },   support(v) = support_set(matrix'v) + offset'v.

Factor models (few sources of uncertainty behind many outcomes) and changes of units
are images; no other set repeats this formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_entries, as_matrix
from ..conic.maximise import maximise_expression
from ..conic.program import Indices
from ..deferred import cp
from ..errors import EmptySet, InvalidParameter
from .base import UncertaintySet


@dataclass(frozen=True, eq=False, repr=False)
class AffineImage(UncertaintySet):
    """The outcomes matrix z + offset for z in a set.

    Parameters
    ----------
    set : uncertainty set of dimension k
    matrix : array of shape (m, k)
    offset : float or array of shape (m,)

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> U = AffineImage(Box([0.0], [1.0]), matrix=[[1.0], [2.0]], offset=1.0)
    >>> U.worst_case([1.0, 1.0])
    array([2., 3.])
    >>> U.contains([[1.5, 2.0], [1.5, 2.5]])
    array([ True, False])
    """

    set: UncertaintySet
    matrix: Array
    offset: Array = 0.0  # type: ignore[assignment]

    if TYPE_CHECKING:

        def __init__(
            self,
            set: UncertaintySet,
            matrix: npt.ArrayLike,
            offset: npt.ArrayLike = 0.0,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.set, UncertaintySet):
            raise InvalidParameter(
                "AffineImage(set=...) must be an uncertainty set, got "
                f"{type(self.set).__name__}."
            )
        matrix = as_matrix("AffineImage", "matrix", self.matrix, (None, self.set.dim))
        offset = as_entries("AffineImage", "offset", self.offset, len(matrix))
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "offset", offset)

    @property
    def dim(self) -> int:
        return len(self.matrix)

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        factor = cp.Variable(self.set.dim)
        image = outcome == self.matrix @ factor + self.offset
        return [image, *self.set.conditions(factor)]

    def __repr__(self) -> str:
        return f"AffineImage({self.set!r}, dim={self.dim})"

    @property
    def _is_injective(self) -> bool:
        scaled = self.matrix / self._sizes[:, None]
        return bool(np.linalg.matrix_rank(scaled) == self.set.dim)

    @property
    def _sizes(self) -> Array:
        """What each component is measured in: units of their own, shape (dim,)."""
        sizes = np.maximum(np.abs(self.matrix).max(axis=1), np.abs(self.offset))
        return np.where(sizes > 0, sizes, 1.0)

    def _image(self, factors: Array) -> Array:
        return np.asarray(factors @ self.matrix.T + self.offset)

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        if self._is_injective:
            scaled, sizes = self.matrix / self._sizes[:, None], self._sizes
            solved = np.linalg.lstsq(scaled, ((outcomes - self.offset) / sizes).T)[0]
            factors = np.asarray(solved.T, dtype=float)
            off = np.abs(self._image(factors) - outcomes)
            near = (off <= self._slack(outcomes, tol)).all(axis=1)
            return np.asarray(near & self.set.membership(factors, tol))
        listed = self.listed()
        if listed is not None:
            off = np.abs(outcomes[:, None, :] - listed)
            near = (off <= self._slack(outcomes, tol)[:, None, :]).all(axis=2)
            return np.asarray(np.any(near, axis=1))
        parts = [AffineImage(s, self.matrix, self.offset) for s in self.set.parts()]
        return np.array(
            [any(part.reaches(row, tol) for part in parts) for row in outcomes]
        )

    def _slack(self, outcomes: Array, tol: float) -> Array:
        """Rounding of each component, shape (n, dim)."""
        return np.asarray(max(tol, 1e-10) * np.maximum(np.abs(outcomes), self._sizes))

    def reaches(self, outcome: Array, tol: float) -> bool:
        """Whether some factor leads to the outcome: how near any comes to it."""
        factor = cp.Variable(self.set.dim)
        off = self.matrix @ factor + self.offset - outcome
        slack = self._slack(outcome[None, :], tol)[0]
        try:
            nearest, _ = maximise_expression(
                -cp.norm_inf(off / slack),
                factor,
                self.set.conditions(factor),
                "AffineImage",
            )
        except EmptySet:
            return False
        return -nearest <= 1.0 + 1e-9 * float(np.max(self._sizes / slack))

    def maximiser(self, direction: Array) -> Array:
        return self._image(self.set.maximiser(self._pulled(direction)))

    def maximum(self, direction: Array) -> float:
        reach = self.set.maximum(self._pulled(direction))
        return reach + float(self.offset @ direction)

    def _pulled(self, direction: Array) -> Array:
        """The direction seen from the factors; rounding never counts as a slope."""
        slope = self.matrix.T @ direction
        scale = np.abs(self.matrix.T) @ np.abs(direction)
        return np.where(np.abs(slope) <= 1e-15 * scale, 0.0, slope)

    def blocks(self) -> Indices:
        one_each = np.count_nonzero(self.matrix, axis=1) == 1
        if not one_each.all() or len(np.unique(self._factors)) < self.dim:
            return np.zeros(self.dim, dtype=int)
        return np.asarray(self.set.blocks()[self._factors])

    @property
    def _factors(self) -> Indices:
        """The factor with the largest share in each component, shape (dim,)."""
        return np.asarray(np.argmax(np.abs(self.matrix), axis=1))

    def corners(self, most: int) -> Array | None:
        factors = self.set.corners(most)
        return None if factors is None else self._image(factors)

    def hull_basis(self) -> Array:
        spread = self.matrix @ self.set.hull_basis()
        if spread.shape[1] == 0:
            return spread
        axes, sizes, _ = np.linalg.svd(spread, full_matrices=False)
        return np.asarray(axes[:, sizes > 1e-12 * sizes[0]])

    def interior_point(self) -> Array:
        return self._image(self.set.interior_point())

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        listed = self.listed()
        if listed is not None:
            return np.asarray(rng.choice(listed, size, axis=0))
        self._require_injective("sample")
        return self._image(self.set.draw(size, rng))

    def measure(self) -> float:
        listed = self.listed()
        if listed is not None:
            return float(len(listed))
        self._require_injective("volume")
        spread = self.matrix @ self.set.hull_basis()
        stretch = np.prod(np.linalg.svd(spread, compute_uv=False))
        return float(stretch) * self.set.measure()

    def listed(self) -> Array | None:
        listed = self.set.listed()
        return None if listed is None else np.unique(self._image(listed), axis=0)

    def parts(self) -> tuple[UncertaintySet, ...]:
        parts = self.set.parts()
        if len(parts) == 1:
            return (self,)
        return tuple(AffineImage(part, self.matrix, self.offset) for part in parts)

    def _require_injective(self, what: str) -> None:
        if not self._is_injective:
            raise InvalidParameter(
                f"AffineImage.{what}() needs a matrix of full column rank: the image "
                "of a uniform law under another is not uniform. Drop dependent "
                "columns, or sample AffineImage.set and map the draws."
            )
