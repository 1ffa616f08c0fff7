"""Sets of labels: one class a block, at a total cost within a budget.

An outcome is the concatenation of one one-hot vector a block. With costs
-log(probability) these are the sublevel sets of the cross-entropy, with 2 (1 -
probability) those of the hinge loss, with 0 for the top class and 1 for the others
those of the 0-1 loss. Coordinates that are not labels are not members: the set is
the integer one, the smallest that covers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_numbers, as_vector, briefly
from ..deferred import cp
from ..errors import InvalidParameter, UnseenClass
from ..labels import LabelCosts, Labels, are_affordable, best_of
from .base import UncertaintySet
from .label_costs import LabelCount, LabelPrices
from .polytope import Polytope

#: Names of the classes of each block.
Classes = tuple[tuple[Hashable, ...], ...]

#: Most members that are listed one by one.
MOST_LISTED = 20_000
#: Most labels of a block, and blocks, of which a set is printed.
MOST_SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class LabelSet(UncertaintySet):
    """Label combinations whose total cost is within a budget.

    Parameters
    ----------
    costs : tuple of arrays of shape (classes,), one a block
        Cost of each class; inf excludes it.
    budget : float
        Largest total cost. It is raised to the sum of each block's least cost if it
        is below, so the set is never empty: adding the likeliest labels can only
        increase coverage. With inf every combination is a member.
    classes : tuple of sequences, one a block, optional
        Names of the classes; by default 0, 1, 2, ...

    Examples
    --------
    >>> U = LabelSet(costs=([0.1, 2.3], [0.7, 0.7, 3.0]), budget=1.0)
    >>> U.labels()
    ((0,), (0, 1))
    >>> U.worst_case([0.0, 1.0, 0.0, 2.0, 5.0])
    array([1., 0., 0., 1., 0.])
    >>> U.volume(), U.effective_budget
    (2.0, 1.0)
    >>> pets = LabelSet(([0.1, 0.9], [0.2, 0.3]), 9.0, (["cat", "dog"], ["in", "out"]))
    >>> pets.encode(["dog", "in"])
    array([0., 1., 1., 0.])
    >>> pets.decode([0.0, 1.0, 1.0, 0.0])
    ('dog', 'in')
    >>> pets.relaxation().dim
    4
    """

    costs: tuple[Array, ...]
    budget: float
    classes: Classes = None  # type: ignore[assignment]

    if TYPE_CHECKING:

        def __init__(
            self,
            costs: Sequence[npt.ArrayLike] | Array,
            budget: float,
            classes: Iterable[Iterable[Hashable]] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        costs = as_costs(self.costs)
        budget = float(as_vector("LabelSet", "budget", self.budget, 1, False)[0])
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "classes", as_classes(self.classes, costs))

    @cached_property
    def dim(self) -> int:
        """Number of entries of an outcome."""
        return sum(self._prices.sizes)

    @property
    def is_bounded(self) -> bool:
        return True

    @property
    def effective_budget(self) -> float:
        """The budget, or the sum of the least costs if that is larger."""
        return max(self.budget, float(sum(cost.min() for cost in self.costs)))

    def labels(self) -> tuple[tuple[Hashable, ...], ...]:
        """The classes of each block that occur in some member."""
        ends = np.cumsum(self._prices.sizes)[:-1]
        blocks = zip(self.classes, np.split(self._prices.usable(), ends), strict=True)
        return tuple(
            tuple(map(_plain, compress(names, usable))) for names, usable in blocks
        )

    def encode(self, labels: npt.ArrayLike | Sequence[object]) -> Array:
        """One-hot outcomes of labels, shape (blocks,) or (n, blocks)."""
        names, blocks = np.asarray(labels, dtype=object), len(self.costs)
        if names.ndim not in (1, 2) or names.shape[-1] != blocks:
            raise InvalidParameter(
                f"LabelSet.encode(labels) must be of shape ({blocks},) or "
                f"(n, {blocks}), got shape {names.shape}."
            )
        rows = one_hot(
            indices_of(self.classes, np.atleast_2d(names)), self._prices.sizes
        )
        return rows[0] if names.ndim == 1 else rows

    def decode(
        self, outcomes: npt.ArrayLike
    ) -> tuple[Hashable, ...] | list[tuple[Hashable, ...]]:
        """Labels of one-hot outcomes: a tuple, or a list of tuples for many."""
        array = as_numbers("LabelSet.decode", "outcomes", outcomes)
        if array.ndim not in (1, 2) or array.shape[-1] != self.dim:
            raise InvalidParameter(
                f"LabelSet.decode(outcomes) must be of shape ({self.dim},) or "
                f"(n, {self.dim}), got shape {array.shape}."
            )
        names = names_of(self.classes, np.atleast_2d(array))
        return names[0] if array.ndim == 1 else names

    def relaxation(self) -> Polytope:
        """The convex set { y >= 0, block sums 1, costs'y <= effective budget }.

        It contains every member and more, so protecting against it is safe, and its
        worst cases are linear programs.
        """
        return Polytope(*self._prices.inequalities())

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        """Exact, with one boolean variable a class: for mixed-integer solvers."""
        label = cp.Variable(self.dim, boolean=True)
        return [
            outcome == label,
            self._prices.sums() @ label == 1,
            self._prices.shares() @ label <= 1,
            label <= self._prices.usable().astype(float),
        ]

    def bounds(self) -> tuple[Array, Array]:
        usable = self._prices.usable().astype(float)
        alone = np.repeat(self._prices.sums() @ usable, self._prices.sizes) == 1
        return np.where(alone, usable, 0.0), usable

    def __repr__(self) -> str:
        labels = self.labels()
        shown = "; ".join(_listed(block) for block in labels[:MOST_SHOWN])
        more = "; ..." if len(labels) > MOST_SHOWN else ""
        return f"LabelSet({shown}{more}; budget={self.budget:.6g})"

    @property
    def _prices(self) -> LabelPrices:
        return LabelPrices(self.costs, self.budget)

    @cached_property
    def _table(self) -> LabelCosts:
        """What all worst cases share."""
        return LabelCosts.of(self.costs, self.budget)

    @cached_property
    def _starts(self) -> Labels:
        """Where each block starts in an outcome, shape (blocks,)."""
        sizes = np.array(self._prices.sizes)
        return np.asarray(np.cumsum(sizes) - sizes)

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        return are_affordable(self.costs, self.budget, outcomes, tol)

    def maximiser(self, direction: Array) -> Array:
        outcome = np.zeros(self.dim)
        outcome[self._starts + best_of(self._table.table(direction))] = 1.0
        return outcome

    def hull_basis(self) -> Array:
        return np.zeros((self.dim, 0))

    def interior_point(self) -> Array:
        return self.maximiser(np.zeros(self.dim))

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        labels = LabelCount(*self._prices.table()).draw(size, rng)
        return one_hot(labels, self._prices.sizes)

    def measure(self) -> float:
        return LabelCount(*self._prices.table()).total()

    def listed(self, most: int | None = None) -> Array | None:
        labels = self._prices.listed(MOST_LISTED if most is None else most)
        return None if labels is None else one_hot(labels, self._prices.sizes)


def _plain(name: Hashable) -> Hashable:
    """A label without NumPy's type around it, which prints at length."""
    return name.item() if isinstance(name, np.generic) else name


def _listed(labels: Sequence[Hashable]) -> str:
    """The labels of a block, the first of them where they are many."""
    more = f" or {len(labels) - MOST_SHOWN} more" if len(labels) > MOST_SHOWN else ""
    return " or ".join(str(label) for label in labels[:MOST_SHOWN]) + more


def as_costs(value: object) -> tuple[Array, ...]:
    """One read-only vector of costs a block, each with a finite entry.

    Examples
    --------
    >>> as_costs([[0.0, 1.0], [2.0]])
    (array([0., 1.]), array([2.]))
    """
    if not isinstance(value, Sequence | np.ndarray) or len(value) == 0:
        raise InvalidParameter(
            "LabelSet(costs=...) must be a non-empty sequence of vectors, one a "
            f"block, got {value!r}."
        )
    if any(np.isscalar(block) for block in value):
        raise InvalidParameter(
            "LabelSet(costs=...) must be one vector of costs a block, got numbers. "
            "For a single block, pass (costs,)."
        )
    blocks = [
        as_vector("LabelSet", f"costs[{k}]", block, finite=False)
        for k, block in enumerate(value)
    ]
    for k, block in enumerate(blocks):
        if not np.isfinite(block).any() or (block == -np.inf).any():
            raise InvalidParameter(
                f"LabelSet(costs[{k}]=...) must have a finite cost and none of -inf, "
                f"got {block.tolist()}."
            )
    return tuple(blocks)


def as_classes(
    value: Iterable[Iterable[Hashable]] | None, costs: tuple[Array, ...]
) -> Classes:
    """Names of the classes of each block; by default 0, 1, 2, ...

    Examples
    --------
    >>> as_classes(None, (np.zeros(2), np.zeros(1)))
    ((0, 1), (0,))
    """
    if value is None:
        return tuple(tuple(range(cost.size)) for cost in costs)
    try:
        names = tuple(tuple(block) for block in value)
        twice = any(len(set(block)) < len(block) for block in names)
    except TypeError as error:
        raise InvalidParameter(
            "LabelSet(classes=...) must be a list of names for each block, got "
            f"{briefly(value)}: {error}."
        ) from error
    sizes = tuple(cost.size for cost in costs)
    if tuple(len(block) for block in names) != sizes:
        raise InvalidParameter(
            f"LabelSet(classes=...) must name {sizes} classes, as many as there are "
            f"costs in each block, got {tuple(len(block) for block in names)}."
        )
    if twice:
        raise InvalidParameter(
            "LabelSet(classes=...) must be distinct within a block, got a name twice."
        )
    return names


def one_hot(indices: Labels, sizes: Sequence[int]) -> Array:
    """Outcomes of class indices, shape (n, blocks) -> (n, sum of sizes).

    Examples
    --------
    >>> one_hot(np.array([[1, 0]]), [2, 3])
    array([[0., 1., 1., 0., 0.]])
    """
    starts = np.cumsum(sizes) - np.asarray(sizes)
    outcomes = np.zeros((len(indices), sum(sizes)))
    np.put_along_axis(outcomes, indices + starts, 1.0, axis=1)
    return outcomes


def indices_of(
    classes: Classes, labels: npt.NDArray[np.object_] | Sequence[Sequence[Hashable]]
) -> Labels:
    """Class indices of rows of names, shape (n, blocks).

    Examples
    --------
    >>> indices_of((("cat", "dog"), (0, 1)), [["dog", 0]])
    array([[1, 0]])
    """
    places = [{name: j for j, name in enumerate(block)} for block in classes]
    indices = np.empty((len(labels), len(classes)), dtype=np.intp)
    for i, row in enumerate(labels):
        for k, name in enumerate(row):
            if name not in places[k]:
                raise UnseenClass(
                    f"LabelSet.encode(labels) must be classes of block {k}, "
                    f"{list(classes[k])}, got {name!r}."
                )
            indices[i, k] = places[k][name]
    return indices


def names_of(classes: Classes, outcomes: Array) -> list[tuple[Hashable, ...]]:
    """Names of the class of the largest entry in each block of each outcome.

    Examples
    --------
    >>> names_of((("cat", "dog"), (0, 1)), np.array([[0.0, 1.0, 1.0, 0.0]]))
    [('dog', 0)]
    """
    ends = np.cumsum([len(block) for block in classes])
    blocks = np.split(outcomes, ends[:-1], axis=1)
    tops = np.array([block.argmax(axis=1) for block in blocks]).T
    return [
        tuple(names[top] for names, top in zip(classes, row, strict=True))
        for row in tops
    ]
