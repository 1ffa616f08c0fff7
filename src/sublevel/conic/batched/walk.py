"""A plan as compiled code sees it: numbers, and addresses of the plan's arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import inlined
from .lanes import at
from .plan import SOC, Plan


class Walk(NamedTuple):
    """The names are those of `Plan`; in the plural, how many there are."""

    width: int
    height: int
    unknowns: int
    tail: int
    entries: int
    curves: int
    zeros: int
    linears: int
    flats: int
    cones: int
    tail_slots: int
    A_row: int
    A_start: int
    A_slot: int
    A_column: int
    A_first: int
    P_row: int
    P_column: int
    zero: int
    linear: int
    flat: int
    soc: int
    diagonal: int
    node: int
    pivot_slot: int
    pivot_sign: int
    shift: int
    below: int
    below_first: int
    slot: int
    left: int
    left_entry: int
    left_first: int
    pair_left: int
    pair_right: int
    pair_first: int
    tail_row: int
    tail_first: int
    tail_slot: int
    tail_at: int


def walk_of(plan: Plan) -> Walk:
    """The addresses hold as long as the plan is there."""
    values: dict[str, int] = {
        "entries": len(plan.A_row),
        "curves": len(plan.P_row),
        "zeros": len(plan.zero),
        "linears": len(plan.linear),
        "flats": len(plan.flat),
        "cones": len(plan.soc),
        "tail_slots": len(plan.tail_slot),
    }
    for name, value in plan._asdict().items():
        if name in Walk._fields:
            array = isinstance(value, np.ndarray)
            values[name] = int(value.ctypes.data) if array else int(value)
    return Walk(**values)


@inlined
def cone(plan: Any, c: int) -> Any:
    """First row of a second-order cone, and its rows."""
    return at(plan.soc, SOC * c), at(plan.soc, SOC * c + 1)


@inlined
def cone_slots(plan: Any, c: int) -> Any:
    """Its slots, as in `Plan`."""
    first = SOC * c + 2
    return at(plan.soc, first), at(plan.soc, first + 1), at(plan.soc, first + 2)
