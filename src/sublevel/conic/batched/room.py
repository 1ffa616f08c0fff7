"""Where the lanes live, and what comes in and out: tuples of arrays and addresses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from .cones import PER_CONE
from .dense import TILE
from .lanes import WIDTH
from .plan import Plan


class Blocks(NamedTuple):
    """The data of all contexts: for P, q, A, b what all share, and what varies."""

    P: Array
    P_where: Any
    P_values: Array
    q: Array
    q_where: Any
    q_values: Array
    A: Array
    A_where: Any
    A_values: Array
    b: Array
    b_where: Any
    b_values: Array


class Room(NamedTuple):
    """Addresses of where the lanes live: vectors of WIDTH numbers."""

    K: int
    L: int
    Y: int
    inverse: int
    tail: int
    panel: int
    pivots: int
    last: int
    q: int
    b: int
    x: int
    s: int
    z: int
    w: int
    eta: int
    cone: int
    lam: int
    Px: int
    rx: int
    rz: int
    right_fixed: int
    fixed: int
    left_fixed: int
    right: int
    moving: int
    left: int
    trial: int
    ds: int
    offset: int
    one: int
    other: int
    scalars: int


class Results(NamedTuple):
    """What became of every context: code, iterations, x and z."""

    code: Any
    iterations: Any
    x: Array
    z: Array


#: Vectors of one number for each lane.
TAU, KAPPA, FRESH, FLAW, COUNT, CODE, RAY_Z, RAY_X, Q_SIZE, B_SIZE = range(10)
SCALARS = 10


def room_for(plan: Plan) -> tuple[Room, Array]:
    """Room of the sizes a plan asks for, and the array it is in."""
    n, m, unknowns = plan.width, plan.height, plan.unknowns
    entries = len(plan.below)
    sizes = {
        "K": plan.slots,
        "L": entries,
        "Y": entries,
        "inverse": unknowns,
        "tail": plan.tail**2,
        "panel": plan.tail * TILE,
        **dict.fromkeys(("pivots", "last"), plan.tail),
        **dict.fromkeys(("q", "x", "Px", "rx"), n),
        **dict.fromkeys(
            ("b", "s", "z", "w", "lam", "rz", "ds", "offset", "one", "other"), m
        ),
        "eta": len(plan.soc),
        "cone": len(plan.soc) * PER_CONE,
        **dict.fromkeys(("right_fixed", "fixed", "left_fixed"), unknowns),
        **dict.fromkeys(("right", "moving", "left", "trial"), unknowns),
        "scalars": SCALARS,
    }
    vector = 8 * WIDTH
    memory = np.zeros((sum(sizes.values()) + 1) * WIDTH)
    # At addresses that suit vectors.
    start = -(-memory.ctypes.data // vector) * vector
    addresses = {}
    for name in Room._fields:
        addresses[name] = start
        start += sizes[name] * vector
    return Room(**addresses), memory
