"""The radius behind the paper's tables: its LLN inequality, as it was computed.

Theorem 3.2 prints the Jensen gap at the argument (radius^2 - L) / t. The published
radii are had with half of it, which is what the proof needs, but with the printed
function. `PaperLLN` has the printed and the corrected bound; this one is above both by
a few per cent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from sublevel.checks import Array
from sublevel.guarantees import PaperLLN
from sublevel.theory.component_bound import Means
from sublevel.theory.envelope import decay

_SLOPE = exp(-0.5)


@dataclass(frozen=True)
class TabulatedLLN(PaperLLN):
    """The LLN inequality with the printed gap at half its printed argument.

    Examples
    --------
    >>> losses = np.random.default_rng(0).normal(size=(1000, 5)) ** 2
    >>> bounds = PaperLLN(corrected=False), PaperLLN(), TabulatedLLN()
    >>> [round(bound.radius(losses, 0.1), 2) for bound in bounds]
    [4.28, 4.32, 4.36]
    """

    def _bound(self, means: Means, excess: float) -> float:
        ratios = 2 * means.largest / excess
        with np.errstate(divide="ignore"):
            center = 1 / np.mean(1 / ratios)
        gap = np.mean(_bend(ratios)) - _bend(center)
        return float(np.mean(decay(ratios)) + gap)


def _bend(ratio: Array | np.floating) -> Array:
    """The printed q, as a function of 1/u."""
    beyond = _SLOPE * (ratio - 0.5) + exp(-2) - decay(ratio)
    return np.where(ratio > 0.5, beyond, 0.0)
