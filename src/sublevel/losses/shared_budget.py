"""One budget shared by several numeric blocks: all of them pay the same price.

At the optimum one more unit of budget is worth the same in every block that gets any.
The price is found by bisection; blocks whose loss grows linearly take all that is left
at their own price.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import Array


def share_budget(blocks: list[Any], budget: Any) -> list[Array]:
    """Worst case of each block, arrays of shape (..., width of the block).

    Parameters
    ----------
    blocks : list of (loss, weight, prediction, direction), each loss in closed form
    budget : float or array of shape (...): sum of loss / weight over the blocks
    """
    shares = _shares(blocks, np.asarray(budget, dtype=float))
    return [
        loss.worst_case(said, share * weight, direction)
        for (loss, weight, said, direction), share in zip(blocks, shares, strict=True)
    ]


def _shares(blocks: list[Any], budget: Array) -> list[Array]:
    """What each block may spend, in units of the common budget."""
    # Least losses may be negative (nll), so what is shared is the budget above them.
    floors = [loss.floor(said) / weight for loss, weight, said, _ in blocks]
    excess = np.maximum(budget - sum(floors), 0.0)
    slopes = [np.max(np.abs(direction), axis=-1) for _, _, _, direction in blocks]
    scale = np.max(np.broadcast_arrays(*slopes), axis=0)
    scale = np.where(scale > 0, scale, 1.0)

    def spend(log_price: Array) -> Array:
        price = scale * np.exp(log_price)
        paid = [
            loss.spend(said, price / weight, direction) / weight - floor
            for (loss, weight, said, direction), floor in zip(
                blocks, floors, strict=True
            )
        ]
        capped = [np.minimum(part, excess) for part in paid]
        return np.stack(np.broadcast_arrays(*capped))

    extra = _at_one_price(spend, excess)
    return [floor + part for floor, part in zip(floors, extra, strict=True)]


def _at_one_price(spend: Callable[[Array], Array], excess: Array) -> Array:
    """Spending of each block, shape (blocks, ...), that adds up to the excess."""
    shape = np.broadcast_shapes(excess.shape, spend(np.zeros(())).shape[1:])
    low, high = np.full(shape, -80.0), np.full(shape, 80.0)
    for _ in range(100):
        middle = (low + high) / 2
        inside = spend(middle).sum(axis=0) <= excess
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    extra = spend(high)
    # Whoever would spend more at a price a hair lower takes what is left.
    eager = np.argmax(spend(low) - extra, axis=0)
    left = np.maximum(excess - extra.sum(axis=0), 0.0)
    chosen = np.arange(len(extra)).reshape(-1, *[1] * len(shape)) == eager
    return np.asarray(extra + np.where(chosen, left, 0.0))
