"""What compositions ask of their members: to be sets, and not to be empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import EmptySet, InvalidParameter
from .base import UncertaintySet


def as_sets(owner: str, value: Any) -> tuple[UncertaintySet, ...]:
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


def as_sets_of_one_dim(owner: str, value: Any) -> tuple[UncertaintySet, ...]:
    """A non-empty tuple of uncertainty sets of equal dimension.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> as_sets_of_one_dim("Union", [Box([0.0], [1.0]), Box([4.0], [5.0])])
    (Box(dim=1), Box(dim=1))
    """
    sets = as_sets(owner, value)
    dims = [member.dim for member in sets]
    if len(set(dims)) > 1:
        raise InvalidParameter(
            f"{owner}(sets=...) must have the same dimension, got {dims}. For blocks "
            "side by side, use Product."
        )
    return sets


def is_empty(region: UncertaintySet) -> bool:
    """Ask for any worst case: an empty set has none.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> is_empty(Box([0.0], [1.0]) & Box([2.0], [3.0]))
    True
    """
    try:
        region._worst_case(np.zeros(region.dim))
    except EmptySet:
        return True
    return False
