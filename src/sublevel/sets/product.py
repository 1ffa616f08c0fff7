"""Products: independent blocks of components, each in a set of its own.

{ (y_1, ..., y_k) : y_i in set_i },   support(v) = sum_i support_i(v_i).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", as_sets("Product", self.sets))

    @property
    def dim(self) -> int:
        return sum(member.dim for member in self.sets)

    @property
    def is_bounded(self) -> bool:
        return all(member.is_bounded for member in self.sets)

    def _constraints(self, outcome: cp.Expression) -> list[cp.Constraint]:
        ends = np.cumsum([member.dim for member in self.sets])
        return [
            condition
            for member, end in zip(self.sets, ends, strict=True)
            for condition in member._constraints(outcome[end - member.dim : end])
        ]

    def bounds(self) -> tuple[Array, Array]:
        lower, upper = zip(*(member.bounds() for member in self.sets), strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def _blocks(self, array: Array) -> list[Array]:
        ends = np.cumsum([member.dim for member in self.sets])
        return np.split(array, ends[:-1], axis=-1)

    def _contains(self, outcomes: Array, tol: float) -> np.ndarray[Any, Any]:
        blocks = zip(self.sets, self._blocks(outcomes), strict=True)
        inside = [member._contains(block, tol) for member, block in blocks]
        return np.asarray(np.all(inside, axis=0))

    def _worst_case(self, direction: Array) -> Array:
        blocks = zip(self.sets, self._blocks(direction), strict=True)
        return np.concatenate([member._worst_case(block) for member, block in blocks])

    def _support(self, direction: Array) -> float:
        blocks = zip(self.sets, self._blocks(direction), strict=True)
        return float(sum(member._support(block) for member, block in blocks))

    def _basis(self) -> Array:
        from scipy.linalg import block_diag

        return np.asarray(block_diag(*(member._basis() for member in self.sets)))

    def _interior(self) -> Array:
        return self._joined(lambda member: member._interior())

    def _joined(self, point: Callable[[UncertaintySet], Array]) -> Array:
        return np.concatenate([point(member) for member in self.sets], axis=-1)

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        return self._joined(lambda member: member._sample(size, rng))

    def _volume(self) -> float:
        return prod(member._volume() for member in self.sets)

    def listed(self) -> Array | None:
        lists = [member.listed() for member in self.sets]
        known = [rows for rows in lists if rows is not None]
        if len(known) < len(lists) or prod(map(len, known)) > MOST_LISTED:
            return None
        return np.array([np.concatenate(rows) for rows in product(*known)])

    def parts(self) -> tuple[UncertaintySet, ...]:
        choices = [member.parts() for member in self.sets]
        if all(len(choice) == 1 for choice in choices):
            return (self,)
        return tuple(Product(choice) for choice in product(*choices))
