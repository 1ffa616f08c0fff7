"""Sets for PyROS, the robust solver of Pyomo: the same outcomes, or a refusal.

    balls of the 2-norm               EllipsoidalSet, AxisAlignedEllipsoidalSet
    balls of the 1-norm               CardinalitySet of gamma 1
    deviations within a budget        CardinalitySet
    intervals, boxes, A y <= b        BoxSet, PolyhedralSet
    finitely many outcomes, labels    DiscreteScenarioSet
    intersections, products           IntersectionSet, CartesianProductSet

PyROS: Isenberg et al. (2021), A generalized cutting-set approach for nonlinear robust
optimization in process systems engineering.
"""

from __future__ import annotations

from functools import singledispatch
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..errors import EmptySet, InvalidParameter, MissingExtra
from ..losses import Interval, Pinball
from ..norm_ball import NormBall
from .ball import StretchedBall
from .base import Exports, UncertaintySet
from .box import Box
from .budget import Budget
from .intersection import Intersection
from .label_set import LabelSet
from .polytope import Polytope
from .product import Product
from .sublevel import Sublevel
from .variation_ball import VariationBall

if TYPE_CHECKING:
    from pyomo.contrib.pyros.uncertainty_sets import UncertaintySet as PyrosSet

#: Most outcomes handed over one by one: PyROS solves a problem for each.
MOST_SCENARIOS = 5_000

#: Most dimensions in which a rotated 1-norm ball is written by its 2^dim sides.
MOST_SIDES_DIM = 12


def to_pyros(region: Exports) -> PyrosSet:
    """The set as an uncertainty set of PyROS; see `UncertaintySet.to_pyros`."""
    pyros = _pyros()
    listed = region.listed()
    if listed is not None:
        return _scenarios(region, listed, pyros)
    return _export(region, pyros)


def _pyros() -> ModuleType:
    try:
        # The newest of the sets used here, so an older PyROS is recognised.
        from pyomo.contrib import pyros
        from pyomo.contrib.pyros import CartesianProductSet  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "to_pyros() needs pyomo 6.10.1 or later, which is not installed. Install "
            "it with `pip install 'sublevel[pyomo]'`."
        ) from error
    module: ModuleType = pyros
    return module


@singledispatch
def _export(region: Exports, pyros: ModuleType) -> PyrosSet:
    _refuse(region)


@_export.register(Box)
def _(region: Box, pyros: ModuleType) -> PyrosSet:
    region.require_bounded("to_pyros")
    return pyros.BoxSet(np.column_stack([region.lower, region.upper]))


@_export.register(Polytope)
def _(region: Polytope, pyros: ModuleType) -> PyrosSet:
    region.require_bounded("to_pyros")
    return pyros.PolyhedralSet(region.A, region.b)


@_export.register(Budget)
def _(region: Budget, pyros: ModuleType) -> PyrosSet:
    gamma = min(region.gamma, float(region.dim))
    return pyros.CardinalitySet(
        region.center, region.deviation, gamma, region.deviation
    )


@_export.register(StretchedBall)
def _(region: StretchedBall, pyros: ModuleType) -> PyrosSet:
    region.require_bounded("to_pyros")
    return _ball(region.norm_ball, pyros)


@_export.register(Sublevel)
def _(region: Sublevel, pyros: ModuleType) -> PyrosSet:
    loss, budget = region.loss, region.effective_budget
    if isinstance(loss, Pinball):
        region.require_bounded("to_pyros")
        # Along each axis the set ends where one component spends all of the budget.
        zero, axes = np.zeros(region.dim), np.eye(region.dim)
        up, down = (loss.support(zero, budget, sign * axes) for sign in (1, -1))
        return pyros.CardinalitySet(region.prediction.point, up, 1.0, down)
    if isinstance(loss, Interval):
        region.require_bounded("to_pyros")
        return pyros.BoxSet(np.column_stack(region.bounds()))
    ball = loss.ball(region.prediction, budget)
    if ball is None or ball.order not in (1, 2):
        _refuse(region)
    region.require_bounded("to_pyros")
    return _ball(ball, pyros)


@_export.register(VariationBall)
def _(region: VariationBall, pyros: ModuleType) -> PyrosSet:
    total = np.ones((1, region.dim))
    rows = np.concatenate([-np.eye(region.dim), total, -total])
    bounds = np.concatenate([np.zeros(region.dim), [1.0, -1.0]])
    # No probability moves by more than one, so a deviation of one never binds.
    unit, gamma = np.ones(region.dim), min(region.radius, float(region.dim))
    near = pyros.CardinalitySet(region.probabilities, unit, gamma, unit)
    return pyros.IntersectionSet(simplex=pyros.PolyhedralSet(rows, bounds), near=near)


@_export.register(LabelSet)
def _(region: LabelSet, pyros: ModuleType) -> PyrosSet:
    _refuse_many(region, "more")


@_export.register(Product)
def _(region: Product, pyros: ModuleType) -> PyrosSet:
    if any(part.listed() is not None for part in region.sets):
        raise InvalidParameter(
            "Product.to_pyros() must not mix lists of outcomes (Finite, LabelSet) with "
            "other sets: PyROS has no such product. Solve once for each outcome listed."
        )
    return pyros.CartesianProductSet([_export(part, pyros) for part in region.sets])


@_export.register(Intersection)
def _(region: Intersection, pyros: ModuleType) -> PyrosSet:
    if len(region.parts()) > 1:
        _refuse(region)
    region.require_bounded("to_pyros")
    # A set without constraints is every outcome.
    members = [s for s in region.sets if s.conditions(cp.Variable(s.dim))]
    if not all(member.is_bounded for member in members):
        # PyROS wants each member bounded. Ends beyond the intersection change nothing.
        lower, upper = _around(region)
        members = [_bounded(member, lower, upper) for member in members]
    parts = [_export(member, pyros) for member in members]
    named = {f"member_{k}": part for k, part in enumerate(parts)}
    return pyros.IntersectionSet(**named) if len(parts) > 1 else parts[0]


def _around(region: Intersection) -> tuple[Array, Array]:
    """Ends of a box that holds the intersection, with room to spare."""
    lower, upper = zip(*(member.bounds() for member in region.sets), strict=True)
    low, high = np.max(lower, axis=0), np.min(upper, axis=0)
    rounding = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    region.require_nonempty(int((low <= high + rounding).all()))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        low, high = region.bounds()
    room = np.maximum(high - low, 1e-3 * np.maximum(np.abs(low), np.abs(high)))
    room = np.where(room > 0, room, 1.0)
    return low - room, high + room


def _bounded(member: UncertaintySet, lower: Array, upper: Array) -> UncertaintySet:
    """The part of an unbounded box or polytope between two ends."""
    if isinstance(member, Box):
        ends = [np.isfinite(member.lower), np.isfinite(member.upper)]
        return Box(
            np.where(ends[0], member.lower, lower),
            np.where(ends[1], member.upper, upper),
        )
    if isinstance(member, Polytope) and not member.is_bounded:
        axes = np.eye(member.dim)
        rows = np.concatenate([member.A, axes, -axes])
        return Polytope(rows, np.concatenate([member.b, upper, -lower]))
    return member


def _ball(ball: NormBall, pyros: ModuleType) -> PyrosSet:
    if ball.radius == 0:
        return pyros.BoxSet(np.column_stack([ball.center, ball.center]))
    width = ball.radius * ball.scale
    if ball.order == 2 and width.ndim == 1:
        return pyros.AxisAlignedEllipsoidalSet(ball.center, width)
    if ball.order == 2:
        return pyros.EllipsoidalSet(ball.center, width @ width.T)
    if width.ndim == 1:
        # One full deviation in all, split as it pleases: the 1-norm ball.
        return pyros.CardinalitySet(ball.center, width, 1.0, width)
    return _rotated(ball, width, pyros)


def _rotated(ball: NormBall, width: Array, pyros: ModuleType) -> PyrosSet:
    """A 1-norm ball by its sides: signs' (y - center) / width <= 1 for all signs."""
    dim = ball.center.size
    if dim > MOST_SIDES_DIM:
        raise InvalidParameter(
            f"L1Ball.to_pyros() with a matrix scale has 2^dim sides and must have "
            f"dim <= {MOST_SIDES_DIM}, got {dim}. Use a scale of shape (dim,)."
        )
    signs = np.array(list(product([-1.0, 1.0], repeat=dim)))
    rows = signs @ np.linalg.inv(width)
    return pyros.PolyhedralSet(rows, 1.0 + rows @ ball.center)


def _scenarios(region: Exports, listed: Array, pyros: ModuleType) -> PyrosSet:
    if len(listed) == 0:
        raise EmptySet(f"{type(region).__name__} is empty: PyROS has no empty sets.")
    if len(listed) > MOST_SCENARIOS:
        _refuse_many(region, str(len(listed)))
    return pyros.DiscreteScenarioSet(listed.tolist())


def _refuse_many(region: Exports, count: str) -> NoReturn:
    raise InvalidParameter(
        f"{type(region).__name__}.to_pyros() lists its outcomes and must have at most "
        f"{MOST_SCENARIOS}, got {count}. LabelSet.relaxation() is a larger, convex set "
        "that can be exported: safe, and maybe conservative."
    )


def _refuse(region: Exports) -> NoReturn:
    name = type(region).__name__
    if isinstance(region, Sublevel):
        name += f"({type(region.loss).__name__})"
    raise InvalidParameter(
        f"{name}.to_pyros() is not available: PyROS has no such set, and another one "
        "would not keep the promise. It has Box, Polytope, Ellipsoid, L1Ball, Budget, "
        "VariationBall, the Sublevel sets of Squared, Mahalanobis, Gaussian, NLL, "
        "Absolute and Pinball, lists of outcomes (Finite, LabelSet), and Intersection "
        "and Product of these."
    )
