"""Gaussian negative log-likelihood (Nix & Weigend 1994).

    loss(y) = sum_j ((y_j - location_j) / scale_j)^2 + log scale_j^2,
    loss(y) = ||factor^-1 (y - location)||^2 + log det(factor factor')
                                               where a covariance is predicted.

With a share, so much of the logarithms is counted:

    loss(y) = ||factor^-1 (y - location)||^2 + share log det(factor factor').

Its sets have the smallest average volume, at a price. The radius depends on the
context, radius^2 = budget - sum_j log scale_j^2, noisy contexts are covered less often
than calm ones, and where the radius would be imaginary the set would be empty. There
the set is the prediction alone, which can only add coverage.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, briefly, is_number
from ..deferred import cp
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..norm_ball import NormBall
from ..predictions import AnyPrediction, Prediction
from .base import Forecast, Loss, Slots
from .gaussian import Gaussian, example, require_choice


@dataclass(frozen=True)
class NLL(Loss):
    """Twice the negative log-likelihood of normals, less a constant.

    Parameters
    ----------
    full : bool, optional
        Whether a predicted covariance is used, as `Gaussian` has it.
    share : float in [0, 1], default 1.0
        How much of the log variances is counted. All of them make volumes small, none
        make `Gaussian`. A decision meets an outcome of m components along one direction
        only: 1 / m makes widths small on average, and with them what decisions certify.

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> at = Prediction(np.zeros(1), scale=np.array([np.e]))
    >>> NLL().score(at, np.array([np.e])).round(6), NLL().floor(at).round(6)
    (np.float64(3.0), np.float64(2.0))
    """

    needs: ClassVar[str] = "spread"
    norm_power: ClassVar[int | None] = 2

    full: bool | None = field(default=None, kw_only=True)
    share: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        require_choice("NLL", self.full)
        if not (is_number(self.share) and 0 <= self.share <= 1):
            raise InvalidParameter(
                f"NLL(share=...) must be from 0 to 1, got {briefly(self.share)}."
            )

    @property
    def standard(self) -> Gaussian:
        """The loss above its floor."""
        return Gaussian(full=self.full)

    def settled(self, prediction: AnyPrediction) -> NLL:
        """Full where a covariance is predicted."""
        return replace(self, full=self.standard.settled(prediction).full)

    def example(self, dim: int) -> Prediction:
        """With a covariance if it asks for one, else with a spread."""
        return example(self.full, dim)

    def check(self, prediction: AnyPrediction) -> None:
        """A covariance must be there if it was asked for."""
        self.standard.check(prediction)

    @property
    def closed_form(self) -> bool:
        """Yes."""
        return True

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Squared standardised residual plus log variance."""
        standard = self.standard.components(prediction, outcome)
        return np.asarray(standard + self._log_variances(prediction))

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Standardised sum of squares plus the log variances."""
        return self.standard.expression(prediction, outcome) + self.floor(prediction)

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """The gaussian's: the log variances are the floor."""
        return self.standard.unit_expression(prediction, outcome, excess)

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The gaussian's, at the budget left."""
        return self.standard.slots(prediction, self._left(prediction, budget))

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """The gaussian's."""
        return self.standard.bound(slots, direction)

    def excess_conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """The gaussian's: the log variances are the floor."""
        return self.standard.conjugate(slope, multiplier, prediction)

    def shape_slots(self, prediction: Forecast) -> Slots:
        """The gaussian's."""
        return self.standard.shape_slots(prediction)

    def narrowed(self, entries: npt.NDArray[np.integer[Any]] | BoolArray) -> NLL:
        """Itself: the log variances are paid before any slot is filled."""
        del entries
        return self

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """The gaussian conjugate, less u times the log variances."""
        standard = self.standard.conjugate(slope, multiplier, prediction)
        return Epigraph(standard.value - self.floor(prediction) * multiplier)

    def floor(self, prediction: Forecast) -> Array:
        """Sum of the log variances: the loss at the location."""
        return np.asarray(self._log_variances(prediction).sum(axis=-1))

    def excess(self, prediction: Forecast, outcome: npt.ArrayLike) -> Array:
        """The gaussian loss: the log variances are the floor."""
        return self.standard.score(prediction, outcome)

    def ball(self, prediction: Forecast, budget: float) -> NormBall:
        """The ellipsoid left once the log variances are paid."""
        return self.standard.ball(prediction, self._left(prediction, budget).item())

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """The log variances and what the gaussian spends."""
        return self.floor(prediction) + self.standard.spend(
            prediction, price, direction
        )

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """The gaussian worst case at the budget left."""
        left = self._left(prediction, budget)
        return self.standard.worst_case(prediction, left, direction)

    def _log_variances(self, prediction: Forecast) -> Array:
        """Of the components, or of what is left of each once those before it are
        there: the logarithm of the determinant, by component.
        """
        factor = self.standard.factor(prediction)
        if factor is None:
            logs = np.log(self.standard.spread(prediction))
        else:
            logs = np.log(np.diagonal(factor, axis1=-2, axis2=-1))
        return np.asarray(2 * self.share * logs)

    def _left(self, prediction: Forecast, budget: float | Array) -> Array:
        return np.maximum(np.asarray(budget) - self.floor(prediction), 0.0)
