"""Whether a solution is optimal, by its multipliers: a solver's word is not enough.

    minimise x' P x / 2 + q' x  subject to  A x + s = b, s in K

has, for multipliers z in K*, no value below  -x' P x / 2 - b' z + r' x*  with the
residual r = P x + q + A' z of the dual and an optimum x*. Solvers measure r, and how
far s and z are outside their cones, against the largest number in sight, so in a badly
scaled program much can pass in one column or row. Here all of it is measured by what it
may be worth beside the objective's own terms: |r|' |x|, and distances by what they are
multiplied with.

Of an entry that is next to nothing in x and much in x*, |r|' |x| says nothing: what is
thought a tenth too dear may not be bought at all. So a residual must also be small
beside the terms of its own column, where these are not themselves next to nothing.
"""

from __future__ import annotations

import numpy as np

from ..checks import Array
from .misses import Misses, misses
from .products import quadratic, sizes, transposed
from .program import ProgramData

#: Relative error of the objective at which a solution is as good as optimal, that up to
#: which it may pass for it where no better one is to be had, and the least size of an
#: objective in the units that a solver sees.
GOOD, PASSABLE, LEAST = 1e-7, 1e-5, 1e-4
#: The same beside what the objective adds up to, and the share of its terms to which
#: these may cancel.
NEAR, CANCELLED = 1e-6, 0.1
#: Share of its own column's terms that a residual may be, and of the largest column's
#: that is nothing.
OWN, NOTHING = 1e-4, 1e-8


def relative_error(
    data: ProgramData,
    x: Array,
    z: Array,
    least: float = LEAST,
    missed: Misses | None = None,
    net: bool = False,
) -> Array:
    """How far each solution may be from the best, by its multipliers, shape (n,).

    inf where multipliers do not pay what some column costs.

    Parameters
    ----------
    x : array of shape (n, nx)
    z : array of shape (n, rows)
    least : float
        Least size of an objective, where the numbers are near one; 0 where they are
        not, and an objective may be as small as it likes.
    missed : distances from cones, where they are looked at already
    net : whether an error of GOOD must be one of NEAR beside the objective itself too:
        multipliers that are huge, where hardly any point is inside, pay much and cancel
    """
    curved = quadratic(data, x)
    q, b = data.q.rows()[:, :-1], data.b.rows()
    residual = curved + q + transposed(data, z)
    cost, price = q * x, b * z
    bent = np.sum(curved * x, axis=1)
    error = np.abs(bent + cost.sum(axis=1) + price.sum(axis=1))
    error += np.sum(np.abs(residual * x), axis=1)
    with np.errstate(all="ignore"):
        error += (misses(data, x, z) if missed is None else missed).worth(z)
    size = np.maximum(np.abs(cost).sum(axis=1), np.abs(price).sum(axis=1))
    size = np.maximum(size, np.abs(bent))
    if net:
        value = np.abs(cost.sum(axis=1) + bent / 2)
        terms = np.maximum(np.abs(cost).sum(axis=1), float(least > 0))
        own = np.maximum(value, CANCELLED * terms)
        size = np.minimum(size, NEAR / GOOD * own)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = error / np.maximum(size, least)
    # Most are so small that what A has in the column need not be added up.
    off, own = np.abs(residual), np.abs(curved) + np.abs(q)
    floor = NOTHING * (least > 0)
    odd = np.flatnonzero((off > OWN * own + floor).any(axis=1) & (error <= PASSABLE))
    if odd.size:
        some = sizes(data.at(odd))
        terms = own[odd] + transposed(some, np.abs(z[odd]))
        largest = np.maximum(terms.max(axis=1, keepdims=True), float(least > 0))
        unpaid = (off[odd] > OWN * terms + NOTHING * largest).any(axis=1)
        error[odd[unpaid]] = np.inf
    return np.asarray(error)


def openness(value: Array, bound: Array) -> Array:
    """What is left open between values and those of their duals, of their own size.

    Examples
    --------
    >>> openness(np.array([2.0, 0.0]), np.array([1.0, 0.0]))
    array([0.5, 0. ])
    """
    gap = np.abs(value - bound)
    size = np.maximum(np.abs(value), np.abs(bound))
    return np.divide(gap, size, out=np.zeros(len(gap)), where=gap > 0)
