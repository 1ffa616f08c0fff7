"""Bounds read from losses by component: what they share with every guarantee.

They cover a constraint that is kept on a ball, not the outcome itself, and speak of the
2-norm radius of the ball; its square is the budget. Plug-in bounds put sample means
where a formula has expectations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import fsum, inf, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_level, require_nonnegative
from ..guarantees.calibration import Calibration, warn_if_infinite
from ..guarantees.certificate import Certificate
from ..guarantees.scores import as_budget, as_components, largest
from ..predictions import Table


class ComponentBound(ABC):
    """A violation bound for constraints kept on a ball around the prediction.

    Examples
    --------
    >>> from sublevel.guarantees import ComponentBound, PaperLLN, TheoremA
    >>> vouched = TheoremA(kappa=1.0, bias=0.0, spread=1.0)
    >>> all(isinstance(each, ComponentBound) for each in (PaperLLN(), vouched))
    True
    """

    #: Scores are losses by component, shape (N, m), not their sums.
    by_component: ClassVar[bool] = True

    @abstractmethod
    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest calibration outcomes that give a finite budget."""

    @abstractmethod
    def _budget(self, losses: Array, alpha: float) -> float:
        """The squared radius at which the bound is alpha."""

    @abstractmethod
    def _level(self, losses: Array, budget: float) -> float:
        """The bound at a squared radius."""

    @abstractmethod
    def _certificate(self, alpha: float, budget: float, size: int) -> Certificate:
        """What the level is worth, read from so many outcomes."""

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> Calibration:
        """The budget, a squared radius, at which the bound comes down to alpha.

        Parameters
        ----------
        scores : array of shape (N, m)
            Squared residuals by component, in units of the predicted spread, from a
            model that has not seen the outcomes.
        alpha : float
            Violation level, strictly between 0 and 1.
        X : ignored
            Accepted so that every guarantee is called alike.
        """
        del X
        losses = self._losses(scores)
        budget = self._budget(losses, alpha)
        certificate = self._certificate(float(alpha), budget, len(losses))
        warn_if_infinite(certificate)
        return Calibration(budget, certificate)

    def promise(
        self, scores: npt.ArrayLike, budget: float, X: Table | None = None
    ) -> Certificate:
        """What the bound says about a budget fixed in advance.

        Parameters
        ----------
        scores, X
            As for `calibrate`.
        budget : float
            Loss level: the square of a radius.
        """
        del X
        losses, limit = self._losses(scores), as_budget(type(self).__name__, budget)
        return self._certificate(self._level(losses, limit), limit, len(losses))

    def _losses(self, scores: npt.ArrayLike) -> Array:
        return as_components(type(self).__name__, scores)


class SampleBound(ComponentBound):
    """A bound whose radius depends on the losses.

    Examples
    --------
    >>> from sublevel.guarantees import PaperLLN, SampleBound, TheoremA3
    >>> vouched = TheoremA3(kappa=1.0, cap=3.0)
    >>> all(isinstance(each, SampleBound) for each in (PaperLLN(), vouched))
    True
    """

    def radius(self, losses: npt.ArrayLike, alpha: float) -> float:
        """The 2-norm radius at which the bound comes down to alpha.

        Parameters
        ----------
        losses : array of shape (N, m)
            Squared residuals by component, in units of the predicted spread.
        alpha : float
            Violation level, strictly between 0 and 1.
        """
        return sqrt(self._budget(self._losses(losses), alpha))

    def level(self, losses: npt.ArrayLike, radius: float) -> float:
        """The bound, at most 1, at a 2-norm radius fixed in advance.

        Parameters
        ----------
        losses : array of shape (N, m)
            Squared residuals by component, in units of the predicted spread.
        radius : float
        """
        require_nonnegative(type(self).__name__, radius=radius)
        return self._level(self._losses(losses), radius**2)


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
