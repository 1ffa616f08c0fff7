"""What compositions ask of their members: to be sets, of one dimension, not empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EmptySet, InvalidParameter
from .base import UncertaintySet


def as_sets(owner: str, value: object) -> tuple[UncertaintySet, ...]:
    """A non-empty tuple of uncertainty sets.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> as_sets("Product", [Box([0.0], [1.0])])
    (Box(dim=1),)
    """
    sets = tuple(value) if isinstance(value, Iterable) else (value,)
    strangers = [item for item in sets if not isinstance(item, UncertaintySet)]
    if not sets or strangers:
        got = type(strangers[0]).__name__ if strangers else "none"
        raise InvalidParameter(
            f"{owner}(sets=...) must be a non-empty sequence of uncertainty sets, got "
            f"{got}."
        )
    return sets


@dataclass(frozen=True, eq=False)
class SetsOfOneDim(UncertaintySet):
    """A composition of sets of outcomes of the same dimension.

    Parameters
    ----------
    sets : sequence of uncertainty sets of equal dimension
        Nested compositions of the same kind are flattened.

    Examples
    --------
    >>> from sublevel.sets import Box, Union
    >>> Union([Box([0.0], [1.0]), Box([4.0], [5.0])]).sets
    (Box(dim=1), Box(dim=1))
    """

    sets: tuple[UncertaintySet, ...]

    if TYPE_CHECKING:

        def __init__(self, sets: Iterable[UncertaintySet]) -> None: ...

    def __post_init__(self) -> None:
        owner = type(self)
        sets = as_sets(owner.__name__, self.sets)
        dims = [member.dim for member in sets]
        if len(set(dims)) > 1:
            raise InvalidParameter(
                f"{owner.__name__}(sets=...) must have the same dimension, got {dims}. "
                "For blocks side by side, use Product."
            )
        nested = (s.sets if isinstance(s, owner) else (s,) for s in sets)
        object.__setattr__(self, "sets", tuple(chain.from_iterable(nested)))

    @property
    def dim(self) -> int:
        return self.sets[0].dim


def is_empty(region: UncertaintySet) -> bool:
    """Ask for any worst case: an empty set has none.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> is_empty(Box([0.0], [1.0]) & Box([2.0], [3.0]))
    True
    """
    try:
        region.maximiser(np.zeros(region.dim))
    except EmptySet:
        return True
    return False
