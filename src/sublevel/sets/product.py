"""Products: independent blocks of components, each in a set of its own.

{ (y_1, ..., y_k) : y_i in set_i },   support(v) = sum_i support_i(v_i).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Array, BoolArray
from ..conic.program import Indices
from ..deferred import cp
from .base import UncertaintySet
from .members import as_sets

#: Most outcomes that are listed one by one.
MOST_LISTED = 20_000


@dataclass(frozen=True, eq=False)
class Product(UncertaintySet):
    """Outcomes made of consecutive blocks, each in its own set.

    Parameters
    ----------
    sets : sequence of uncertainty sets

    Examples
    --------
    >>> from sublevel.sets import Box, Ellipsoid
    >>> U = Product([Box([0.0], [1.0]), Ellipsoid([0.0, 0.0], radius=2.0)])
    >>> U.dim, U.support([1.0, 0.0, 3.0])
    (3, 7.0)
    """

    sets: tuple[UncertaintySet, ...]

    if TYPE_CHECKING:

        def __init__(self, sets: Iterable[UncertaintySet]) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", as_sets("Product", self.sets))

    @property
    def dim(self) -> int:
        return sum(member.dim for member in self.sets)

    @property
    def is_bounded(self) -> bool:
        return all(member.is_bounded for member in self.sets)

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        ends = np.cumsum([member.dim for member in self.sets])
        return [
            condition
            for member, end in zip(self.sets, ends, strict=True)
            for condition in member.conditions(outcome[end - member.dim : end])
        ]

    def bounds(self) -> tuple[Array, Array]:
        lower, upper = zip(*(member.bounds() for member in self.sets), strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def _blocks(self, array: Array) -> list[Array]:
        ends = np.cumsum([member.dim for member in self.sets])
        return np.split(array, ends[:-1], axis=-1)

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        blocks = zip(self.sets, self._blocks(outcomes), strict=True)
        inside = [member.membership(block, tol) for member, block in blocks]
        return np.asarray(np.all(inside, axis=0))

    def maximiser(self, direction: Array) -> Array:
        blocks = zip(self.sets, self._blocks(direction), strict=True)
        return np.concatenate([member.maximiser(block) for member, block in blocks])

    def maximum(self, direction: Array) -> float:
        blocks = zip(self.sets, self._blocks(direction), strict=True)
        return float(sum(member.maximum(block) for member, block in blocks))

    def blocks(self) -> Indices:
        numbers, start = [], 0
        for member in self.sets:
            numbers.append(start + member.blocks())
            start += member.dim
        return np.concatenate(numbers)

    def corners(self, most: int) -> Array | None:
        lists = [member.corners(most) for member in self.sets]
        tables = [rows for rows in lists if rows is not None]
        if len(tables) < len(lists) or prod(map(len, tables)) > most:
            return None
        return np.array([np.concatenate(rows) for rows in product(*tables)])

    def hull_basis(self) -> Array:
        from scipy.linalg import block_diag

        return np.asarray(block_diag(*(member.hull_basis() for member in self.sets)))

    def interior_point(self) -> Array:
        return self._joined(lambda member: member.interior_point())

    def _joined(self, point: Callable[[UncertaintySet], Array]) -> Array:
        return np.concatenate([point(member) for member in self.sets], axis=-1)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        return self._joined(lambda member: member.draw(size, rng))

    def measure(self) -> float:
        return prod(member.measure() for member in self.sets)

    def listed(self) -> Array | None:
        lists = [member.listed() for member in self.sets]
        tables = [rows for rows in lists if rows is not None]
        if len(tables) < len(lists) or prod(map(len, tables)) > MOST_LISTED:
            return None
        return np.array([np.concatenate(rows) for rows in product(*tables)])

    def parts(self) -> tuple[UncertaintySet, ...]:
        choices = [member.parts() for member in self.sets]
        if all(len(choice) == 1 for choice in choices):
            return (self,)
        return tuple(Product(choice) for choice in product(*choices))
