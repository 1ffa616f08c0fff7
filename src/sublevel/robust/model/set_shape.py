"""What a model must know of a set before it is known where the set lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array
from ...conic.program import Indices
from ...sets import UncertaintySet

#: The two ends of an interval.
SIDES = ("lower", "upper")
#: Most outcomes that a constraint is written out for, if that is all there are.
MOST_OUTCOMES = 200
#: Most corners of a set with more outcomes than these.
MOST_CORNERS = 64


@dataclass(frozen=True, eq=False)
class SetShape:
    """The shape of a key's sets, the same at every context.

    Attributes
    ----------
    blocks : array of shape (dim,), which entries move together; sets are products of
        their shadows on the blocks
    outcomes : every outcome, shape (n, dim), if the set is a value with few; else None
    corners : outcomes whose convex hull has every outcome in it, shape (n, dim), if
        the set is a value with few; else None
    """

    blocks: Indices
    outcomes: Array | None = None
    corners: Array | None = None

    @property
    def stamp(self) -> tuple[bytes, ...]:
        """What tells one shape from another."""
        parts = (self.blocks, self.outcomes, self.corners)
        return tuple(b"" if part is None else part.tobytes() for part in parts)


def tied(dim: int) -> SetShape:
    """The shape of a set of which nothing is known.

    Examples
    --------
    >>> tied(3).blocks
    array([0, 0, 0])
    """
    return SetShape(np.zeros(dim, dtype=int))


def shape_of(region: UncertaintySet) -> SetShape:
    """The shape of a set value.

    Examples
    --------
    >>> from sublevel.sets import Box, Finite
    >>> shape_of(Box([0.0, 0.0], [1.0, 2.0])).blocks
    array([0, 1])
    >>> len(shape_of(Finite([[1.0], [2.0], [3.0]])).outcomes)
    3
    """
    outcomes = region.listed()
    corners = region.corners(MOST_CORNERS)
    if corners is not None and len(corners) == 1:
        outcomes = corners
    if outcomes is not None and len(outcomes) > MOST_OUTCOMES:
        outcomes = None
    return SetShape(region.blocks(), outcomes, corners)
