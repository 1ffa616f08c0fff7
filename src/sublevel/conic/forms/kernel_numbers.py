"""The numbers of one context in compiled code, and room for its solution."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from .kernel_order import room_for


class Numbers(NamedTuple):
    """The numbers of one context, as in `FormNumbers`, and room for its solution.

    Attributes
    ----------
    cost to reduced : shape (n,)
    rates, rooms, segments, order, other : shape (room_for(2 n),), for 2 n segments; the
        last three are whole numbers
    room : shape (7, n)
    """

    cost: Array
    lower: Array
    upper: Array
    slopes: Array
    size_costs: Array
    weights: Array
    x: Array
    pull: Array
    reduced: Array
    rates: Array
    rooms: Array
    segments: Any
    order: Any
    other: Any
    room: Array


def numbers_for(n: int) -> Numbers:
    """Room for n variables, which all contexts use in turn."""
    keys = np.zeros((2, room_for(2 * n)))
    ranks = np.zeros((3, room_for(2 * n)), dtype=np.int64)
    return Numbers._make([*np.zeros((9, n)), *keys, *ranks, np.zeros((7, n))])
