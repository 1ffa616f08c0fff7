"""Polytopes: outcomes that satisfy finitely many linear inequalities.

    { y : A y <= b }.

Worst cases are linear programs. The relative interior and the affine hull come from
one more (Freund, Roundy and Todd, 1985), so flat polytopes, such as a simplex written
with two opposite inequalities, have the volume and the uniform law they should.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_matrix, as_vector
from ..deferred import cp
from ..errors import EmptySet, InvalidParameter, SolverFailed, Unbounded
from .base import UncertaintySet
from .uniform import polar_volume

#: Relative size of what rounding does to a row, and of a width that is none.
ROUNDING, FLAT = 1e-12, 1e-8
#: Rows of length 1 that reach less than this in a direction are level there.
RANK = 1e-9
#: Most dimensions in which corners are enumerated to find a volume.
MOST_HULL_DIMENSIONS = 8
#: Most dimensions in which corners are enumerated to stand for the polytope.
MOST_CORNER_DIMENSIONS = 5


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

    if TYPE_CHECKING:

        def __init__(self, A: npt.ArrayLike, b: npt.ArrayLike) -> None: ...

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
        self.maximiser(np.zeros(self.dim))

    @property
    def dim(self) -> int:
        return int(self.A.shape[1])

    @property
    def is_bounded(self) -> bool:
        # Bounded if and only if some positive combination of rows that span vanishes
        # (Stiemke's alternative to a direction d with A d <= 0).
        if np.linalg.matrix_rank(self.A) < self.dim:
            return False
        unit = self.A / np.linalg.norm(self.A, axis=1, keepdims=True)
        answer = _linprog(np.zeros(len(unit)), unit.T, np.zeros(self.dim), (1, None))
        return bool(answer.status == 0)

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        rows, bound, units = self._scaled()
        rows = rows / units
        first, second = _opposite(rows, bound)
        if not first:
            return [rows @ outcome <= bound]
        # Two opposite inequalities have no interior, and multipliers without end, on
        # which interior points lose their digits. An equality has neither.
        equal = rows[first] @ outcome == bound[first]
        if np.linalg.matrix_rank(rows[first]) == self.dim:
            # A point: the other rows say nothing more.
            return [equal]
        others = np.setdiff1d(np.arange(len(bound)), [*first, *second])
        sides = [rows[others] @ outcome <= bound[others]] if others.size else []
        return [equal, *sides]

    def vertices(self) -> Array:
        """The corners, shape (n, dim), in no particular order.

        Examples
        --------
        >>> Polytope([[1.0], [-1.0]], [3.0, -1.0]).vertices()
        array([[3.], [1.]])
        """
        self.require_bounded("vertices")
        hull, units = self._hull()
        return units * (hull.point + hull.corners() @ hull.basis.T)

    def corners(self, most: int) -> Array | None:
        if self.dim > MOST_CORNER_DIMENSIONS or not self.is_bounded:
            return None
        vertices = self.vertices()
        return None if len(vertices) > most else vertices

    def __repr__(self) -> str:
        return f"Polytope(dim={self.dim}, inequalities={self.b.size})"

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        # The slack of a row is relative to the numbers it compares; a bound of zero
        # is compared with outcomes of the polytope's own size.
        over = outcomes @ self.A.T - self.b
        size = np.abs(self.b) + np.abs(outcomes) @ np.abs(self.A).T
        size = np.maximum(size, np.abs(self.A) @ self._scaled()[2])
        loose, rounding = max(tol, ROUNDING) * size, ROUNDING * size
        inside = (over <= loose).all(axis=1)
        if (over[inside] > rounding[inside]).any():
            # Far from zero that would let in what is well outside: there it is by the
            # polytope's width, which takes linear programs, that slack is measured.
            inside &= (over <= np.minimum(tol * self._widths + rounding, loose)).all(1)
        return np.asarray(inside)

    @cached_property
    def _widths(self) -> Array:
        """How far A y goes, row by row, between the least and largest components; inf
        where that is no more than solvers' rounding, or has no end. Shape (k,).
        """
        try:
            lower, upper = self.bounds()
        except Unbounded:
            return np.full(len(self.b), np.inf)
        width = np.abs(self.A) @ (upper - lower)
        size = np.abs(self.A) @ np.maximum(np.abs(lower), np.abs(upper))
        return np.asarray(np.where(width > FLAT * size, width, np.inf))

    def _scaled(self) -> tuple[Array, Array, Array]:
        """Rows and bounds in which a solver's tolerances mean the same for every
        polytope, and the units of the components they are for, shape (m,).
        """
        row, column = _exponents(self.A)
        rows = self.A * np.exp2(row[:, None] + column)
        length = np.linalg.norm(rows, axis=1)
        bound = self.b * np.exp2(row) / length
        # A power of two costs no digit.
        size = float(np.exp2(np.round(np.log2(np.abs(bound).max() or 1.0))))
        return rows / length[:, None], bound / size, size * np.exp2(column)

    def maximiser(self, direction: Array) -> Array:
        rows, bound, units = self._scaled()
        cost = direction * units
        length = float(np.linalg.norm(cost)) or 1.0
        answer = _linprog(-cost / length, bounds=(None, None), A_ub=rows, b_ub=bound)
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
        return np.asarray(units * answer.x, dtype=float)

    def _hull(self) -> tuple[_Hull, Array]:
        """The hull in units of the components, and those units, shape (m,)."""
        rows, bound, units = self._scaled()
        return _Hull.of(rows, bound), units

    def hull_basis(self) -> Array:
        hull, units = self._hull()
        return np.linalg.qr(units[:, None] * hull.basis)[0]

    def interior_point(self) -> Array:
        hull, units = self._hull()
        return units * (hull.point + hull.basis @ hull.deepest())

    def measure(self) -> float:
        hull, units = self._hull()
        k = hull.basis.shape[1]
        if k == 0:
            return 0.0
        if k > MOST_HULL_DIMENSIONS:
            return polar_volume(self)
        # What a unit of the hull's volume is in units of the outcome.
        stretch = np.linalg.qr(units[:, None] * hull.basis)[1]
        unit = abs(float(np.prod(np.diagonal(stretch))))
        if k == 1:
            return unit * float(np.ptp(hull.corners()))
        from scipy.spatial import ConvexHull

        return unit * float(ConvexHull(hull.corners()).volume)


def _opposite(rows: Array, bound: Array) -> tuple[list[int], list[int]]:
    """Pairs of rows a y <= b and -a y <= -b: the first ones, and the second ones."""
    # Adding zero makes the negative one positive, so that equal rows are equal bytes.
    table = np.column_stack([rows, bound]) + 0.0
    where: dict[bytes, int] = {}
    first, second = [], []
    for k, row in enumerate(table):
        other = where.pop((0.0 - row).tobytes(), None)
        if other is None:
            where[row.tobytes()] = k
        else:
            first.append(other)
            second.append(k)
    return first, second


class _Hull(NamedTuple):
    """A polytope in coordinates w of its affine hull: y = point + basis w.

    There it is { w : rows w <= bound } with rows of length one and a solid interior.
    """

    point: Array
    basis: Array
    rows: Array
    bound: Array

    @classmethod
    def of(cls, A: Array, b: Array) -> _Hull:
        """Split { y : A y <= b } into its hull and its sides."""
        size = np.linalg.norm(A, axis=1)
        A, b = A / size[:, None], b / size
        point, loose = _relative_interior(A, b)
        tight = np.vstack([A[~loose], np.zeros((1, A.shape[1]))])
        _, values, axes = np.linalg.svd(tight)
        basis = axes[int((values > RANK).sum()) :].T
        rows, bound = A[loose] @ basis, b[loose] - A[loose] @ point
        # A row that does not vary within the hull is no side of it.
        length = np.linalg.norm(rows, axis=1)
        side = length > RANK
        rows, bound = rows[side] / length[side, None], bound[side] / length[side]
        return cls(point, basis, rows, bound)

    def deepest(self) -> Array:
        """Center of a largest ball inside, shape (k,) (Chebyshev)."""
        sides, k = self.rows.shape
        if k == 0:
            return np.zeros(0)
        answer = _linprog(
            np.append(np.zeros(k), -1.0),
            bounds=[(None, None)] * k + [(0.0, None)],
            A_ub=np.column_stack([self.rows, np.ones(sides)]),
            b_ub=self.bound,
        )
        return np.asarray(answer.x[:k])

    def corners(self) -> Array:
        """Corners, shape (n, k)."""
        k = self.basis.shape[1]
        if k == 0:
            return np.zeros((1, 0))
        if k == 1:
            ends, above = self.bound / self.rows[:, 0], self.rows[:, 0] > 0
            return np.array([[ends[above].min()], [ends[~above].max()]])
        from scipy.spatial import HalfspaceIntersection

        sides = np.column_stack([self.rows, -self.bound])
        return _distinct(HalfspaceIntersection(sides, self.deepest()).intersections)


def _relative_interior(A: Array, b: Array) -> tuple[Array, BoolArray]:
    """A relative interior point, and the rows that are not tight everywhere.

    Maximise sum t over A y + t <= scale b, 0 <= t <= 1, scale >= 1: wherever a row
    can be slack at all, scaling up makes its t equal to one.
    """
    k, m = A.shape
    answer = _linprog(
        np.concatenate([np.zeros(m), -np.ones(k), [0.0]]),
        bounds=[(None, None)] * m + [(0.0, 1.0)] * k + [(1.0, 1e8)],
        A_ub=np.hstack([A, np.eye(k), -b[:, None]]),
        b_ub=np.zeros(k),
    )
    if answer.status != 0:
        raise SolverFailed(
            f"HIGHS stopped with status {answer.status} while looking for the inside "
            f"of a Polytope: {answer.message}"
        )
    return answer.x[:m] / answer.x[-1], answer.x[m : m + k] > 0.5


def _exponents(A: Array) -> tuple[Array, Array]:
    """Exponents of two, by row and by column, that bring the entries near one."""
    some = A != 0
    logs = np.where(some, np.log2(np.abs(np.where(some, A, 1.0))), 0.0)
    by_row, by_column = some.sum(axis=1), np.maximum(some.sum(axis=0), 1)
    row, column = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    for _ in range(10):
        row = -np.sum(np.where(some, logs + column, 0.0), axis=1) / by_row
        column = -np.sum(np.where(some, logs + row[:, None], 0.0), axis=0) / by_column
    return np.round(row), np.round(column)


def _distinct(points: Array) -> Array:
    """One of each corner: where many sides meet, each pair finds it again."""
    points = points[np.isfinite(points).all(axis=1)]
    grain = 1e-9 * max(float(np.abs(points).max()), 1e-300)
    _, first = np.unique(np.round(points / grain), axis=0, return_index=True)
    return np.asarray(points[first])


def _linprog(
    cost: Array,
    A_eq: Array | None = None,
    b_eq: Array | None = None,
    bounds: object = None,
    **rows: Array,
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
