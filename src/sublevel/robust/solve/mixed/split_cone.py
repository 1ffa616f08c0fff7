"""A second-order cone whose norm is split: what binaries do alone, and the rest.

    ||z||^2 = ||rest||^2 + root^2,   root^2 = base + sum_k weight_k x_k.

An entry that sees one binary has a square that is linear in it, as x^2 = x. Of entries
that see several binaries, x' Q x altogether, a diagonal can be taken out: Q - D is
still a square, and x' D x is linear (the perspective reformulation; Frangioni & Gentile
2006). At binaries nothing changes; between them the norm is larger, and bounds better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ....conic.program import Indices
from .steps import Steps

#: Share of a diagonal that is worth taking out, and what is left of it for rounding.
WORTH, SAFE = 1e-3, 1 - 1e-9
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
    values, vectors = np.linalg.eigh(square / np.outer(size, size))
    share = float(values[0]) * SAFE
    if share < WORTH:
        return none
    # The symmetric root: near contexts have near rows, and can share directions.
    root = vectors * np.sqrt(np.maximum(values - share, 0.0)) @ vectors.T * size
    at = np.repeat(np.arange(len(columns)), len(columns))
    place = np.tile(columns, len(columns))
    part = sp.csr_array((root.ravel(), (at, place)), shape=(len(columns), width))
    diagonal = np.zeros(width)
    diagonal[columns] = share * size**2
    return part, diagonal
