"""Poisson deviance: the loss of count regression.

    loss(y) = sum_j 2 (y_j log(y_j / mean_j) - y_j + mean_j) / weight_j,  y >= 0.

The set grows with the mean, as counts do, and never leaves y >= 0.
"""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.special import xlogy

from ..checks import Array
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from .base import location_of
from .separable import SmoothLoss


@dataclass(frozen=True)
class Poisson(SmoothLoss):
    """Sum of Poisson deviances; +inf for negative outcomes.

    Examples
    --------
    >>> Poisson().components(np.array([2.0, 2.0]), np.array([2.0, 0.0]))
    array([0., 4.])
    """

    def penalty(self, prediction: Any, outcome: Any) -> Array:
        """Unit deviances."""
        mean, outcome = location_of(prediction), np.asarray(outcome, dtype=float)
        count = np.maximum(outcome, 0.0)
        deviance = 2 * (xlogy(count, count) - count * np.log(mean) - count + mean)
        # Rounding may leave a tiny negative number at count = mean.
        return np.where(outcome < 0, np.inf, np.maximum(deviance, 0.0))

    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """2 kl_div(y, mean)."""
        mean = location_of(prediction)
        penalties = cp.kl_div(outcome, mean)
        return cp.sum(cp.multiply(2 / self._weights(mean), penalties))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """sum_j 2 mean_j u (exp(v_j / (2u)) - 1)."""
        mean = location_of(prediction)
        weights = self._weights(mean)
        level = multiplier * np.ones(len(weights))
        lifted = cp.Variable(len(weights))
        cone = cp.ExpCone(cp.multiply(weights / 2, slope), level, lifted)
        excess = cp.multiply(2 / weights, cp.multiply(mean, lifted - level))
        return Epigraph(cp.sum(excess), [cone])

    def check(self, prediction: Any) -> None:
        """Means must be positive."""
        super().check(prediction)
        require_positive_mean("Poisson", prediction.location)

    def attain(self, slope: Array, prediction: Any) -> Array:
        """Mean exp(slope / 2)."""
        return np.asarray(location_of(prediction) * np.exp(slope / 2))


def require_positive_mean(owner: str, mean: Array) -> None:
    """Deviances are defined for positive predicted means only."""
    if (mean <= 0).any():
        where = np.argwhere(mean <= 0)[0]
        raise InvalidParameter(
            f"{owner} needs positive predictions, got {mean[tuple(where)]:.4g} in row "
            f"{int(where[0])}. Use a model with a log link, or clip its predictions."
        )
