"""Weights of contexts: read from the density ratio, turned into budgets."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter

#: Weight sums this close, relatively, count as equal. The level moves by no more, and
#: equal weights give the same budget as `Marginal`, whatever the rounding.
TOLERANCE = 1e-12


def budgets_at(weights: Array, alpha: float, scores: Array, cumulative: Array) -> Array:
    """The budget at contexts of these weights, from the sorted scores."""
    reach = (1 - alpha) * (cumulative[-1] + weights) * (1 - TOLERANCE)
    budgets: Array = np.append(scores, inf)[np.searchsorted(cumulative, reach)]
    return budgets


def read_weights(
    density_ratio: Callable[[Any], Any], X: Any, n: int | None = None
) -> Array:
    """The weight of each row of X, shape (n,)."""
    if X is None:
        raise InvalidParameter(
            "Weighted(density_ratio=...) must be given the contexts, got X=None. "
            "Pass X, one row for each score."
        )
    weights = np.asarray(density_ratio(X), dtype=float)
    if n is None and weights.ndim == 1 and weights.size:
        n = weights.size
    if weights.shape != (n,):
        raise InvalidParameter(
            f"Weighted(density_ratio=...) must give one weight for each of the "
            f"{'deployment' if n is None else n} rows, got shape {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise InvalidParameter(
            f"Weighted(density_ratio=...) must be finite and at least 0, got "
            f"{weights[bad[0]]} at row {bad[0]}."
        )
    return weights


def effective_size(weights: Array) -> str:
    """How many equal weights would be worth as much, in a sentence."""
    size = float(weights.sum()) ** 2 / float(weights @ weights)
    return f"Effective sample size {size:.1f} of {weights.size}."
