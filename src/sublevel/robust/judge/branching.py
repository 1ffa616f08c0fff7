"""The largest value of a sum of maxima over a set that can only name worst outcomes.

    max over y in U of  base'y + sum_k max_j (constant_kj + slope_kj'y)

Branch and bound on which piece of each term is the largest. Where that is open, a term
is replaced by a linear function that is nowhere below it on the set: for two pieces
with a difference z between L < 0 < U, max(z, 0) <= U (z - L) / (U - L). So the bound of
every branch is one question to the set, and its answer is an outcome to compare with.

Where a formula says how far the set goes in many directions at once, all combinations
are tried instead: a million of them take a second.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from ...checks import Array
from ...errors import SolverFailed

#: Combinations that are tried in one go.
TOGETHER = 2**12
#: Relative gap at which the search ends, and most branches that are looked at.
GAP, MOST_BRANCHES = 1e-9, 20_000


@dataclass(frozen=True, eq=False)
class _Term:
    """A term over the set: pieces, and a linear function above them all.

    Attributes
    ----------
    constants, slopes : shapes (pieces,) and (pieces, dim)
    above : constant and slope of the function above
    """

    constants: Array
    slopes: Array
    above: tuple[float, Array]


def largest_sum(
    base: Array,
    constants: list[Array],
    slopes: list[Array],
    worst_case: Callable[[Array], Array],
    most: int = MOST_BRANCHES,
) -> Array:
    """An outcome at which the sum is largest, shape (dim,).

    Parameters
    ----------
    base : slope of the linear part, shape (dim,)
    constants, slopes : for each term, arrays of shape (pieces,) and (pieces, dim)
    worst_case : from a direction to the outcome of the set that maximises it
    most : branches looked at before SolverFailed

    Examples
    --------
    >>> corner = lambda d: np.where(d > 0, 2.0, -1.0)
    >>> both = [np.zeros(2), np.zeros(2)]
    >>> slopes = [np.array([[1.0, 0.0], [-3.0, 0.0]]), np.array([[0.0, 1.0], [0, 0]])]
    >>> largest_sum(np.zeros(2), both, slopes, corner)
    array([-1., 2.])
    """
    pairs = zip(constants, slopes, strict=True)
    terms = [_over_the_set(c, s, worst_case) for c, s in pairs]

    def value(outcome: Array) -> float:
        each = [np.max(t.constants + t.slopes @ outcome) for t in terms]
        return float(base @ outcome + sum(each))

    numbers = count()
    best, incumbent = None, -np.inf
    queue: list[tuple[float, int, tuple[int, ...], Array]] = []

    def look(chosen: tuple[int, ...]) -> None:
        nonlocal best, incumbent
        direction, constant = base.copy(), 0.0
        for term, j in zip(terms, chosen, strict=True):
            c, slope = term.above if j < 0 else (term.constants[j], term.slopes[j])
            constant, direction = constant + c, direction + slope
        outcome = worst_case(direction)
        bound, here = constant + float(direction @ outcome), value(outcome)
        if not here <= incumbent:
            best, incumbent = outcome, here
        heapq.heappush(queue, (-bound, next(numbers), chosen, outcome))

    look(tuple(0 if len(t.constants) == 1 else -1 for t in terms))
    for _ in range(most):
        if not queue or np.isnan(incumbent):
            break
        bound, _, chosen, outcome = heapq.heappop(queue)
        scale = max(abs(incumbent), abs(bound))
        if -bound - incumbent <= GAP * scale:
            break
        k = _widest(terms, chosen, outcome)
        if k is None:
            break
        for j in range(len(terms[k].constants)):
            look((*chosen[:k], j, *chosen[k + 1 :]))
    else:
        raise SolverFailed(
            f"The worst outcome of a sum of {len(terms)} maxima was not settled in "
            f"{most} branches. Use a set whose entries move independently "
            "(sl.sets.Box), or bound the maxima by variables of their own."
        )
    assert best is not None
    return best


def steepest(
    base: Array,
    constants: list[Array],
    slopes: list[Array],
    maxima: Callable[[Array], Array],
) -> Array:
    """The slope of the combination of pieces that goes furthest, shape (dim,).

    Parameters
    ----------
    base, constants, slopes : as in `largest_sum`
    maxima : from directions, shape (n, dim), to how far the set goes in each

    Examples
    --------
    >>> reach = lambda directions: np.maximum(2 * directions, -directions).sum(axis=1)
    >>> both = [np.zeros(2), np.zeros(2)]
    >>> slopes = [np.array([[1.0, 0.0], [-3.0, 0.0]]), np.array([[0.0, 1.0], [0, 0]])]
    >>> steepest(np.zeros(2), both, slopes, reach)
    array([-3., 1.])
    """
    halves: list[tuple[Array, Array]] = [(np.zeros(1), np.zeros((1, len(base))))] * 2
    for constant, slope in zip(constants, slopes, strict=True):
        half = 0 if len(halves[0][0]) * len(constant) <= TOGETHER else 1
        value, direction = halves[half]
        value = (value[:, None] + constant).ravel()
        direction = (direction[:, None] + slope).reshape(-1, len(base))
        halves[half] = value, direction
    (inner, directions), (outer, others) = halves
    best, furthest = base, -np.inf
    for value, other in zip(outer, others, strict=True):
        turned = directions + other + base
        far = value + inner + maxima(turned)
        k = int(np.argmax(far))
        if far[k] > furthest:
            best, furthest = turned[k], float(far[k])
    return best


def _widest(terms: list[_Term], chosen: tuple[int, ...], outcome: Array) -> int | None:
    """The open term whose function above is furthest above it; None if none is."""
    gaps = np.full(len(terms), -np.inf)
    for k, (term, j) in enumerate(zip(terms, chosen, strict=True)):
        if j < 0:
            constant, slope = term.above
            top = constant + slope @ outcome
            gaps[k] = top - np.max(term.constants + term.slopes @ outcome)
    k = int(np.argmax(gaps))
    return k if np.isfinite(gaps[k]) else None


def _over_the_set(
    constants: Array, slopes: Array, worst_case: Callable[[Array], Array]
) -> _Term:
    """The pieces that can be largest, and a function above them."""
    kept_constants, kept_slopes = [constants[0]], [slopes[0]]
    constant, slope = float(constants[0]), slopes[0].copy()
    dominated = False
    for c, s in zip(constants[1:], slopes[1:], strict=True):
        offset, tilt = float(c - constants[0]), s - slopes[0]
        high = offset + float(tilt @ worst_case(tilt))
        low = offset + float(tilt @ worst_case(-tilt))
        if high <= 0:
            continue
        dominated |= low >= 0
        kept_constants.append(c)
        kept_slopes.append(s)
        share = 1.0 if low >= 0 else high / (high - low)
        shift = 0.0 if low >= 0 else -share * low
        constant, slope = constant + share * offset + shift, slope + share * tilt
    if dominated:
        del kept_constants[0], kept_slopes[0]
    return _Term(np.array(kept_constants), np.array(kept_slopes), (constant, slope))
