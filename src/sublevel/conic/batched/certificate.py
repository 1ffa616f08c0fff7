"""Whether what compiled code says of a context is so, from the data alone.

A point x with multipliers z is believed to be optimal if its slack b - A x lies in the
cones, z in their duals, and if all that is left open, in units of the objective, is
next to nothing: the gap, what the dual's residual may be worth (as in `optimality`),
and what the distances from the cones are worth to the multipliers, and the other way
round. Rays that prove that there is no solution are looked at in `rays`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ..membership import alike, change_into_cone, change_into_dual
from ..optimality import GOOD, LEAST, quadratic, relative_error, times
from ..program import ProgramData, rows_of

Flags = npt.NDArray[np.bool_]

#: How far a slack may lie outside its cone, in units of its row.
INSIDE = 1e-7
#: How far multipliers may lie outside the dual cone, relative to the largest.
DUAL = 1e-9


def optimal(data: ProgramData, x: Array, z: Array) -> Flags:
    """Which points are seen to be optimal, shape (n,)."""
    right, product = data.b.rows(), times(data, x)
    slack = right - product
    outside, negative = _outside(data, slack), _outside_dual(data, z)
    size = np.maximum(np.maximum(np.abs(right), np.abs(product)), 1.0)
    kept = (outside <= INSIDE * size).all(axis=1)
    kept &= _small_beside(negative, z)
    q = data.q.rows()[:, :-1]
    value = np.maximum(np.abs(q * x).sum(axis=1), np.abs(right * z).sum(axis=1))
    curved = np.abs(np.sum(quadratic(data, x) * x, axis=1))
    value = np.maximum(np.maximum(value, curved), LEAST)
    worth = np.sum(np.abs(z) * outside, axis=1) + np.sum(
        negative * np.abs(slack), axis=1
    )
    error = relative_error(data, x, z) + worth / value
    return np.asarray(kept & (error <= GOOD))


def _small_beside(outside: Array, z: Array) -> Flags:
    largest = np.abs(z).max(axis=1, initial=0.0)
    return np.asarray(outside.max(axis=1, initial=0.0) <= DUAL * largest)


def _outside(data: ProgramData, slack: Array) -> Array:
    """How far each row is outside its cone, shape (n, rows); a second-order cone's in
    its head.
    """
    return _distances(data, slack, np.abs, change_into_cone)


def _outside_dual(data: ProgramData, z: Array) -> Array:
    """The same for the dual cones; that of a zero cone is everything."""
    return _distances(data, z, np.zeros_like, change_into_dual)


def _distances(
    data: ProgramData,
    v: Array,
    of_zero: Callable[[Array], Array],
    change: Callable[[str, float, Array], Array],
) -> Array:
    result, start = np.maximum(-v, 0.0), 0
    for kind, size in data.program.cones:
        rows = rows_of(kind, size)
        part = slice(start, start + rows)
        if kind == "zero":
            result[:, part] = of_zero(v[:, part])
        elif kind == "soc":
            result[:, part] = 0.0
            length = np.sqrt(np.sum(v[:, start + 1 : part.stop] ** 2, axis=1))
            result[:, start] = np.maximum(length - v[:, start], 0.0)
        start += rows
    for kind, size, places in alike(data.program.cones):
        points = v[:, places]
        moved = np.abs(change(kind, size, points.reshape(-1, 3))).reshape(points.shape)
        result[:, places] = np.where(np.isnan(moved), np.inf, moved)
    # What is no number is as far outside as can be.
    return np.where(np.isfinite(v), result, np.inf)
