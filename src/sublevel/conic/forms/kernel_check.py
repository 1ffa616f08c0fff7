"""Compiled: the conditions of optimality of one context, as in `kkt.Conditions`.

The same conditions, each beside the terms it adds up, in one walk through A: products
with x and with the multipliers are added up together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inlined
from ..kkt import ROUNDING

#: Cones by number.
KINDS = ("zero", "nonneg", "soc")
_ZERO, _NONNEG, _SOC = range(3)


@inlined
def holds(
    pattern: Any, q: Any, A: Any, b: Any, x: Any, room: Any
) -> tuple[bool, float, float]:
    """Whether x with multipliers z is optimal, its value, and that of the dual.

    Parameters
    ----------
    pattern : where the entries of A are, and the cones of its rows
    q, A, b : the program's numbers at one context
    room : shape (3, rows): the multipliers z, and room for two numbers a row
    """
    z, slack, size = room[0], room[1], room[2]
    good, value, terms, dual = True, 0.0, 0.0, 0.0
    for r in range(len(b)):
        slack[r], size[r] = b[r], abs(b[r])
    for k in range(len(pattern.priced)):
        r = pattern.priced[k]
        price = b[r] * z[r]
        dual -= price
        terms += abs(price)
    for j in range(len(x)):
        residual, about = q[j], abs(q[j])
        for e in range(pattern.indptr[j], pattern.indptr[j + 1]):
            r = pattern.indices[e]
            pulled, moved = A[e] * z[r], A[e] * x[j]
            residual += pulled
            about += abs(pulled)
            slack[r] -= moved
            size[r] += abs(moved)
        # A comparison with nan is false, and numbers beyond all bounds leave nan.
        good &= abs(residual) - ROUNDING * about <= 0
        cost = q[j] * x[j]
        value += cost
        terms += abs(cost)
    good &= abs(value - dual) - ROUNDING * terms <= 0
    start = 0
    for c in range(len(pattern.kinds)):
        stop = start + pattern.sizes[c]
        kind = pattern.kinds[c]
        if kind == _ZERO:
            for r in range(start, stop):
                good &= abs(slack[r]) - ROUNDING * size[r] <= 0
        elif kind == _NONNEG:
            for r in range(start, stop):
                good &= slack[r] + ROUNDING * size[r] >= 0
                good &= z[r] >= 0
        elif kind == _SOC:
            norm, of_z = 0.0, 0.0
            for r in range(start + 1, stop):
                norm += slack[r] * slack[r]
                of_z += z[r] * z[r]
            norm, of_z = np.sqrt(norm), np.sqrt(of_z)
            good &= norm - (slack[start] + ROUNDING * (size[start] + norm)) <= 0
            good &= of_z - z[start] * (1 + ROUNDING) <= 0
        else:
            good = False
        start = stop
    return good, value, dual
