"""The set of an uncertain key at one context, checked, with declared signs."""

from __future__ import annotations

import numpy as np

from ...errors import EmptySet, InvalidParameter, Unbounded
from ...sets import Box, Intersection, UncertaintySet
from ...sets.members import is_empty
from ..judge.set_oracles import Region
from ..keys import UncertainKey
from ..model.oracle import CheckedOracle, Oracle


def set_value(key: UncertainKey, value: UncertaintySet | Oracle) -> Region:
    """A set value, checked, with declared signs taken into account."""
    if value.dim != key.size:
        raise InvalidParameter(
            f"The set for {key.name!r} must have dimension {key.size}, got {value.dim}."
        )
    # An infinite end of a box does no harm where nothing looks that way.
    if not isinstance(value, Box) and not getattr(value, "is_bounded", True):
        raise Unbounded(
            f"The set for {key.name!r} is unbounded, so no worst case exists. If its "
            "budget is inf, calibrate with more data or at a larger alpha."
        )
    if not isinstance(value, UncertaintySet):
        return CheckedOracle(key.parameters, value)
    if isinstance(value, Intersection) and is_empty(value):
        raise EmptySet(f"The set for {key.name!r} is empty: no outcome is in it.")
    if not key.nonneg.any():
        return value
    floor = np.where(key.nonneg, 0.0, -np.inf)
    if not (value.bounds()[0] < floor).any():
        return value
    signed = value & Box(floor, np.full(key.size, np.inf))
    if is_empty(signed):
        raise EmptySet(
            f"The set for {key.name!r} has no outcome that is nonneg=True, as it was "
            "declared."
        )
    return signed
