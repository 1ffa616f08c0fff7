"""Intersections: outcomes that are in every one of several sets.

An ellipsoid with a box combines the best of both: near-ellipsoid worst cases for
dense directions, near-box worst cases for sparse ones. The support is at most the
least of the members' supports.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..checks import Array, BoolArray
from ..conic.maximise import maximise
from ..conic.program import Indices
from ..deferred import cp
from ..errors import EmptySet, InvalidParameter
from .base import TOLERANCE, UncertaintySet
from .members import SetsOfOneDim, is_empty
from .union import Union


@dataclass(frozen=True, eq=False, init=False)
class Intersection(SetsOfOneDim):
    """Outcomes that are in every member.

    Parameters
    ----------
    sets : sequence of uncertainty sets of equal dimension
        Nested intersections are flattened.

    Examples
    --------
    >>> from sublevel.sets import Box, Finite
    >>> U = Finite([[0.0, 0.0], [2.0, 2.0]]) & Box([-1.0, -1.0], [1.0, 1.0])
    >>> U.worst_case([1.0, 1.0])
    array([0., 0.])
    """

    @property
    def is_bounded(self) -> bool:
        return any(member.is_bounded for member in self.sets) or super().is_bounded

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        return [c for member in self.sets for c in member.conditions(outcome)]

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        inside = [member.membership(outcomes, tol) for member in self.sets]
        return np.asarray(np.all(inside, axis=0))

    def maximiser(self, direction: Array) -> Array:
        listed = self.listed()
        if listed is not None:
            self.require_nonempty(len(listed))
            return np.array(listed[int(np.argmax(listed @ direction))])
        if len(self.parts()) > 1:
            return self._as_union().maximiser(direction)
        shift, scale = self._frame()
        unit = cp.Variable(self.dim)
        conditions = self.conditions(shift + cp.multiply(scale, unit))
        if _is_discrete(conditions) and not all(map(_is_linear, conditions)):
            raise InvalidParameter(
                "Intersection(sets=...) must not combine many labels or points with a "
                "set that is not polyhedral: no open-source solver takes both. Use "
                "LabelSet.relaxation(), or a Box or Polytope for the other set."
            )
        best = maximise(scale * direction, unit, conditions, "Intersection")
        return np.asarray(shift + scale * best)

    def _frame(self) -> tuple[Array, Array]:
        """Middle and half-widths of a bounded member: the units a solver sees."""
        for member in self.sets:
            lower, upper = member.bounds()
            if np.isfinite(lower).all() and np.isfinite(upper).all():
                reach = (upper - lower) / 2
                widest = float(reach.max()) or 1.0
                return (lower + upper) / 2, np.where(reach > 0, reach, widest)
        return np.zeros(self.dim), np.ones(self.dim)

    def blocks(self) -> Indices:
        numbers = self.sets[0].blocks()
        for member in self.sets[1:]:
            for block in np.unique(other := member.blocks()).tolist():
                joined = np.isin(numbers, numbers[other == block])
                numbers = np.where(joined, numbers[other == block].min(), numbers)
        return numbers

    def hull_basis(self) -> Array:
        if self.listed() is not None:
            return np.zeros((self.dim, 0))
        # A direction is common to all hulls if no member's complement sees it.
        hulls = [member.hull_basis() for member in self.sets]
        misses = [np.eye(self.dim) - basis @ basis.T for basis in hulls]
        values, axes = np.linalg.eigh(np.sum(misses, axis=0))
        return np.asarray(axes[:, values < 1e-9])

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        listed = self.listed()
        if listed is not None:
            self.require_nonempty(len(listed))
            return np.asarray(rng.choice(listed, size, axis=0))
        if len(self.parts()) > 1:
            return self._as_union().draw(size, rng)
        return super().draw(size, rng)

    def measure(self) -> float:
        listed = self.listed()
        if listed is not None:
            return float(len(listed))
        if len(self.parts()) > 1:
            return self._as_union().measure()
        return super().measure()

    def listed(self) -> Array | None:
        for member in self.sets:
            rows = member.listed()
            if rows is not None:
                return np.asarray(rows[self.membership(rows, TOLERANCE)])
        return None

    def parts(self) -> tuple[UncertaintySet, ...]:
        choices = [member.parts() for member in self.sets]
        if all(len(choice) == 1 for choice in choices):
            return (self,)
        return tuple(Intersection(choice) for choice in product(*choices))

    def _as_union(self) -> Union:
        """The same outcomes as a union of intersections, the empty ones left out."""
        parts = tuple(part for part in self.parts() if not is_empty(part))
        self.require_nonempty(len(parts))
        return Union(parts)

    def require_nonempty(self, count: int) -> None:
        """Raise EmptySet where there are no outcomes, or no parts, to choose from."""
        if count == 0:
            raise EmptySet(
                "Intersection is empty: no outcome is in all of its members."
            )


def _is_discrete(conditions: list[cp.Constraint]) -> bool:
    variables = (v for condition in conditions for v in condition.variables())
    return any(v.attributes["boolean"] for v in variables)


def _is_linear(condition: cp.Constraint) -> bool:
    """Whether a mixed-integer linear solver takes the constraint."""
    return (
        isinstance(condition, cp.constraints.Equality | cp.constraints.Inequality)
        and condition.expr.is_pwl()
    )
