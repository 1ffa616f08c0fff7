"""Hinge loss: the loss of support vector machines.

From probabilities, the paper's form: cost of class j = 2 (1 - probability_j), which for
two classes is max(0, 1 - (2y - 1)(2p - 1)) at y in {0, 1}. From margins f, the hinge of
Crammer & Singer (2001) for several classes: max(0, 1 - f_j + max over k != j of f_k).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from .labels import LabelLoss


@dataclass(frozen=True)
class Hinge(LabelLoss):
    """Hinge loss of the label, summed over blocks.

    Examples
    --------
    >>> from sublevel.predictions import LabelPrediction
    >>> Hinge().costs(LabelPrediction((np.array([0.7, 0.3]),)))[0].round(6)
    array([0.6, 1.4])
    >>> Hinge().costs(LabelPrediction(margins=(np.array([-0.75, 0.75]),)))[0]
    array([2.5, 0. ])
    """

    def costs(self, prediction: Any) -> tuple[Array, ...]:
        """From probabilities where there are any, from margins otherwise."""
        if prediction.probabilities is not None:
            return tuple(2 * (1 - block) for block in prediction.probabilities)
        return tuple(_margin_costs(block) for block in prediction.margins)


def _margin_costs(margin: Array) -> Array:
    if margin.shape[-1] == 1:
        return np.zeros_like(margin)
    order = np.sort(margin, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    # The best rival of the top class is the second; of every other class, the top.
    rival = np.where(margin == best, second, best)
    return np.maximum(0.0, 1.0 - margin + rival)
