"""Lists of partial label choices, merged one block at a time.

At a price u of the room, a class loses  max_j (gain_j - u excess_j) - (gain - u excess)
against the best of its block. The losses of a choice add up, and only choices that lose
little in total can beat one at hand. Lists are kept short by that, by the room, and by
dropping pairs of cost and gain that another pair dominates (Nemhauser & Ullmann, 1969).
"""

from math import inf
from typing import NamedTuple

import numpy as np

from ..checks import Array
from .table import Labels, LabelTable

#: Shorter lists are not searched for dominated pairs: it would cost more than it saves.
SHORT = 300


class Choices(NamedTuple):
    """Complete choices that were not dropped.

    Attributes
    ----------
    cost : array of shape (n,), their excess costs
    loss : array of shape (n,), what they lose at the price
    settled : class of each block that had only one left, shape (blocks,)
    free : the other blocks, in the order of the steps
    steps : for each of them, where each state is among all pairs of an earlier state
        and a class, and the classes
    """

    cost: Array
    loss: Array
    settled: Labels
    free: list[int]
    steps: list[tuple[Labels, Labels]]

    def one(self, state: int) -> Labels:
        """Labels of one choice, shape (blocks,)."""
        labels = self.settled.copy()
        for k, (pair, classes) in zip(self.free[::-1], self.steps[::-1], strict=True):
            state, chosen = divmod(int(pair[state]), classes.size)
            labels[k] = classes[chosen]
        return labels

    def labels(self, states: Labels) -> Labels:
        """Labels of some of the choices, shape (len(states), blocks)."""
        labels = np.tile(self.settled, (len(states), 1))
        for k, (pair, classes) in zip(self.free[::-1], self.steps[::-1], strict=True):
            states, chosen = np.divmod(pair[states], classes.size)
            labels[:, k] = classes[chosen]
        return labels


def promising(
    table: LabelTable, price: float, gap: float, most: int, short: int = SHORT
) -> Choices | None:
    """The choices within the room that lose at most `gap` at the price.

    Where lists are longer than `short`, choices that a cheaper one equals in gain are
    left out. None if a list would be longer than `most`.
    """
    reduced = table.gains - price * table.excess
    loss = reduced.max(axis=1, keepdims=True) - reduced
    kept = loss <= gap
    counts, settled = kept.sum(axis=1), kept.argmax(axis=1)
    # Blocks with one class left are settled; the others are merged, shortest first.
    order, alone = counts.argsort(kind="stable"), int((counts == 1).sum())
    free, at = order[alone:].tolist(), (table.costs.starts + settled)[order[:alone]]
    # Costs and losses together, shape (2, ...): half as many small array operations.
    entries = np.array((table.excess, loss))
    states = entries.reshape(2, -1).take(at, axis=1).sum(axis=1, keepdims=True)
    steps = []
    for k in free:
        classes = kept[k].nonzero()[0]
        if states.shape[1] * classes.size > most:
            return None
        more = entries[:, k].take(classes, axis=1)
        states = (states[:, :, None] + more[:, None, :]).reshape(2, -1)
        pair = ((states[0] <= table.room) & (states[1] <= gap)).nonzero()[0]
        if pair.size > short:
            cost, lost = states.take(pair, axis=1)
            pair = pair[undominated(cost, price * cost - lost)]
        states = states.take(pair, axis=1)
        steps.append((pair, classes))
    return Choices(states[0], states[1], settled, free, steps)


def undominated(costs: Array, gains: Array) -> Labels:
    """Positions, by increasing cost, of pairs that no cheaper pair equals in gain.

    Examples
    --------
    >>> undominated(np.array([2.0, 1.0, 3.0]), np.array([0.7, 0.5, 0.6]))
    array([1, 0])
    """
    order = np.lexsort((-gains, costs))
    before = np.maximum.accumulate(np.concatenate(([-inf], gains[order][:-1])))
    return order[gains[order] > before]
