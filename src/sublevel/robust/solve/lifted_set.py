"""The outcomes and what concave functions say of them, as one set.

{ (y, z) : y in base, z <= f(y) },  for directions that push z up, or not at all.

There the bound is tight, so the worst z is f(y). Downwards the set is unbounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.dual import support_of
from ...conic.maximise import maximise
from ...conic.program import Indices
from ...epigraph import Epigraph
from ...errors import EmptySet, NotRobustifiable, OutsideDomain
from ...sets import UncertaintySet
from ..judge.set_oracles import Region
from ..model.lifting import Lifted
from ..model.rows import UncertainRow
from ..model.uncertain import Key, key_name
from .support_bound import support_bound

#: Relative size up to which a number is rounding.
ROUNDING = 1e-9


def with_lifted(
    sets: Mapping[Key, Region], rows: Sequence[UncertainRow]
) -> dict[Key, Region]:
    """The sets, and those of the keys with lifted functions that rows see."""
    every = dict(sets)
    for row in rows:
        for key in row.slopes:
            if key not in every:
                every[key] = _lifted_set(key, sets)
    return every


def bends_outcome(rows: Sequence[UncertainRow]) -> bool:
    """Whether any row sees a lifted function of the outcome."""
    return any(isinstance(key[-1], Lifted) for row in rows for key in row.slopes)


@dataclass(frozen=True, eq=False, repr=False)
class LiftedSet(UncertaintySet):
    """A set with concave functions of its outcomes.

    Parameters
    ----------
    base : the set of the outcomes y
    key : the uncertain parameters that y is made of
    functions : the lifted functions, in the order of the entries of z

    Examples
    --------
    >>> import sublevel as sl
    >>> y = sl.Uncertain(2, name="y")
    >>> U = sl.sets.Box([1.0, 1.0], [3.0, 2.0])
    >>> lifted = LiftedSet(U, (y,), (Lifted(-cp.square(y - 2), (y,)),))
    >>> lifted.worst_case([0.0, 0.0, 1.0, 1.0]).round(4) + 0.0
    array([2., 2., 0., 0.])
    """

    base: UncertaintySet
    key: Key
    functions: tuple[Lifted, ...]

    @property
    def dim(self) -> int:
        return self.base.dim + sum(int(function.size) for function in self.functions)

    def __repr__(self) -> str:
        names = ", ".join(function.name() for function in self.functions)
        return f"LiftedSet({self.base!r}, {names})"

    def values(self, outcome: Array) -> Array:
        """What the functions say of one outcome: the vector z."""
        parts = _parts(self.key, self._within(outcome))
        with np.errstate(all="ignore"):
            values = [np.ravel(f.at(parts).value, order="F") for f in self.functions]
        return np.concatenate(values)

    def hypograph(
        self,
        outcome: cp.Expression,
        bounds: cp.Expression,
        entries: Indices | None = None,
    ) -> list[cp.Constraint]:
        """Constraints that say z is at most f(y), for some entries of z or all."""
        parts, conditions = _parts(self.key, outcome), []
        for parameter in self.key:
            if parameter.is_nonneg():
                # CVXPY may need the sign to see that the functions are concave.
                signed = cp.Variable(parameter.shape, nonneg=True)
                conditions.append(signed == parts[parameter.id])
                parts[parameter.id] = signed
        values = cp.hstack([cp.vec(f.at(parts), order="F") for f in self.functions])
        seen = values if entries is None else values[entries]
        return [*conditions, bounds <= seen]

    def joined(self, outcomes: Array) -> Array:
        """Outcomes y, shape (n, m), with what the functions say: shape (n, dim)."""
        return np.reshape([self._one(row) for row in outcomes], (-1, self.dim))

    def _one(self, outcome: Array) -> Array:
        outcome = self._within(outcome)
        return np.append(outcome, self.values(outcome))

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        m = self.base.dim
        inside = self.base.constraints(outcome[:m])
        return [*inside, *self.hypograph(outcome[:m], outcome[m:])]

    def membership(self, outcomes: Array, tol: float) -> np.ndarray[Any, Any]:
        m = self.base.dim
        values = np.array([self.values(row) for row in outcomes[:, :m]])
        slack = tol * np.abs(values)
        below = (outcomes[:, m:] <= values + slack).all(axis=1)
        return np.asarray(below & self.base.contains(outcomes[:, :m], tol))

    def maximiser(self, direction: Array) -> Array:
        """The outcome y that is worst where z is pushed up, and f(y)."""
        m = self.base.dim
        slope, push = direction[:m], np.maximum(direction[m:], 0.0)
        active = np.flatnonzero(push > ROUNDING * np.abs(direction).max(initial=0.0))
        if not active.size:
            return self._one(self.base.worst_case(slope))
        listed = self.listed()
        if listed is not None:
            return np.array(listed[int(np.argmax(listed @ np.append(slope, push)))])
        aim = np.append(slope, push[active])
        points = list(self._candidates(aim, active))
        if not points:
            raise EmptySet(f"{self.base!r} is empty: no outcome is in it.")
        return self._one(max(points, key=lambda point: float(aim @ point))[:m])

    def _candidates(self, aim: Array, active: Indices) -> Iterator[Array]:
        """The worst (y, z[active]) of every part of the base."""
        m = self.base.dim
        for part in self.base.parts():
            point = cp.Variable(len(aim))
            conditions = part.constraints(point[:m])
            conditions += self.hypograph(point[:m], point[m:], active)
            try:
                yield maximise(aim, point, conditions, type(self).__name__)
            except EmptySet:
                continue

    def maximum(self, direction: Array) -> float:
        down = -direction[self.base.dim :].min(initial=0.0)
        if down > ROUNDING * np.abs(direction).max(initial=0.0):
            return inf
        return float(direction @ self.maximiser(direction))

    def listed(self) -> Array | None:
        return self._rows

    @cached_property
    def _rows(self) -> Array | None:
        listed = self.base.listed()
        if listed is None:
            return None
        return self.joined(listed)

    def parts(self) -> tuple[UncertaintySet, ...]:
        parts = self.base.parts()
        if len(parts) == 1:
            return (self,)
        return tuple(LiftedSet(part, self.key, self.functions) for part in parts)

    def _within(self, outcome: Array) -> Array:
        """The outcome, if rounding put it outside the functions' domain, moved in."""
        for row in np.vstack([function.defined for function in self.functions]):
            short = -(row[:-1] @ outcome + row[-1])
            if short > 0:
                outcome = outcome + short * row[:-1] / (row[:-1] @ row[:-1])
        return outcome


@support_bound.register
def _(region: LiftedSet, direction: cp.Expression) -> Epigraph:
    if region.listed() is not None or len(region.parts()) > 1:
        return support_bound.dispatch(object)(region, direction)
    _require_convex(region.base)
    # As for an intersection: part of the direction is left to the base, the rest to
    # the functions, whatever split is best (Fenchel).
    m = region.base.dim
    share, point = cp.Variable(m), cp.Variable(region.dim)
    inner = support_bound(region.base, direction[:m] + share)
    curve = support_of(
        point,
        region.hypograph(point[:m], point[m:]),
        cp.hstack([-share, direction[m:]]),
    )
    conditions = [*inner.constraints, *curve.constraints]
    return Epigraph(inner.value + curve.value, conditions)


def _require_convex(base: UncertaintySet) -> None:
    conditions = base.constraints(cp.Variable(base.dim))
    if any(v.attributes["boolean"] for c in conditions for v in c.variables()):
        raise NotRobustifiable(
            f"Functions that bend the outcome have no exact dual over "
            f"{type(base).__name__}, which is not convex. Use engine='cuts'."
        )


def _lifted_set(key: Key, sets: Mapping[Key, Region]) -> LiftedSet:
    functions = tuple(p for p in key if isinstance(p, Lifted))
    own = key[: -len(functions)]
    base = sets[own]
    if not isinstance(base, UncertaintySet):
        raise NotRobustifiable(
            f"{functions[0]} bends the outcome, and an oracle of linear worst cases "
            f"cannot say what is worst then. Give {key_name(own)!r} a set."
        )
    lifted = LiftedSet(base, own, functions)
    for function in functions:
        _require_domain(function, lifted)
    return lifted


def _require_domain(function: Lifted, region: LiftedSet) -> None:
    """Every outcome of the base must be where the function is defined, and finite."""
    reach = np.max(np.abs(region.base.bounds()), axis=0) if len(function.defined) else 0
    for row in function.defined:
        lowest = region.base.worst_case(-row[:-1])
        value = float(row[:-1] @ lowest + row[-1])
        size = float(np.abs(row[:-1]) @ reach + abs(row[-1]))
        inside = value >= -ROUNDING * size
        if inside and np.isfinite(region.values(lowest)).all():
            continue
        lower, upper = region.base.bounds()
        raise OutsideDomain(
            f"{function.name()} must be defined for every outcome in the set for "
            f"{key_name(region.key)!r}, and is not at {lowest}: the set reaches from "
            f"{lower} to {upper}. Intersect the set with an sl.sets.Box, or choose a "
            "function that is defined there."
        )


def _parts(key: Key, outcome: cp.Expression | Array) -> dict[int, cp.Expression]:
    """Parameter id -> its part of an outcome, in its shape."""
    parts, start = {}, 0
    for parameter in key:
        part = outcome[start : start + parameter.size]
        parts[parameter.id] = cp.reshape(part, parameter.shape, order="F")
        start += parameter.size
    return parts
