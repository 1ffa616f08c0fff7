"""Cross-entropy: the loss of probabilistic classifiers.

    cost of class j = -log probability_j.

One block's set holds the classes with probability at least exp(-budget). It agrees with
the Kullback-Leibler ball only at one-hot outcomes; over the simplex it is smaller.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .labels import LEAST_PROBABILITY, LabelLoss


@dataclass(frozen=True)
class CrossEntropy(LabelLoss):
    """Negative log-probability of the label, summed over blocks.

    Examples
    --------
    >>> from sublevel.predictions import LabelPrediction
    >>> said = LabelPrediction((np.array([0.5, 0.3, 0.2]),))
    >>> CrossEntropy().costs(said)[0].round(3)
    array([0.693, 1.204, 1.609])
    """

    def costs(self, prediction: Any) -> tuple[Array, ...]:
        """-log probability, clipped at probability 1e-12."""
        self.check(prediction)
        return tuple(
            -np.log(np.clip(block, LEAST_PROBABILITY, 1.0))
            for block in prediction.probabilities
        )

    def check(self, prediction: Any) -> None:
        """Margins will not do."""
        if prediction.probabilities is None:
            raise InvalidParameter(
                "CrossEntropy needs class probabilities, and the classifier has no "
                "predict_proba. Wrap it in CalibratedClassifierCV, or use "
                "loss='hinge'."
            )
