"""One budget shared by labels and numbers, at one context."""

from typing import Any

import numpy as np

from ..checks import Array
from ..label_oracle import pareto_labels
from .labels import LabelLoss, split_blocks
from .shared_budget import share_budget


def mix_labels(blocks: list[Any], budget: float) -> Array:
    """Worst case of the whole outcome vector, exact.

    For every label combination on the Pareto frontier of cost and gain, the numbers
    get the budget it leaves; the best total wins.

    Parameters
    ----------
    blocks : list of (loss, weight, prediction, direction), at least one of labels
    budget : float
    """
    labels = [block for block in blocks if isinstance(block[0], LabelLoss)]
    numbers = [block for block in blocks if not isinstance(block[0], LabelLoss)]
    costs, gains = _label_costs(labels)
    reserve = sum(float(loss.floor(said)) / w for loss, w, said, _ in numbers)
    paid, gained, choices = pareto_labels(gains, costs, budget - reserve)
    worst = _numbers(numbers, np.maximum(budget - paid, reserve))
    pairs = zip(numbers, worst, strict=True)
    reached = gained + sum(y @ v for (_, _, _, v), y in pairs)
    best = int(np.argmax(reached))
    return _assemble(blocks, costs, choices[best], [y[best] for y in worst])


def _numbers(numbers: list[Any], budgets: Array) -> list[Array]:
    """Worst case of each numeric block at each budget, shape (budgets, width)."""
    if not numbers:
        return []
    if all(loss.closed_form for loss, _, _, _ in numbers):
        return share_budget(numbers, budgets)
    solved = [share_budget(numbers, budget) for budget in budgets]
    return [np.stack(rows) for rows in zip(*solved, strict=True)]


def _label_costs(labels: list[Any]) -> tuple[list[Array], list[Array]]:
    """Weighted costs and gains of every label block, flattened over losses."""
    costs: list[Array] = []
    gains: list[Array] = []
    for loss, weight, said, direction in labels:
        raw = loss.costs(said)
        costs += [cost / weight for cost in raw]
        gains += split_blocks(direction, raw)
    return costs, gains


def _assemble(
    blocks: list[Any], costs: list[Array], choice: Any, worst: list[Array]
) -> Array:
    """Labels and numbers back in the order of the blocks."""
    hot = iter(np.eye(len(c))[j] for c, j in zip(costs, choice, strict=True))
    values = iter(worst)
    filled: list[Array] = []
    for loss, _, said, _ in blocks:
        if isinstance(loss, LabelLoss):
            filled += [next(hot) for _ in said.values]
        else:
            filled.append(next(values))
    return np.concatenate(filled)
