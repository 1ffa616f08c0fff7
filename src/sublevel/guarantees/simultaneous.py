"""All order statistics at once: levels that hold together (G13).

The k-th smallest of N scores leaves at most 1 - U_(k) beyond it, where U_(k) is the
k-th smallest of N uniform numbers. With q_k the eta-quantile of U_(k), the level
1 - q_k holds for one k with confidence 1 - eta. Here eta is such that

    P(U_(k) >= q_k for every k of a window) >= 1 - delta,

so that k may be chosen after all of them were looked at. The probability is exact: the
number of uniforms below q_k is followed from one k to the next (Noe 1972; Moscovich and
Nadler 2017, by Poisson processes), and must stay below k.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaln, xlogy

from ..checks import Array, require_level
from ..errors import InvalidParameter
from .exact import require_whole

#: Probability that is not followed any further.
_NOTHING = 1e-20
#: Relative accuracy of eta; what is returned is on the safe side.
_ACCURACY = 1e-4


def probability_of_all(bounds: Array, first: int, size: int) -> float:
    """P(U_(k) >= bounds[k - first] for k = first, first + 1, ...).

    Parameters
    ----------
    bounds : array of shape (window,), increasing, in [0, 1)
    first : rank of the first bound, from 1 on
    size : number of uniforms

    Examples
    --------
    Both of two uniforms above a half, or only the larger one:

    >>> probability_of_all(np.array([0.5, 0.5]), first=1, size=2)
    0.25
    >>> probability_of_all(np.array([0.5]), first=2, size=2)
    0.75
    """
    # Uniforms are the points of a Poisson process of which there are `size`. Its points
    # in separate stretches are independent, so that one convolution leads from each
    # bound to the next; that there are `size` is asked for at the end.
    at, least = float(bounds[0]), 0
    mass = _arrivals(size * at, np.arange(first))
    for step, bound in enumerate(bounds[1:].tolist(), start=1):
        more = size * (bound - at)
        counts = np.arange(int(more + 12 * sqrt(more)) + 25)
        following = np.convolve(mass, _arrivals(more, counts))
        following = following[: first + step - least]
        worth = np.flatnonzero(following > _NOTHING)
        if not worth.size:
            return 0.0
        mass, at = following[worth[0] : worth[-1] + 1], bound
        least += int(worth[0])
    left = size - least - np.arange(len(mass))
    given = _arrivals(size, np.array([size]))
    return float(mass @ _arrivals(size * (1 - at), left) / given[0])


def _arrivals(expected: float, counts: npt.NDArray[np.int_]) -> Array:
    """Probabilities of so many arrivals of a Poisson process."""
    return np.asarray(np.exp(xlogy(counts, expected) - expected - gammaln(counts + 1)))


@lru_cache(maxsize=64)
def _deficit(size: int, delta: float, first: int, last: int) -> float:
    """The largest eta, to a relative 1e-4 and on the safe side.

    The probability of a failure grows nearly as a power of eta, so that logarithms are
    interpolated, a little off the root on alternating sides to close in on it from
    both.
    """
    ranks = np.arange(first, last + 1)

    def excess(eta: float) -> float:
        bounds = betaincinv(ranks, size + 1 - ranks, eta)
        failure = 1 - probability_of_all(bounds, first, size)
        return log(max(failure, _NOTHING) / delta)

    safe, bold = delta / len(ranks), delta
    below, above = excess(safe), excess(bold)
    if above <= 0:
        return bold
    while bold > (1 + _ACCURACY) * safe:
        share = below / (below - above) if below < 0 else 0.0
        nudge = _ACCURACY / 4 / log(bold / safe)
        # Just beyond the root: the side it lies on is then a short one.
        share += nudge if share < 0.5 else -nudge
        middle = safe * (bold / safe) ** min(max(share, 0.05), 0.95)
        there = excess(middle)
        if there <= 0:
            safe, below = middle, there
        else:
            bold, above = middle, there
    return safe


def simultaneous_levels(
    size: int, delta: float, first: int | None = None, last: int | None = None
) -> Array:
    """Violation levels of the order statistics of a window, all at once.

    Parameters
    ----------
    size : number of scores, N
    delta : confidence deficit of all levels together
    first, last : ranks of the window, fixed before looking; from the middle to N
        unless given. A narrower one has lower levels.

    Returns
    -------
    array of shape (last - first + 1,), decreasing : with confidence 1 - delta, for
        every k at once, at most this share of outcomes lies beyond the k-th smallest
        score

    Examples
    --------
    Of 500 scores, 32 may lie beyond the chosen one for a level of 0.1; 38 if the level
    had been fixed in advance:

    >>> levels = simultaneous_levels(500, delta=0.05)
    >>> int((levels <= 0.1).sum()) - 1
    32
    """
    owner = "simultaneous_levels"
    require_whole(owner, least=1, size=size)
    require_level(owner, delta=delta)
    first = (size + 1) // 2 if first is None else first
    last = size if last is None else last
    require_whole(owner, least=1, first=first)
    require_whole(owner, least=first, last=last)
    if last > size:
        raise InvalidParameter(
            f"{owner}(last=...) must be at most size={size}, got {last}."
        )
    ranks = np.arange(first, last + 1)
    eta = _deficit(int(size), float(delta), int(first), int(last))
    return np.asarray(1 - betaincinv(ranks, size + 1 - ranks, eta))
