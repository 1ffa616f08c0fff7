"""The affine hull of a set: where an equality that holds on the set must hold.

Asked of the set's worst cases alone, so that it is right for any set: a law's entries
sum to one, a ball of radius zero is a point, finitely many outcomes span a flat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array
from ...conic.program import Indices
from ...sets import UncertaintySet

#: Width, relative to the ranges of the entries, up to which a set counts as flat. The
#: worst cases that a solver finds are not known any better.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Hull:
    """The flat { point + units * (basis @ z) }.

    Attributes
    ----------
    point : array of shape (dim,), an outcome of the set
    units : array of shape (dim,), the range of each entry; 0 where it is constant
    basis : array of shape (dim, k), orthonormal columns
    """

    point: Array
    units: Array
    basis: Array

    def moves(self, entries: Indices) -> Array:
        """Independent moves of some entries within the flat, shape (entries, moves)."""
        axes, sizes, _ = np.linalg.svd(self.basis[entries], full_matrices=False)
        return np.asarray(self.units[entries, None] * axes[:, sizes > TOLERANCE])


def whole_space(dim: int) -> Hull:
    """The flat that is everything."""
    return Hull(np.zeros(dim), np.ones(dim), np.eye(dim))


def affine_hull(region: UncertaintySet) -> Hull:
    """The affine hull of a bounded set, from a few worst cases a dimension.

    A direction orthogonal to all that is spanned either has two different ends, whose
    difference spans one dimension more, or is constant on the set.

    Examples
    --------
    >>> from sublevel.sets import Box, KLBall
    >>> affine_hull(KLBall([0.5, 0.5], radius=0.1)).basis.round(3)
    array([[ 0.707], [-0.707]])
    >>> affine_hull(Box([0.0, 3.0], [1.0, 3.0])).basis
    array([[1.], [0.]])
    """
    lower, upper = region.bounds()
    moving = upper - lower > TOLERANCE * np.maximum(np.abs(lower), np.abs(upper))
    # In units of the ranges, so that entries of any size count alike.
    units = np.where(moving, upper - lower, 1.0)
    spanned, basis = np.eye(region.dim)[:, ~moving], np.zeros((region.dim, 0))
    for _ in range(int(moving.sum())):
        direction = _orthogonal(spanned)
        high = region.worst_case(direction / units) / units
        low = region.worst_case(-direction / units) / units
        if direction @ (high - low) > TOLERANCE:
            direction = _without(spanned, high - low)
            basis = np.column_stack([basis, direction])
        spanned = np.column_stack([spanned, direction])
    point = region.worst_case(np.zeros(region.dim))
    return Hull(point, np.where(moving, units, 0.0), basis)


def _orthogonal(spanned: Array) -> Array:
    """A unit vector orthogonal to orthonormal columns: what is left of an axis."""
    left = 1 - (spanned**2).sum(axis=1)
    return _without(spanned, np.eye(len(spanned))[np.argmax(left)])


def _without(spanned: Array, vector: Array) -> Array:
    """What is left of a vector, of length one; twice, as once leaves rounding."""
    for _ in range(2):
        vector = vector - spanned @ (spanned.T @ vector)
        vector = vector / np.linalg.norm(vector)
    return vector
