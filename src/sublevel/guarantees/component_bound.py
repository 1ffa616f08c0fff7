"""Bounds read from losses by component: what they share with every guarantee.

They cover a constraint that is kept on a ball, not the outcome itself, and speak of the
2-norm radius of the ball; its square is the budget.
"""

from abc import ABC, abstractmethod
from math import sqrt
from typing import Any, ClassVar

from ..checks import Array, require_nonnegative
from .calibration import Calibration, warn_if_infinite
from .certificate import Certificate
from .scores import as_budget, as_components


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

    def calibrate(self, scores: Any, alpha: float, X: Any = None) -> Calibration:
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

    def promise(self, scores: Any, budget: float, X: Any = None) -> Certificate:
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

    def _losses(self, scores: Any) -> Array:
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

    def radius(self, losses: Any, alpha: float) -> float:
        """The 2-norm radius at which the bound comes down to alpha.

        Parameters
        ----------
        losses : array of shape (N, m)
            Squared residuals by component, in units of the predicted spread.
        alpha : float
            Violation level, strictly between 0 and 1.
        """
        return sqrt(self._budget(self._losses(losses), alpha))

    def level(self, losses: Any, radius: float) -> float:
        """The bound, at most 1, at a 2-norm radius fixed in advance.

        Parameters
        ----------
        losses : array of shape (N, m)
            Squared residuals by component, in units of the predicted spread.
        radius : float
        """
        require_nonnegative(type(self).__name__, radius=radius)
        return self._level(self._losses(losses), radius**2)
