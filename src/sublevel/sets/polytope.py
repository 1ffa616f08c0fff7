"""Polytopes: outcomes that satisfy finitely many linear inequalities.

    { y : A y <= b }.

Worst cases are linear programs. The relative interior and the affine hull come from
one more (Freund, Roundy and Todd, 1985), so flat polytopes, such as a simplex written
with two opposite inequalities, have the volume and the uniform law they should.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array, as_matrix, as_vector
from ..errors import EmptySet, InvalidParameter, SolverFailed, Unbounded
from .base import UncertaintySet
from .uniform import polar_volume

#: Most dimensions in which corners are enumerated to find a volume.
MOST_HULL_DIMENSIONS = 8


@dataclass(frozen=True, eq=False, repr=False)
class Polytope(UncertaintySet):
    """Outcomes y with A y <= b.

    Parameters
    ----------
    A : array of shape (k, m)
    b : array of shape (k,)

    Raises
    ------
    EmptySet
        If no outcome satisfies all the inequalities.

    Examples
    --------
    >>> triangle = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
    >>> triangle.support([1.0, 2.0])
    2.0
    >>> triangle.volume()
    0.5
    """

    A: Array
    b: Array

    def __post_init__(self) -> None:
        rows = as_matrix("Polytope", "A", self.A)
        bound = as_vector("Polytope", "b", self.b, rows.shape[0])
        flat = ~rows.any(axis=1)
        if flat.any():
            raise InvalidParameter(
                f"Polytope(A=...) must have no row of zeros, got row "
                f"{int(np.argmax(flat))}. Leave it out."
            )
        object.__setattr__(self, "A", rows)
        object.__setattr__(self, "b", bound)
        self._worst_case(np.zeros(self.dim))

    @property
    def dim(self) -> int:
        return self.A.shape[1]

    @property
    def is_bounded(self) -> bool:
        # Bounded if and only if some positive combination of rows that span vanishes
        # (Stiemke's alternative to a direction d with A d <= 0).
        if np.linalg.matrix_rank(self.A) < self.dim:
            return False
        unit = self.A / np.linalg.norm(self.A, axis=1, keepdims=True)
        answer = _linprog(np.zeros(len(unit)), unit.T, np.zeros(self.dim), (1, None))
        return bool(answer.status == 0)

    def constraints(self, outcome: cp.Expression) -> list[cp.Constraint]:
        return [self.A @ outcome <= self.b]

    def vertices(self) -> Array:
        """The corners, shape (n, dim), in no particular order.

        Examples
        --------
        >>> Polytope([[1.0], [-1.0]], [3.0, -1.0]).vertices()
        array([[3.], [1.]])
        """
        self._require_bounded("vertices")
        point, basis, loose = self._hull()
        return point + self._corners(point, basis, loose) @ basis.T

    def __repr__(self) -> str:
        return f"Polytope(dim={self.dim}, inequalities={self.b.size})"

    def _contains(self, outcomes: Array, tol: float) -> np.ndarray[Any, Any]:
        # The slack of a row is relative to the numbers it compares; a bound of zero
        # is compared with outcomes of size one.
        size = np.abs(self.b) + np.abs(outcomes) @ np.abs(self.A).T
        size = np.maximum(size, np.abs(self.A).max(axis=1))
        slack = max(tol, 1e-12) * size
        return np.asarray((outcomes @ self.A.T <= self.b + slack).all(axis=1))

    def _worst_case(self, direction: Array) -> Array:
        length = float(np.linalg.norm(direction)) or 1.0
        answer = _linprog(
            -direction / length, bounds=(None, None), A_ub=self.A, b_ub=self.b
        )
        if answer.status == 2:
            raise EmptySet(
                "Polytope(A=..., b=...) is empty: no outcome satisfies A y <= b."
            )
        if answer.status == 3:
            raise Unbounded(
                "The worst case over Polytope is infinite: A y <= b leaves the "
                "direction asked for open. Intersect it with a bounded set such as Box."
            )
        if answer.status != 0:
            raise SolverFailed(
                f"HIGHS stopped with status {answer.status} on the worst case over "
                f"Polytope: {answer.message}"
            )
        return np.asarray(answer.x, dtype=float)

    def _basis(self) -> Array:
        return self._hull()[1]

    def _interior(self) -> Array:
        return self._hull()[0]

    def _volume(self) -> float:
        point, basis, loose = self._hull()
        k = basis.shape[1]
        if k == 0:
            return 0.0
        if k > MOST_HULL_DIMENSIONS:
            return polar_volume(self)
        corners = self._corners(point, basis, loose)
        if k == 1:
            return float(np.ptp(corners))
        from scipy.spatial import ConvexHull

        return float(ConvexHull(corners).volume)

    def _hull(self) -> tuple[Array, Array, np.ndarray[Any, Any]]:
        """A relative interior point, the hull's basis, and the rows not always tight.

        Maximise sum t over A y + t <= scale b, 0 <= t <= 1, scale >= 1: wherever a
        row can be slack at all, scaling up makes its t equal to one.
        """
        size = np.linalg.norm(self.A, axis=1)
        rows, bound = self.A / size[:, None], self.b / size
        k, m = rows.shape
        answer = _linprog(
            np.concatenate([np.zeros(m), -np.ones(k), [0.0]]),
            bounds=[(None, None)] * m + [(0.0, 1.0)] * k + [(1.0, 1e8)],
            A_ub=np.hstack([rows, np.eye(k), -bound[:, None]]),
            b_ub=np.zeros(k),
        )
        loose = answer.x[m : m + k] > 0.5
        _, values, axes = np.linalg.svd(np.vstack([rows[~loose], np.zeros((1, m))]))
        rank = int((values > 1e-9).sum())
        return answer.x[:m] / answer.x[-1], axes[rank:].T, loose

    def _corners(
        self, point: Array, basis: Array, loose: np.ndarray[Any, Any]
    ) -> Array:
        """Corners in coordinates of the hull, shape (n, k)."""
        rows, bound = self.A[loose] @ basis, self.b[loose] - self.A[loose] @ point
        size = np.linalg.norm(rows, axis=1)
        # A row that does not vary within the hull is no side of it.
        side = size > 1e-9 * np.linalg.norm(self.A[loose], axis=1)
        rows, bound = rows[side] / size[side, None], bound[side] / size[side]
        k = basis.shape[1]
        if k == 0:
            return np.zeros((1, 0))
        if k == 1:
            ends = bound / rows[:, 0]
            above = rows[:, 0] > 0
            return np.array([[ends[above].min()], [ends[~above].max()]])
        from scipy.spatial import HalfspaceIntersection

        center = _deepest(rows, bound)
        sides = np.column_stack([rows, -bound])
        return _distinct(HalfspaceIntersection(sides, center).intersections)


def _deepest(rows: Array, bound: Array) -> Array:
    """Center of a largest ball in { w : rows w <= bound } for unit rows (Chebyshev)."""
    k, m = rows.shape
    answer = _linprog(
        np.append(np.zeros(m), -1.0),
        bounds=[(None, None)] * m + [(0.0, None)],
        A_ub=np.column_stack([rows, np.ones(k)]),
        b_ub=bound,
    )
    return np.asarray(answer.x[:m])


def _distinct(points: Array) -> Array:
    """One of each corner: where many sides meet, each pair finds it again."""
    points = points[np.isfinite(points).all(axis=1)]
    grain = 1e-9 * max(float(np.abs(points).max()), 1e-300)
    _, first = np.unique(np.round(points / grain), axis=0, return_index=True)
    return np.asarray(points[first])


def _linprog(
    cost: Array, A_eq: Any = None, b_eq: Any = None, bounds: Any = None, **rows: Any
) -> Any:
    """One linear program by HiGHS; status 4 of its presolve is settled without it."""
    from scipy.optimize import linprog

    for presolve in (True, False):
        answer = linprog(
            cost,
            A_eq=A_eq,
            b_eq=b_eq,
            bounds=bounds,
            method="highs",
            options={"presolve": presolve},
            **rows,
        )
        if answer.status != 4:
            break
    return answer
