"""Numbers and labels that share a budget, as slots of a compiled program.

The set is a union over combinations of labels: each costs something, and the numbers
have a set of their own at the budget that it leaves. A combination that is too dear
stands for the cheapest one once more, which changes no union; so one program serves
contexts at which different labels are possible.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..checks import Array
from .base import Slots
from .labels import LabelLoss
from .shared_budget import Block

#: Combinations of labels that are written out; more are left to cutting planes.
MOST_COMBINATIONS = 32


def label_slot(block: int, combination: int) -> str:
    """The slot with the labels of a block, one-hot, in a combination.

    Examples
    --------
    >>> label_slot(1, 0)
    '1.labels0'
    """
    return f"{block}.labels{combination}"


def budgets_left(slots: Slots) -> list[Any]:
    """What each combination leaves to the numbers, above their least losses."""
    names = (f"left{number}.budget" for number in range(len(slots)))
    return [slots[name] for name in names if name in slots]


def count_combinations(blocks: list[Block]) -> float:
    """Number of combinations of labels; as a float, it has no largest value."""
    counts = [cost.shape[-1] for block in _labelled(blocks) for cost in _costs(block)]
    return float(np.prod(counts, dtype=float))


def label_slots(blocks: list[Block], above: Array) -> Slots:
    """The slots of every combination.

    Parameters
    ----------
    blocks : all of a loss, numbers and labels
    above : budget above the least loss, shape (...)
    """
    paid, hot = _combinations(blocks)
    dearer = paid - np.min(paid, axis=-1, keepdims=True)
    number = np.arange(paid.shape[-1])
    cheapest = np.argmin(paid, axis=-1)[..., None]
    each = np.where(dearer <= above[..., None], number, cheapest)
    left = above[..., None] - np.take_along_axis(dearer, each, axis=-1)
    slots: Slots = {f"left{n}.budget": left[..., n] for n in number.tolist()}
    for k, own in hot.items():
        slots |= {label_slot(k, n): own[each[..., n]] for n in number.tolist()}
    return slots


def _labelled(blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if isinstance(block.loss, LabelLoss)]


def _costs(block: Block) -> tuple[Array, ...]:
    """Cost of each class in units of the budget, (..., K) for each block of labels."""
    assert isinstance(block.loss, LabelLoss)
    return tuple(cost / block.weight for cost in block.loss.costs(block.prediction))


def _combinations(blocks: list[Block]) -> tuple[Array, dict[int, Array]]:
    """What every combination of labels costs, shape (..., L), and for each block of
    labels the combinations one-hot, (L, width).
    """
    each = {k: _costs(b) for k, b in enumerate(blocks) if isinstance(b.loss, LabelLoss)}
    costs = [cost for own in each.values() for cost in own]
    sizes = [cost.shape[-1] for cost in costs]
    chosen = np.array(list(product(*(range(size) for size in sizes))))
    paid = sum(cost[..., chosen[:, j]] for j, cost in enumerate(costs))
    hot = [np.eye(size)[chosen[:, j]] for j, size in enumerate(sizes)]
    ends = np.cumsum([len(own) for own in each.values()]).tolist()
    parts = {
        k: np.concatenate(hot[end - len(own) : end], axis=1)
        for (k, own), end in zip(each.items(), ends, strict=True)
    }
    return np.asarray(paid), parts
