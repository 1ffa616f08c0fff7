"""A second-order cone whose norm is split: what binaries do alone, and the rest.

    ||z||^2 = ||rest||^2 + root^2,   root^2 = base + sum_k weight_k x_k.

An entry that sees one binary has a square that is linear in it, as x^2 = x. Of entries
that see several binaries, x' Q x altogether, a diagonal can be taken out: Q - D is
still a square, and x' D x is linear (the perspective reformulation; Frangioni & Gentile
2006). The largest such D leaves a matrix of low rank (minimum trace factor analysis).
At binaries nothing changes; between them the norm is larger, and bounds are better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ....conic.program import Indices
from .steps import Steps

#: Share of a diagonal that is worth taking out, eigenvalues that are none, and what is
#: left on a diagonal for rounding.
WORTH, NOTHING, ROUNDING = 1e-3, 1e-10, 1e-13
#: How far the search for a diagonal goes, and Newton steps at a time.
FINEST, MOST_STEPS = 1e-11, 20
#: Entries this small against the right-hand side are what cancelling left of it.
VANISHED = 1e-9
#: Most binaries of which a diagonal is taken out: it takes an eigenvalue problem.
MOST = 400


@dataclass(frozen=True, eq=False)
class SplitCone:
    """right - matrix x, the first of which bounds the norm of the others and the root.

    Attributes
    ----------
    matrix : sparse by row, shape (1 + m, columns)
    right : array of shape (1 + m,)
    steps : of the root, or None where there is none
    """

    matrix: sp.csr_array
    right: Array
    steps: Steps | None

    @property
    def size(self) -> int:
        """How many entries the norm has, the root included."""
        return len(self.right) - 1 + (self.steps is not None)

    def at(self, x: Array) -> tuple[float, Array]:
        """The first entry at a point, and those of the norm, the root last."""
        inside = self.right - self.matrix @ x
        if self.steps is None:
            return float(inside[0]), inside[1:]
        root = self.steps.least(x[self.steps.columns])
        return float(inside[0]), np.append(inside[1:], root)

    def tangent(self, x: Array) -> tuple[float, float, Array, float]:
        """By how much a point leaves the cone, and the tangent next to it.

        Returns
        -------
        excess : float, at most zero inside
        norm : float
        row, lower : the half-space row @ x >= lower contains every solution
        """
        inside = self.right - self.matrix @ x
        first, rest = float(inside[0]), inside[1:]
        start, steps, root = 0.0, np.zeros(0), 0.0
        if self.steps is not None:
            at = x[self.steps.columns]
            start, steps = self.steps.along(self.steps.order(at))
            root = max(start + float(steps @ at), 0.0)
        norm = float(np.sqrt(rest @ rest + root**2))
        weights = np.append(1.0, -rest / norm if norm > 0 else 0.0 * rest)
        row = -(weights @ self.matrix)
        lower = -float(weights @ self.right)
        if self.steps is not None and norm > 0:
            row[self.steps.columns] -= root / norm * steps
            lower += root / norm * start
        return norm - first, norm, row, lower


def cone_unit(cone: SplitCone, x: Array) -> float:
    """A power of two of about the size of the cone's entries."""
    first, inner = cone.at(x)
    inside = np.abs(np.append(inner, first))
    size = float(inside.max(initial=0.0))
    if not (
        np.isfinite(size) and size > VANISHED * np.abs(cone.right).max(initial=0.0)
    ):
        size = 0.0
    if size == 0.0:
        weights = () if cone.steps is None else np.sqrt(np.abs(cone.steps.weights))
        numbers = np.abs(np.concatenate([cone.matrix.data, cone.right, weights]))
        size = float(numbers.max(initial=0.0))
    return float(np.exp2(np.round(np.log2(size)))) if size > 0 else 1.0


def split_cone(matrix: sp.csr_array, right: Array, binary: Indices) -> SplitCone:
    """The cone right - matrix x, split.

    Examples
    --------
    >>> rows = sp.csr_array([[0.0, 0.0, -1.0], [-3.0, 0.0, 0.0], [0.0, -4.0, 0.0]])
    >>> cone = split_cone(rows, np.zeros(3), np.array([0, 1]))
    >>> cone.matrix.shape, cone.steps.weights
    ((1, 3), array([ 9., 16.]))
    >>> cone.at(np.array([1.0, 1.0, 6.0]))
    (6.0, array([5.]))
    """
    matrix = sp.csr_array(matrix)
    matrix.eliminate_zeros()
    counts = np.diff(matrix.indptr)
    is_binary = np.zeros(matrix.shape[1], dtype=bool)
    is_binary[binary] = True
    others = np.add.reduceat(
        np.append(~is_binary[matrix.indices], False), matrix.indptr[:-1]
    ) * (counts > 0)
    inner = np.arange(matrix.shape[0]) > 0
    constant, lone = inner & (counts == 0), inner & (counts == 1) & (others == 0)
    mixed = inner & (counts > 1) & (others == 0) & (right == 0)
    if mixed.any():
        # A triangular factor has rows of one binary too: only together is it regular.
        mixed |= lone & (right == 0)
        lone &= ~mixed
    weights = np.zeros(matrix.shape[1])
    off = right[lone]
    column, slope = matrix[lone].indices, matrix[lone].data
    np.add.at(weights, column, (off - slope) ** 2 - off**2)
    base = float(np.sum(right[constant] ** 2) + np.sum(off**2))
    rest = [matrix[~(constant | lone | mixed)]]
    rights = [right[~(constant | lone | mixed)]]
    if mixed.any():
        part, diagonal = _without_diagonal(matrix[mixed])
        rest.append(part)
        rights.append(np.zeros(part.shape[0]))
        weights += diagonal
    columns = np.flatnonzero(weights)
    if len(columns) < 2:
        return SplitCone(matrix, right, None)
    steps = Steps(columns, weights[columns], base)
    return SplitCone(sp.csr_array(sp.vstack(rest)), np.concatenate(rights), steps)


def _without_diagonal(rows: sp.csr_array) -> tuple[sp.csr_array, Array]:
    """Rows with the same squares at binaries, but for a linear function of them."""
    width = rows.shape[1]
    columns = np.unique(rows.indices)
    none = rows, np.zeros(width)
    if len(columns) > MOST:
        return none
    table = rows[:, columns].toarray()
    square = table.T @ table
    size = np.sqrt(np.diag(square))
    square /= np.outer(size, size)
    taken = largest_diagonal(square)
    if taken.max() < WORTH:
        return none
    values, vectors = np.linalg.eigh(square - np.diag(taken))
    # Common factors beside a diagonal: few rows are left.
    some = values > NOTHING * values[-1]
    root = (vectors[:, some] * np.sqrt(values[some])).T * size
    at = np.repeat(np.arange(len(root)), len(columns))
    place = np.tile(columns, len(root))
    part = sp.csr_array((root.ravel(), (at, place)), shape=(len(root), width))
    diagonal = np.zeros(width)
    diagonal[columns] = taken * size**2
    return part, diagonal


def largest_diagonal(square: Array) -> Array:
    """Nonnegative numbers of largest sum that can be taken off a diagonal.

    What is left has no negative eigenvalue. By Newton's method on

        sum d + mu (log det(square - diag d) + sum log d),   mu -> 0.

    Zeros where the matrix is singular to begin with.

    Parameters
    ----------
    square : array of shape (k, k), symmetric, with ones on its diagonal

    Examples
    --------
    >>> common = np.array([0.9, 0.8, 0.5])
    >>> matrix = np.outer(common, common) + np.diag(1 - common**2)
    >>> largest_diagonal(matrix).round(3)
    array([0.19, 0.36, 0.75])
    """
    least = float(np.linalg.eigvalsh(square)[0])
    if least < WORTH**2:
        return np.zeros(len(square))
    taken = _as_far_as_digits_go(square, np.full(len(square), least / 2))
    # Rounding must not leave a negative eigenvalue behind.
    left = float(np.linalg.eigvalsh(square - np.diag(taken))[0])
    return np.asarray(np.maximum(taken - max(-left, 0.0) - ROUNDING, 0.0))


def _as_far_as_digits_go(square: Array, taken: Array) -> Array:
    """Newton's method, until what is left is singular to the last digit."""
    mu = 1.0
    while mu > FINEST:
        for _ in range(MOST_STEPS):
            try:
                inverse = np.linalg.inv(square - np.diag(taken))
                slope = 1 + mu * (1 / taken - np.diag(inverse))
                bend = mu * (inverse * inverse.T + np.diag(taken**-2))
                step = np.linalg.solve(bend, slope)
            except np.linalg.LinAlgError:
                return taken
            if not np.isfinite(step).all():
                return taken
            length = 1.0
            while not _is_inside(square, taken + length * step):
                length /= 2
            taken = taken + length * step
            if float(slope @ step) < mu:
                break
        mu /= 5
    return taken


def _is_inside(square: Array, taken: Array) -> bool:
    if taken.min() <= 0:
        return False
    try:
        np.linalg.cholesky(square - np.diag(taken))
    except np.linalg.LinAlgError:
        return False
    return True
