"""Gains and costs of labels laid out for the oracles: one row a block of classes.

Costs are measured above each block's least cost. What remains of the budget is the
room, never negative, so the least-cost labels are always affordable.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, nan

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray
from ..errors import InvalidParameter

Labels = npt.NDArray[np.intp]

#: Relative slack of the budget, the same as that of membership in a set.
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class LabelCosts:
    """The part of a multiple-choice knapsack that stays when the gains change.

    Parameters
    ----------
    present : booleans of shape (blocks, classes)
        Whether there is such a class.
    usable : booleans of shape (blocks, classes)
        Whether it can be afforded.
    excess : array of shape (blocks, classes)
        Cost above the block's least cost; zero where the class is not usable.
    room : float
        What may be spent above the least costs, tolerance included.
    least : float
        Sum of the least costs.

    Examples
    --------
    >>> LabelCosts.of([[1.0, 1.5], [2.0]], budget=3.1).table(np.array([5.0, 6.0, 7.0]))
    LabelTable(gains=array([[  5., -inf], [  7., -inf]]), ...)
    """

    present: BoolArray
    usable: BoolArray
    excess: Array
    room: float
    least: float

    @classmethod
    def of(
        cls, costs: Iterable[npt.ArrayLike], budget: float, tol: float = TOLERANCE
    ) -> "LabelCosts":
        """Check the costs of an oracle and lay them out."""
        present, cost = _rectangle("costs", costs, inf)
        excess, room, least = excess_costs(cost, budget, tol)
        usable = present & (excess <= room)
        return cls(present, usable, np.where(usable, excess, 0.0), room, least)

    def table(self, gains: Array) -> "LabelTable":
        """The knapsack with gains in the order of an outcome, shape (dim,)."""
        entries, places = self._usable
        laid = np.full(self.excess.shape, -inf)
        laid.put(places, gains.take(entries))
        return LabelTable(laid, self)

    @cached_property
    def unit(self) -> float:
        """The number c if every excess cost is 0 or c, otherwise nan."""
        top = float(self.excess.max())
        return top if (self.free | (self.excess == top)).all() else nan

    @cached_property
    def free(self) -> BoolArray:
        """Which classes cost nothing above the least, shape (blocks, classes)."""
        return np.asarray(self.excess == 0.0)

    @cached_property
    def starts(self) -> Labels:
        """Where each block starts among all entries, shape (blocks,)."""
        blocks, classes = self.excess.shape
        return np.arange(0, blocks * classes, classes)

    @cached_property
    def _usable(self) -> tuple[Labels, Labels]:
        """Usable classes among all classes, and their places in the rectangle."""
        entries = np.flatnonzero(self.usable[self.present])
        return entries, np.flatnonzero(self.usable)


@dataclass(frozen=True, eq=False)
class LabelTable:
    """A multiple-choice knapsack as rectangular arrays of shape (blocks, classes).

    Parameters
    ----------
    gains : array of shape (blocks, classes)
        Minus infinity where a class is absent or cannot be afforded.
    costs : LabelCosts

    Attributes
    ----------
    both : array of shape (2, blocks * classes)
        Excess costs and gains, for sums in one go.

    Examples
    --------
    >>> table = LabelTable.of([[0.0, 3.0]], [[1.0, 1.5]], budget=2.0)
    >>> table.excess
    array([[0. , 0.5]])
    """

    gains: Array
    costs: LabelCosts
    both: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        both = np.array((self.excess, self.gains)).reshape(2, -1)
        object.__setattr__(self, "both", both)

    @classmethod
    def of(
        cls,
        gains: Iterable[npt.ArrayLike],
        costs: Iterable[npt.ArrayLike],
        budget: float,
        tol: float = TOLERANCE,
    ) -> "LabelTable":
        """Check the arguments of an oracle and lay them out."""
        present, gain = _rectangle("gains", gains, -inf)
        shared = LabelCosts.of(costs, budget, tol)
        if not np.array_equal(present, shared.present):
            raise InvalidParameter(
                "best_labels(gains=..., costs=...) must have the same number of "
                "classes in every block."
            )
        if not np.isfinite(gain[present]).all():
            raise InvalidParameter("best_labels(gains=...) must be finite.")
        return shared.table(gain[present])

    @property
    def excess(self) -> Array:
        """Cost above the block's least cost."""
        return self.costs.excess

    @property
    def room(self) -> float:
        """What may be spent above the least costs."""
        return self.costs.room

    @property
    def least(self) -> float:
        """Sum of the least costs."""
        return self.costs.least

    def free(self) -> Labels:
        """The best labels of excess cost zero."""
        return np.asarray(np.where(self.costs.free, self.gains, -inf).argmax(axis=1))

    def gain(self, labels: Labels) -> float:
        """Sum of the gains of one class in each block."""
        return float(self.gains.take(self.costs.starts + labels).sum())

    def cost(self, labels: Labels) -> float:
        """Sum of the excess costs of one class in each block."""
        return float(self.excess.take(self.costs.starts + labels).sum())

    def totals(self, labels: Labels) -> tuple[float, float]:
        """Both of these."""
        cost, gain = self.both.take(self.costs.starts + labels, axis=1).sum(axis=1)
        return float(cost), float(gain)


def excess_costs(
    costs: Array, budget: float, tol: float = TOLERANCE
) -> tuple[Array, float, float]:
    """Costs above each row's least, the room left for them, and the sum of the least.

    Infinite costs mark classes that are absent. With an infinite budget nothing has a
    cost; below the sum of the least costs the room is zero, never negative.

    Examples
    --------
    >>> excess_costs(np.array([[1.0, 3.0], [0.5, 0.5]]), budget=2.5, tol=0.0)
    (array([[0., 2.], [0., 0.]]), 1.0, 1.5)
    """
    if np.isnan(budget):
        raise InvalidParameter("best_labels(budget=...) must be a number, got nan.")
    lowest = costs.min(axis=1)
    least = float(lowest.sum())
    if not np.isfinite(least):
        block = int(np.argmin(np.isfinite(lowest)))
        raise InvalidParameter(
            f"best_labels(costs=...) must have a finite cost in every block, got none "
            f"in block {block}."
        )
    if budget == inf:
        return np.zeros_like(costs), 0.0, least
    room = float(_room(budget, lowest, tol))
    return costs - lowest[:, None], room, least


def are_affordable(
    costs: Sequence[Array], budgets: npt.ArrayLike, outcomes: Array, tol: float
) -> BoolArray:
    """Whether each outcome is one label a block, at a total cost within the budget.

    Parameters
    ----------
    costs : one array of shape (classes,), or (n, classes), a block
        An infinite cost excludes the class, unless the budget is infinite.
    budgets : float, or array of shape (n,)
        Below the sum of the least costs, the least-cost labels are affordable.
    outcomes : array of shape (n, sum of classes)
    tol : float
        Relative slack of the budget, and slack of an entry that is to be 0 or 1.

    Returns
    -------
    boolean array of shape (n,)

    Examples
    --------
    >>> costs, outcomes = [np.array([0.1, 2.0])], np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> are_affordable(costs, 1.0, outcomes, tol=0.0)
    array([ True, False])
    """
    hot = outcomes > 0.5
    whole = (np.abs(outcomes - hot) <= tol).all(axis=-1)
    ends = np.cumsum([block.shape[-1] for block in costs])[:-1]
    single = [block.sum(axis=-1) == 1 for block in np.split(hot, ends, axis=-1)]
    lowest = np.stack([block.min(axis=-1) for block in costs], axis=-1)
    excess = [block - lowest[..., [k]] for k, block in enumerate(costs)]
    spent = np.where(hot, np.concatenate(excess, axis=-1), 0.0).sum(axis=-1)
    endless = np.asarray(budgets) == inf
    fits = spent <= _room(np.where(endless, 0.0, budgets), lowest, tol)
    return np.asarray(whole & np.all(single, axis=0) & (fits | endless))


def _room(budget: npt.ArrayLike, lowest: Array, tol: float) -> Array:
    """What may be spent above the least costs, shape (...), those being (..., blocks).

    The slack is relative to the larger of the budget and the least costs.
    """
    given, least = np.asarray(budget, dtype=float), lowest.sum(axis=-1)
    size = np.maximum(
        np.where(given > least, np.abs(given), 0.0), np.abs(lowest).sum(axis=-1)
    )
    return np.asarray(np.maximum(given - least, 0.0) + tol * size)


def _rectangle(
    name: str, blocks: Iterable[npt.ArrayLike], fill: float
) -> tuple[BoolArray, Array]:
    """Blocks of different lengths as one array, and where it is filled."""
    try:
        rows = [np.asarray(block, dtype=float) for block in blocks]
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"best_labels({name}=...) must be numeric, one vector a block: {error}."
        ) from error
    if not rows or any(row.ndim != 1 or row.size == 0 for row in rows):
        raise InvalidParameter(
            f"best_labels({name}=...) must be one non-empty vector a block, got "
            f"shapes {[row.shape for row in rows]}."
        )
    sizes = np.array([row.size for row in rows])
    values = np.concatenate(rows)
    if np.isnan(values).any():
        raise InvalidParameter(f"best_labels({name}=...) must be free of NaN.")
    present = np.arange(sizes.max()) < sizes[:, None]
    array = np.full(present.shape, fill)
    array[present] = values
    return present, array
