"""How far a solution's slack lies outside its cones, multipliers outside the duals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..checks import Array
from .membership import change_into_cone, change_into_dual, curved_cones
from .products import times
from .program import ProgramData, rows_of


@dataclass(frozen=True, eq=False)
class Misses:
    """Slacks of n contexts, and distances from cones, row by row, shapes (n, rows).

    Attributes
    ----------
    product : A x
    slack : b - A x
    outside : of the slack from its cone; a second-order cone's in its head
    negative : of the multipliers from the dual cone, in the same way
    """

    product: Array
    slack: Array
    outside: Array
    negative: Array

    def worth(self, z: Array) -> Array:
        """What they may be worth in units of the objective, shape (n,)."""
        own = np.sum(np.abs(z) * self.outside, axis=1)
        return np.asarray(own + np.sum(self.negative * np.abs(self.slack), axis=1))


def misses(data: ProgramData, x: Array, z: Array) -> Misses:
    """Of points x, shape (n, nx), with multipliers z, shape (n, rows)."""
    product = times(data, x)
    slack = data.b.rows() - product
    outside = _distances(data, slack, np.abs, change_into_cone)
    # The dual of a zero cone is everything.
    negative = _distances(data, z, np.zeros_like, change_into_dual)
    return Misses(product, slack, outside, negative)


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
        elif kind == "psd":
            # Of matrices the solver's word is taken: no row tells by itself.
            result[:, part] = 0.0
        elif kind == "soc":
            result[:, part] = 0.0
            length = np.sqrt(np.sum(v[:, start + 1 : part.stop] ** 2, axis=1))
            result[:, start] = np.maximum(length - v[:, start], 0.0)
        start += rows
    for kind, size, places in curved_cones(data.program.cones):
        points = v[:, places]
        moved = np.abs(change(kind, size, points.reshape(-1, 3))).reshape(points.shape)
        result[:, places] = np.where(np.isnan(moved), np.inf, moved)
    # What is no number is as far outside as can be.
    return np.where(np.isfinite(v), result, np.inf)
