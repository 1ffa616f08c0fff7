"""Whether what compiled code says of a context is so, from the data alone.

A point x with multipliers z is believed to be optimal if its slack b - A x lies in the
cones, z in their duals, and if all that is left open, in units of the objective, is
next to nothing: the gap, what the dual's residual may be worth (as in `optimality`),
and what the distances from the cones are worth to the multipliers, and the other way
round. Rays that prove that there is no solution are looked at in `rays`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ..misses import misses
from ..optimality import GOOD, relative_error
from ..program import ProgramData

Flags = npt.NDArray[np.bool_]

#: Relative gap and residuals that are aimed at: a digit more than is asked for here.
CLOSE = 1e-8
#: How far a slack may lie outside its cone, in units of its row.
INSIDE = 1e-7
#: How far multipliers may lie outside the dual cone, relative to the largest.
DUAL = 1e-9


def optimal(data: ProgramData, x: Array, z: Array) -> Flags:
    """Which points are seen to be optimal, shape (n,)."""
    missed = misses(data, x, z)
    size = np.maximum(np.abs(data.b.rows()), np.abs(missed.product))
    kept = (missed.outside <= INSIDE * np.maximum(size, 1.0)).all(axis=1)
    kept &= _small_beside(missed.negative, z)
    error = relative_error(data, x, z, missed=missed, net=True)
    return np.asarray(kept & (error <= GOOD))


def _small_beside(outside: Array, z: Array) -> Flags:
    largest = np.abs(z).max(axis=1, initial=0.0)
    return np.asarray(outside.max(axis=1, initial=0.0) <= DUAL * largest)
