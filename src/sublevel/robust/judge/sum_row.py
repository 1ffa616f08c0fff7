"""A row that adds up several functions of the outcome, each with its places.

Arrays only, so that a saved policy has them; `sum_rows` finds them in an expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...checks import Array
from .place import Place, value_at
from .tape import Leaves

if TYPE_CHECKING:
    from .concave import ConcavePart


@dataclass(frozen=True, eq=False)
class BentTerm:
    """A function of the outcome that is convex and not linear.

    Attributes
    ----------
    places : the linear functions it is made of
    is_largest : whether it is the largest of them
    """

    places: tuple[Place, ...]
    is_largest: bool

    @property
    def entries(self) -> set[tuple[int, int]]:
        """What it sees of the outcome: number of the key, and of the entry."""
        return {pair for place in self.places for pair in entries_of(place)}


@dataclass(frozen=True, eq=False)
class SumRow:
    """One row as a sum, its part without the outcome left out.

    Attributes
    ----------
    linear : the part that is linear in the outcome, or None
    terms : the parts that are convex in it
    concave : the part that is concave, with what is linear in the same keys; or None
    """

    linear: Place | None
    terms: tuple[BentTerm, ...]
    concave: ConcavePart | None = None

    @property
    def places(self) -> tuple[Place, ...]:
        """All of them."""
        own = () if self.linear is None else (self.linear,)
        return own + tuple(place for term in self.terms for place in term.places)


def entries_of(place: Place) -> list[tuple[int, int]]:
    """What a place sees of the outcome: number of the key, and of the entry."""
    return [(key, int(k)) for key, seen in place.entries.items() for k in seen]


def sum_at(row: SumRow, leaves: Leaves) -> Array:
    """A row of maxima at known outcomes, shape (n,)."""
    value = np.zeros(len(leaves))
    if row.linear is not None:
        value = value + np.add(*value_at(row.linear, leaves))
    for term in row.terms:
        each = [np.add(*value_at(place, leaves)) for place in term.places]
        value = value + np.max(each, axis=0)
    return value
