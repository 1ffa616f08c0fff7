"""How wide sets are, in a unit that is comparable across losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import Array


def mean_width(
    batch: Any, outcomes: Array, contexts: int = 64, count: int = 16
) -> float:
    """Mean half-width of the sets over random directions, in deviations of the outcome.

    The half-width along v is (support(v) + support(-v)) / 2: what protecting a linear
    constraint with coefficients v costs. Directions are normal with a fixed seed,
    divided by each component's standard deviation.

    Parameters
    ----------
    batch : sets of n contexts
    outcomes : array of shape (n, m) that gives each component its unit
    contexts, count : how many contexts and directions to average over
    """
    spread = outcomes.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(count, outcomes.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True) * unit
    if not batch.loss.closed_form:
        # Each of these supports is a conic solve.
        contexts = max(1, contexts // 8)
    chosen = batch[:: max(1, len(batch) // contexts)][:contexts]
    widths = [(chosen.support(v) + chosen.support(-v)) / 2 for v in directions]
    return float(np.mean(widths))
