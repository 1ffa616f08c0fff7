"""The support function of a set, for a solver: its conic dual, or a closed form.

`support_bound(U, direction)` is an Epigraph whose least value is the largest
`direction @ y` over U, exactly. A set without an entry here goes through the conic dual
of its constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from math import inf

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ...checks import Array
from ...conic.dual import support_of
from ...conic.program import Indices
from ...epigraph import Epigraph
from ...errors import NotRobustifiable, Unbounded
from ...losses import Loss
from ...losses.base import COMPONENTWISE, TRIANGLE, Slots
from ...sets import (
    AffineImage,
    Box,
    Ellipsoid,
    Intersection,
    L1Ball,
    LabelSet,
    Mixed,
    Product,
    Sublevel,
    UncertaintySet,
    Union,
)

#: Most outcomes that are written out one by one in a model.
MOST_SCENARIOS = 500


def has_dual(regions: Iterable[UncertaintySet]) -> bool:
    """Whether every set has an exact conic dual."""
    try:
        for region in regions:
            support_bound(region, cp.Variable(region.dim))
    except NotRobustifiable:
        return False
    return True


def row_bound(
    region: UncertaintySet, direction: cp.Expression, entries: Indices
) -> Epigraph:
    """The support bound in a direction that sees only some entries of the outcome.

    `direction` is of shape (entries,). Entries that no direction sees are left out
    where the set allows: a thousand rows, each with its own, stay a thousand terms.
    """
    if direction.is_constant() and not direction.parameters():
        full = np.zeros(region.dim)
        full[entries] = direction.value
        reach = region.support(full)
        if reach == inf:
            raise Unbounded(
                f"The worst case over {type(region).__name__} is infinite: it has no "
                "end in a direction that hurts. Intersect it with a bounded set."
            )
        return Epigraph(cp.Constant(reach))
    if isinstance(region, Product):
        return _product_bound(region, direction, entries)
    if isinstance(region, Sublevel) and not isinstance(region, Mixed):
        slots = region.loss.slots(region.prediction, _finite_budget(region))
        return slots_bound(region.loss, slots, direction, entries, region.dim)
    if len(entries) == region.dim:
        return support_bound(region, direction)
    narrow = _narrowed(region, entries)
    if narrow is not None:
        return support_bound(narrow, direction)
    return support_bound(region, spread_out(direction, entries, region.dim))


def slots_bound(
    loss: Loss, slots: Slots, direction: cp.Expression, entries: Indices, dim: int
) -> Epigraph:
    """The same for a loss, from the numbers (or parameters) of a context."""
    narrow = loss if len(entries) == dim else loss.narrowed(entries)
    if TRIANGLE in slots and len(entries) < dim:
        # The factor of some components is not made of some entries of the whole one.
        narrow = None
    if narrow is None:
        direction = spread_out(direction, entries, dim)
    elif len(entries) < dim:
        slots = {k: v[entries] if k in COMPONENTWISE else v for k, v in slots.items()}
    return (narrow or loss).bound(slots, direction)


def spread_out(direction: cp.Expression, entries: Indices, dim: int) -> cp.Expression:
    """The direction with zeros for the entries it does not see, shape (dim,)."""
    where = (entries, np.arange(len(entries)))
    shape = (dim, len(entries))
    return sp.csr_array((np.ones(len(entries)), where), shape=shape) @ direction


def _narrowed(region: UncertaintySet, entries: Indices) -> UncertaintySet | None:
    """The set's shadow on some entries, where it is a set of the same kind."""
    if isinstance(region, Box):
        return Box(region.lower[entries], region.upper[entries])
    if isinstance(region, Ellipsoid | L1Ball) and region.scale.ndim == 1:
        scale = region.scale[entries]
        return type(region)(region.center[entries], scale, region.radius)
    return None


def _product_bound(
    region: Product, direction: cp.Expression, entries: Indices
) -> Epigraph:
    ends = np.cumsum([member.dim for member in region.sets])
    block = np.searchsorted(ends, entries, side="right")
    bounds = []
    for k in np.unique(block).tolist():
        start = ends[k] - region.sets[k].dim
        mine = np.flatnonzero(block == k)
        bounds.append(row_bound(region.sets[k], direction[mine], entries[mine] - start))
    return _total(bounds, [])


def _finite_budget(region: Sublevel) -> float:
    if region.effective_budget == inf:
        raise Unbounded(
            "The worst case is infinite: the budget is inf. Calibrate with more data, "
            "or at a larger alpha."
        )
    return region.effective_budget


@singledispatch
def support_bound(region: UncertaintySet, direction: cp.Expression) -> Epigraph:
    """Epigraph of the support function of a set at `direction`, shape (dim,).

    Examples
    --------
    >>> direction = cp.Variable(2)
    >>> bound = support_bound(Box([0.0, 0.0], [1.0, 2.0]), direction)
    >>> problem = cp.Problem(cp.Minimize(bound.value), [direction == [1.0, -1.0]])
    >>> round(float(problem.solve()), 6)
    1.0
    """
    listed = region.listed()
    if listed is not None:
        return _scenarios(region, listed, direction)
    if len(region.parts()) > 1:
        return _worst_of(region.parts(), direction)
    outcome = cp.Variable(region.dim)
    return support_of(outcome, region.constraints(outcome), direction)


@support_bound.register
def _(region: Ellipsoid, direction: cp.Expression) -> Epigraph:
    return _ball(region, direction, 2)


@support_bound.register
def _(region: L1Ball, direction: cp.Expression) -> Epigraph:
    return _ball(region, direction, inf)


@support_bound.register
def _(region: Box, direction: cp.Expression) -> Epigraph:
    top, bottom = np.isfinite(region.upper), np.isfinite(region.lower)
    # An infinite end is affordable only if the direction never looks that way; then
    # the other end is all there is.
    upper = np.where(top, region.upper, np.where(bottom, region.lower, 0.0))
    lower = np.where(bottom, region.lower, upper)
    never = [direction[np.flatnonzero(~top)] <= 0] if not top.all() else []
    never += [direction[np.flatnonzero(~bottom)] >= 0] if not bottom.all() else []
    reach = (upper - lower) / 2 @ cp.abs(direction)
    return Epigraph((upper + lower) / 2 @ direction + reach, never)


@support_bound.register
def _(region: Sublevel, direction: cp.Expression) -> Epigraph:
    budget = _finite_budget(region)
    bound: Epigraph = region.loss.counterpart(region.prediction, budget, direction)
    return bound


@support_bound.register
def _(region: Mixed, direction: cp.Expression) -> Epigraph:
    raise NotRobustifiable(
        "A set that mixes numbers and labels has no exact conic dual. Use "
        "engine='cuts'."
    )


@support_bound.register
def _(region: LabelSet, direction: cp.Expression) -> Epigraph:
    listed = region.listed(MOST_SCENARIOS)
    if listed is None:
        raise NotRobustifiable(
            f"A LabelSet of more than {MOST_SCENARIOS} label combinations has no exact "
            "conic dual. Use engine='cuts'."
        )
    return Epigraph(cp.max(listed @ direction))


@support_bound.register
def _(region: Intersection, direction: cp.Expression) -> Epigraph:
    if region.listed() is not None or len(region.parts()) > 1:
        return support_bound.dispatch(object)(region, direction)
    # The support of an intersection is the least sum of supports over all ways to
    # split the direction among the members.
    shares = [cp.Variable(region.dim) for _ in region.sets]
    pairs = zip(region.sets, shares, strict=True)
    bounds = [support_bound(member, share) for member, share in pairs]
    split = cp.sum(cp.vstack(shares), axis=0) == direction
    return _total(bounds, [split])


@support_bound.register
def _(region: Product, direction: cp.Expression) -> Epigraph:
    bounds, start = [], 0
    for member in region.sets:
        bounds.append(support_bound(member, direction[start : start + member.dim]))
        start += member.dim
    return _total(bounds, [])


@support_bound.register
def _(region: AffineImage, direction: cp.Expression) -> Epigraph:
    inner = support_bound(region.set, region.matrix.T @ direction)
    return Epigraph(inner.value + region.offset @ direction, inner.constraints)


@support_bound.register
def _(region: Union, direction: cp.Expression) -> Epigraph:
    return _worst_of(region.sets, direction)


def _ball(
    region: Ellipsoid | L1Ball, direction: cp.Expression, dual_order: float
) -> Epigraph:
    if region.radius == inf:
        raise Unbounded(
            f"The worst case over {type(region).__name__} is infinite: the radius is "
            "inf. Calibrate with more data, or at a larger alpha."
        )
    if region.scale.ndim == 1:
        slope = cp.multiply(region.scale, direction)
    else:
        slope = region.scale.T @ direction
    reach = region.radius * cp.norm(slope, dual_order)
    return Epigraph(region.center @ direction + reach)


def _scenarios(
    region: UncertaintySet, outcomes: Array, direction: cp.Expression
) -> Epigraph:
    if len(outcomes) > MOST_SCENARIOS:
        raise NotRobustifiable(
            f"{type(region).__name__} has {len(outcomes)} outcomes, too many to write "
            "out. Use engine='cuts'."
        )
    return Epigraph(cp.max(outcomes @ direction))


def _worst_of(parts: Sequence[UncertaintySet], direction: cp.Expression) -> Epigraph:
    bounds = [support_bound(part, direction) for part in parts]
    value = cp.max(cp.hstack([bound.value for bound in bounds]))
    return Epigraph(value, [c for bound in bounds for c in bound.constraints])


def _total(bounds: list[Epigraph], more: list[cp.Constraint]) -> Epigraph:
    value = sum((bound.value for bound in bounds[1:]), bounds[0].value)
    return Epigraph(value, [*more, *(c for b in bounds for c in b.constraints)])
