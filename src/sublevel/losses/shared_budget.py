"""One budget shared by several blocks of numbers, and of labels.

At the optimum one more unit of budget is worth the same in every block that gets any.
The price comes by a search that looks at many prices at a time; blocks whose loss grows
linearly take all that is left at their own price.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..checks import Array
from ..errors import EmptySet
from ..labels import Labels
from ..labels.oracle import pareto_labels
from ..predictions import AnyPrediction
from .base import Loss
from .labels import LabelLoss, split_blocks

#: Ends of the search for the logarithm of a price, and how near they may come.
ENDS, NEAR = 80.0, 1e-14
#: Numbers of prices that are looked at together, all contexts counted; most for one.
TOGETHER, MOST_PRICES = 4096, 63


class Block(NamedTuple):
    """A loss among several, and what it is about.

    Attributes
    ----------
    loss : Loss
    weight : float
    prediction : of the block alone
    vector : its part of an outcome or a direction, an array or a CVXPY expression
    """

    loss: Loss
    weight: float
    prediction: AnyPrediction
    vector: Any


def share_budget(blocks: list[Block], budget: float | Array) -> list[Array]:
    """Worst case of each block, arrays of shape (..., width of the block).

    Parameters
    ----------
    blocks : list of Block, each with its part of the direction, in closed form
    budget : float or array of shape (...): sum of loss / weight over the blocks
    """
    shares = _shares(blocks, np.asarray(budget, dtype=float))
    return [
        loss.worst_case(part, share * weight, direction)
        for (loss, weight, part, direction), share in zip(blocks, shares, strict=True)
    ]


def _shares(blocks: list[Block], budget: Array) -> list[Array]:
    """What each block may spend, in units of the common budget."""
    # Least losses may be negative (nll), so what is shared is the budget above them.
    floors = [loss.floor(part) / weight for loss, weight, part, _ in blocks]
    excess = np.maximum(budget - sum(floors), 0.0)
    if len(blocks) == 1:
        return [floors[0] + excess]
    slopes = [np.max(np.abs(direction), axis=-1) for _, _, _, direction in blocks]
    scale = np.max(np.broadcast_arrays(*slopes), axis=0)
    scale = np.where(scale > 0, scale, 1.0)

    def spend(log_price: Array) -> Array:
        price = scale * np.exp(log_price)
        paid = [
            loss.spend(part, price / weight, direction) / weight - floor
            for (loss, weight, part, direction), floor in zip(
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
    low, high = np.full(shape, -ENDS), np.full(shape, ENDS)
    count = int(np.clip(TOGETHER // max(low.size, 1), 1, MOST_PRICES))
    parts = (np.arange(count) + 1.0) / (count + 1)
    parts = parts.reshape(-1, *[1] * len(shape))
    while (high - low).max(initial=0.0) > NEAR * ENDS:
        prices = low + (high - low) * parts
        # Spending falls with the price: how many prices are too low.
        short = np.sum(spend(prices).sum(axis=0) > excess, axis=0)
        ends = np.concatenate([low[None], prices, high[None]])
        low, high = (
            np.take_along_axis(ends, (short + k)[None], axis=0)[0] for k in (0, 1)
        )
    extra = spend(high)
    # Whoever would spend more at a price a hair lower takes what is left.
    eager = np.argmax(spend(low) - extra, axis=0)
    left = np.maximum(excess - extra.sum(axis=0), 0.0)
    chosen = np.arange(len(extra)).reshape(-1, *[1] * len(shape)) == eager
    return np.asarray(extra + np.where(chosen, left, 0.0))


def mix_labels(
    blocks: list[Block], budget: float, numbers_worst: Callable[[float], Array]
) -> Array:
    """Worst case of the whole outcome vector, exact.

    For every label combination on the Pareto frontier of cost and gain, the numbers
    get the budget it leaves; the best total wins.

    Parameters
    ----------
    blocks : list of Block, each with its part of the direction, one of labels or more
    budget : float
    numbers_worst : worst case of the numeric blocks, one after another, at a budget
    """
    numbers = [block for block in blocks if not isinstance(block.loss, LabelLoss)]
    costs, gains = _label_costs(blocks)
    reserve = sum(float(loss.floor(part)) / w for loss, w, part, _ in numbers)
    # A numeric block without a least loss may leave any label affordable.
    most = sum(float(np.max(cost)) for cost in costs)
    limit = min(budget - reserve, most)
    paid, gained, choices = pareto_labels(gains, costs, limit)
    left = np.maximum(budget - paid, reserve)
    worst, reached = _numbers(numbers, left, numbers_worst)
    best = int(np.argmax(gained + reached))
    if reached[best] == -np.inf:
        raise EmptySet(
            "The sublevel set of Combined is empty: the budget is below the least loss "
            "of its numeric blocks."
        )
    return _assemble(blocks, costs, choices[best], [y[best] for y in worst])


def _numbers(
    numbers: list[Block], budgets: Array, numbers_worst: Callable[[float], Array]
) -> tuple[list[Array], Array]:
    """Worst case of each numeric block at each budget, shape (budgets, width), and
    the value reached, shape (budgets,): -inf where the budget is too small.
    """
    slopes = [direction for _, _, _, direction in numbers]
    if not numbers:
        return [], np.zeros(len(budgets))
    if all(loss.closed_form for loss, _, _, _ in numbers):
        worst = share_budget(numbers, budgets)
        return worst, np.asarray(sum(y @ v for v, y in zip(slopes, worst, strict=True)))
    rows, reached = [], []
    for budget in budgets:
        try:
            rows.append(numbers_worst(float(budget)))
            reached.append(float(np.concatenate(slopes) @ rows[-1]))
        except EmptySet:
            rows.append(np.zeros(sum(map(len, slopes))))
            reached.append(-np.inf)
    return split_blocks(np.stack(rows), tuple(slopes)), np.array(reached)


def _label_costs(blocks: list[Block]) -> tuple[list[Array], list[Array]]:
    """Weighted costs and gains of every label block, flattened over losses."""
    costs: list[Array] = []
    gains: list[Array] = []
    for loss, weight, part, direction in blocks:
        if isinstance(loss, LabelLoss):
            raw = loss.costs(part)
            costs += [cost / weight for cost in raw]
            gains += split_blocks(direction, raw)
    return costs, gains


def _assemble(
    blocks: list[Block], costs: list[Array], choice: Labels, worst: list[Array]
) -> Array:
    """Labels and numbers back in the order of the blocks."""
    hot = iter(np.eye(len(c))[j] for c, j in zip(costs, choice, strict=True))
    values = iter(worst)
    filled: list[Array] = []
    for loss, _, part, _ in blocks:
        if isinstance(loss, LabelLoss):
            filled += [next(hot) for _ in loss.costs(part)]
        else:
            filled.append(next(values))
    return np.concatenate(filled)
