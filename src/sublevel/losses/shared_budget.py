"""One budget shared by several numeric blocks: all of them pay the same price.

At the optimum one more unit of budget is worth the same in every block that gets any.
The price is found by bisection; blocks whose loss grows linearly take all that is left
at their own price.
"""

from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..conic import maximise
from .labels import split_blocks


def share_budget(blocks: list[Any], budget: Any) -> list[Array]:
    """Worst case of each block, arrays of shape (..., width of the block).

    Parameters
    ----------
    blocks : list of (loss, weight, prediction, direction)
    budget : float or array of shape (...): sum of loss / weight over the blocks
    """
    if not all(loss.closed_form for loss, _, _, _ in blocks):
        return _solve(blocks, float(budget))
    shares = _shares(blocks, np.asarray(budget, dtype=float))
    return [
        loss.worst_case(said, share * weight, direction)
        for (loss, weight, said, direction), share in zip(blocks, shares, strict=True)
    ]


def _shares(blocks: list[Any], budget: Array) -> list[Array]:
    """What each block may spend, in units of the common budget."""
    if len(blocks) == 1:
        return [budget]
    slopes = [np.max(np.abs(direction), axis=-1) for _, _, _, direction in blocks]
    scale = np.max(np.broadcast_arrays(*slopes), axis=0)
    scale = np.where(scale > 0, scale, 1.0)

    def spend(log_price: Array) -> list[Array]:
        price = scale * np.exp(log_price)
        paid = [
            loss.spend(said, price / weight, direction) / weight
            for loss, weight, said, direction in blocks
        ]
        return [np.minimum(part, budget) for part in np.broadcast_arrays(*paid)]

    shape = np.broadcast_shapes(budget.shape, *(p.shape for p in spend(np.zeros(()))))
    low, high = np.full(shape, -80.0), np.full(shape, 80.0)
    for _ in range(100):
        middle = (low + high) / 2
        inside = np.sum(spend(middle), axis=0) <= budget
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    shares = np.array(spend(high))
    # Whoever would spend more at a price a hair lower takes what is left.
    jump = np.array(spend(low)) - shares
    eager = np.arange(len(blocks)).reshape(-1, *[1] * len(shape)) == np.argmax(jump, 0)
    left = np.maximum(budget - shares.sum(axis=0), 0.0)
    return list(shares + np.where(eager, left, 0.0))


def _solve(blocks: list[Any], budget: float) -> list[Array]:
    """The same by a conic solve, for blocks without a closed form."""
    widths = tuple(direction for _, _, _, direction in blocks)
    outcome = cp.Variable(sum(len(direction) for direction in widths))
    pairs = list(zip(blocks, split_blocks(outcome, widths), strict=True))
    paid = [loss.expression(said, y) / w for (loss, w, said, _), y in pairs]
    domains = [c for (loss, _, said, _), y in pairs for c in loss.domain(said, y)]
    bound = sum(paid[1:], paid[0]) <= budget
    worst = maximise(np.concatenate(widths), outcome, [bound, *domains], "Combined")
    return split_blocks(worst, widths)
