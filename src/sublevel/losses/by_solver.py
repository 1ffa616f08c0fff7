"""Sublevel sets handed to a conic solver, in units in which they are near one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..checks import Array
from ..conic.maximise import maximise
from ..deferred import cp
from ..errors import InvalidParameter
from ..predictions import JointPrediction, LabelPrediction, Prediction

if TYPE_CHECKING:
    from .base import Forecast, Loss


def conic_worst_case(
    loss: Loss, prediction: Forecast, budget: float, direction: Array
) -> Array:
    """The worst case at one context by a conic solve, in units of the set.

    The solver's solution may overshoot the budget by its tolerance; it is drawn back
    to the point prediction until it is inside.
    """
    owner = f"the sublevel set of {type(loss).__name__}"
    center = point_of(prediction).astype(float)
    unit = _reach(loss, prediction, budget, center, direction)
    step = cp.Variable(center.size)
    constraints = within_budget(loss, prediction, center + unit * step, budget)
    worst = center + unit * maximise(unit * direction, step, constraints, owner)
    inside = float(loss.score(prediction, center)) <= budget
    for shrink in (0.0, 1e-9, 1e-8, 1e-7, 1e-6):
        drawn = worst + shrink * (center - worst)
        if not inside or float(loss.score(prediction, drawn)) <= budget:
            return drawn
    return worst


def within_budget(
    loss: Loss, prediction: Forecast, outcome: cp.Expression, budget: float
) -> list[cp.Constraint]:
    """Loss at most a finite budget, scaled, and the loss's own domain."""
    if not loss.closed_form:
        check_units(loss, prediction, budget)
    domain = list(loss.domain(prediction, outcome))
    floor = float(loss.floor(prediction))
    excess = budget - (floor if np.isfinite(floor) else 0.0)
    if excess > 0:
        return [loss.unit_expression(prediction, outcome, excess) <= 1, *domain]
    return [loss.expression(prediction, outcome) <= budget, *domain]


def check_units(loss: Loss, prediction: Forecast, budget: float) -> None:
    """A loss in no closed form is at the mercy of a solver's absolute tolerances."""
    center = point_of(prediction).astype(float)
    reach = _reach(loss, prediction, budget, center, np.ones(center.size))
    if not (1e-5 <= reach <= 1e5 and np.abs(center).max() <= 1e6 * reach):
        raise InvalidParameter(
            f"{type(loss).__name__} is handed to a solver as it is, and needs outcomes "
            f"of ordinary size, got a set that reaches {reach:.1e} around "
            f"{np.abs(center).max():.1e}. Change the units of the outcome."
        )


def _reach(
    loss: Loss, prediction: Forecast, budget: float, center: Array, direction: Array
) -> float:
    """How far the set goes from its center along a direction, to a factor of two."""
    length = float(np.linalg.norm(direction))
    if length == 0 or not float(loss.score(prediction, center)) < budget:
        return max(1.0, float(np.abs(center).max()))
    ray = direction / length

    def inside(reach: float) -> bool:
        return float(loss.score(prediction, center + reach * ray)) <= budget

    reach = 1.0
    while inside(reach) and reach < 1e30:
        reach *= 2.0
    while not inside(reach) and reach > 1e-30:
        reach /= 2.0
    return reach


def point_of(prediction: Forecast) -> Array:
    """The likeliest outcome of a prediction, or the array itself."""
    if isinstance(prediction, Prediction | LabelPrediction | JointPrediction):
        return prediction.point
    return np.asarray(prediction)
