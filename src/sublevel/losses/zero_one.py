"""Misclassification: the number of blocks whose label is not the predicted one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from .labels import LabelLoss


@dataclass(frozen=True)
class ZeroOne(LabelLoss):
    """Count of wrong labels: the set flips up to `budget` of them.

    The score has ties, so calibrated sets are valid and may be conservative.

    Examples
    --------
    >>> from sublevel.predictions import LabelPrediction
    >>> ZeroOne().costs(LabelPrediction((np.array([0.2, 0.5, 0.3]),)))[0]
    array([1., 0., 1.])
    """

    def costs(self, prediction: Any) -> tuple[Array, ...]:
        """0 for the likeliest class (the first among equals), 1 for the others."""
        return tuple(
            1.0 - np.eye(block.shape[-1])[np.argmax(block, axis=-1)]
            for block in prediction.values
        )
