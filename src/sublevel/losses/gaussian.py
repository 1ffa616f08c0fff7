"""Residuals in units of the predicted spread: the paper's set with variance (MSEV).

    loss(y) = sum_j ((y_j - location_j) / scale_j)^2.

The radius is the same at every context and the set breathes with the spread, so calm
and noisy contexts are covered equally often. Compare NLL.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..checks import Array
from .squared import Squared


@dataclass(frozen=True)
class Gaussian(Squared):
    """Squared norm of the standardised residuals.

    Examples
    --------
    >>> from sublevel.predictions import Prediction
    >>> said = Prediction(np.zeros(2), scale=np.array([1.0, 2.0]))
    >>> Gaussian().components(said, np.array([1.0, 2.0]))
    array([1., 1.])
    """

    needs: ClassVar[str] = "spread"

    def penalty(self, prediction: Any, outcome: Any) -> Array:
        """Squared standardised residuals."""
        return np.asarray(((outcome - prediction.location) / prediction.scale) ** 2)

    def spread(self, prediction: Any) -> Array:
        """Predicted spread, stretched by the weights."""
        if self.weights is None:
            # Not np.asarray: a CVXPY parameter stays one.
            return prediction.scale  # type: ignore[no-any-return]
        stretch = np.sqrt(self._weights(prediction.location))
        return stretch * prediction.scale  # type: ignore[no-any-return]
