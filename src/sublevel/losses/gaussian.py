"""Residuals in units of the predicted spread: the paper's set with variance (MSEV).

    loss(y) = sum_j ((y_j - location_j) / scale_j)^2.

The radius is the same at every context and the set widens with the spread, so calm
and noisy contexts are covered equally often. Compare NLL.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .base import Forecast, location_of, scale_of
from .squared import Squared


@dataclass(frozen=True)
class Gaussian(Squared):
    """Squared norm of the standardised residuals.

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> prediction = Prediction(np.zeros(2), scale=np.array([1.0, 2.0]))
    >>> Gaussian().components(prediction, np.array([1.0, 2.0]))
    array([1., 1.])
    """

    needs: ClassVar[str] = "spread"

    def penalty(self, prediction: Forecast, outcome: Array) -> Array:
        """Squared standardised residuals."""
        return np.asarray(
            ((outcome - location_of(prediction)) / self._scale(prediction)) ** 2
        )

    def spread(self, prediction: Forecast) -> Array:
        """Forecast spread, stretched by the weights."""
        scale = self._scale(prediction)
        if self.weights is None:
            return scale
        return np.sqrt(self._weights(scale)) * scale

    def _scale(self, prediction: Forecast) -> Array:
        scale = scale_of(prediction)
        if scale is None:
            raise InvalidParameter(
                f"{type(self).__name__} needs a predicted spread. Say "
                "Prediction(location, scale)."
            )
        return scale
