"""Whether a set has any outcome at all."""

import numpy as np

from ..errors import EmptySet
from .base import UncertaintySet


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
