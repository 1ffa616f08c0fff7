"""Bounds that put sample means where a formula has expectations.

The formulas fall with the budget where it matters, but not by construction; so the
budget for a level is the last one at which the bound comes down to it, and beyond it
the bound stays below.
"""

from abc import abstractmethod
from math import fsum, inf
from typing import NamedTuple

import numpy as np

from ..checks import Array, require_level
from .component_bound import SampleBound
from .scores import largest

#: A Jensen gap needs two outcomes.
FEWEST = 2
#: Steps in which the budget comes down until the bound exceeds the level.
_STEP = 0.95


class Means(NamedTuple):
    """What the bounds need of losses by component."""

    #: Largest loss of each outcome, in increasing order, shape (N,).
    largest: Array
    #: Mean over outcomes of the sum over components.
    total: float
    #: Number of components.
    width: int


class PlugIn(SampleBound):
    """A bound of sample means; no theorem says what it is worth.

    Examples
    --------
    >>> from sublevel.guarantees import PaperFirst, PaperLLN, PlugIn
    >>> isinstance(PaperLLN(), PlugIn) and isinstance(PaperFirst(), PlugIn)
    True
    """

    @abstractmethod
    def _floor(self, means: Means) -> float:
        """The budget up to which the bound is trivial."""

    @abstractmethod
    def _bound(self, means: Means, excess: float) -> float:
        """The bound at a budget of floor + excess, for a positive excess."""

    @abstractmethod
    def _enough(self, means: Means, alpha: float) -> float:
        """An excess at which the bound is at most alpha, and beyond which it falls."""

    def minimum_sample_size(self, alpha: float) -> int:
        """Two: the bound can be computed. No number of scores makes it a guarantee."""
        require_level(type(self).__name__, alpha=alpha)
        return FEWEST

    def _level(self, losses: Array, budget: float) -> float:
        if budget == inf:
            return 0.0
        means = _means(losses)
        excess = budget - self._floor(means)
        if excess <= 0 or len(losses) < FEWEST:
            return 1.0
        return min(1.0, self._bound(means, excess))

    def _budget(self, losses: Array, alpha: float) -> float:
        require_level(type(self).__name__, alpha=alpha)
        if len(losses) < FEWEST:
            return inf
        means = _means(losses)
        high = self._enough(means, alpha)
        low = _STEP * high
        while low > 0 and self._bound(means, low) <= alpha:
            high, low = low, _STEP * low
        while low < (middle := (low + high) / 2) < high:
            if self._bound(means, middle) <= alpha:
                high = middle
            else:
                low = middle
        return self._floor(means) + high


def _means(losses: Array) -> Means:
    # Sorted, and summed exactly, so that the order of outcomes does not matter.
    total = fsum(losses.sum(axis=1)) / len(losses)
    return Means(np.sort(largest(losses)), total, losses.shape[1])
