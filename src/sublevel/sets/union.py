"""Unions: outcomes that are in at least one of several sets.

    support(v) = max_k support_k(v).

A constraint holds over a union if and only if it holds over each member, so a union
is protected against by taking its members one by one. Sets from several models, each
trained on other folds, are combined this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import NoReturn

import numpy as np

from ..checks import Array, BoolArray
from ..deferred import cp
from ..errors import InvalidParameter
from .base import TOLERANCE, UncertaintySet
from .members import SetsOfOneDim

#: Draws from each member with which overlaps are measured.
OVERLAP_DRAWS = 10_000


@dataclass(frozen=True, eq=False, init=False)
class Union(SetsOfOneDim):
    """Outcomes that are in at least one member.

    Parameters
    ----------
    sets : sequence of uncertainty sets of equal dimension
        Nested unions are flattened.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> U = Box([0.0], [1.0]) | Box([4.0], [5.0])
    >>> U.contains([[0.5], [2.0], [4.5]])
    array([ True, False,  True])
    >>> U.support([1.0])
    5.0
    """

    @property
    def is_bounded(self) -> bool:
        return all(member.is_bounded for member in self.sets)

    def conditions(self, outcome: cp.Expression) -> NoReturn:
        """A union is not convex, so it has no constraints of its own."""
        raise InvalidParameter(
            "Union has no CVXPY constraints of its own: a union is not convex. "
            "Protect against each member of Union.sets instead; that is the same."
        )

    def bounds(self) -> tuple[Array, Array]:
        lower, upper = zip(*(member.bounds() for member in self.sets), strict=True)
        return np.min(lower, axis=0), np.max(upper, axis=0)

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        inside = [member.membership(outcomes, tol) for member in self.sets]
        return np.asarray(np.any(inside, axis=0))

    def corners(self, most: int) -> Array | None:
        lists = [member.corners(most) for member in self.sets]
        tables = [rows for rows in lists if rows is not None]
        if len(tables) < len(lists) or sum(map(len, tables)) > most:
            return None
        return np.concatenate(tables)

    def maximiser(self, direction: Array) -> Array:
        worst = [member.maximiser(direction) for member in self.sets]
        return worst[int(np.argmax([direction @ outcome for outcome in worst]))]

    def maximum(self, direction: Array) -> float:
        return max(member.maximum(direction) for member in self.sets)

    def hull_basis(self) -> Array:
        bases = [member.hull_basis() for member in self.sets]
        if len({basis.shape[1] for basis in bases}) > 1:
            raise InvalidParameter(
                "Union(sets=...) must have members of one kind to be sampled or "
                "measured: their affine hulls have different dimensions "
                f"{[basis.shape[1] for basis in bases]}."
            )
        return bases[0]

    def interior_point(self) -> Array:
        return self.sets[0].interior_point()

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        listed = self.listed()
        if listed is not None:
            return np.asarray(rng.choice(listed, size, axis=0))
        weights = self._weights()
        kept = [np.empty((0, self.dim))]
        while (short := size - sum(map(len, kept))) > 0:
            # An outcome in c members is drawn c times as often: keep one in c.
            counts = rng.multinomial(2 * short + 10, weights)
            draws = np.concatenate(
                [s.draw(n, rng) for s, n in zip(self.sets, counts, strict=True)]
            )
            rng.shuffle(draws)
            keep = rng.uniform(size=len(draws)) * self._multiplicity(draws) < 1.0
            kept.append(draws[keep][:short])
        return np.concatenate(kept)

    def measure(self) -> float:
        listed = self.listed()
        if listed is not None:
            return float(len(listed))
        self.hull_basis()
        rng = np.random.default_rng(0)
        total = 0.0
        for member in self.sets:
            draws = member.draw(OVERLAP_DRAWS, rng)
            total += member.measure() * float(np.mean(1 / self._multiplicity(draws)))
        return total

    def listed(self) -> Array | None:
        lists = [member.listed() for member in self.sets]
        tables = [rows for rows in lists if rows is not None]
        if len(tables) < len(lists):
            return None
        return np.unique(np.concatenate(tables), axis=0)

    def parts(self) -> tuple[UncertaintySet, ...]:
        return tuple(chain.from_iterable(member.parts() for member in self.sets))

    def _weights(self) -> Array:
        """Share of each member in the sum of the volumes, shape (members,)."""
        self.hull_basis()
        volumes = np.array([member.measure() for member in self.sets])
        if volumes.sum() == 0:
            return np.full(len(volumes), 1 / len(volumes))
        return np.asarray(volumes / volumes.sum())

    def _multiplicity(self, outcomes: Array) -> Array:
        """In how many members each outcome is, at least one, shape (n,)."""
        inside = [member.membership(outcomes, TOLERANCE) for member in self.sets]
        return np.asarray(np.maximum(np.sum(inside, axis=0), 1.0))
