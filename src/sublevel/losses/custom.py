"""A user's own loss: any function that CVXPY knows to be convex in the outcome."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..deferred import cp
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..predictions import AnyPrediction, Prediction
from .base import Forecast, Loss, location_of, scale_of


@dataclass(frozen=True)
class Custom(Loss):
    """A loss given as a function of the outcome and the prediction.

    Parameters
    ----------
    function : callable (y, location) or (y, location, scale) -> scalar CVXPY expression
        Convex in y, of shape (m,). With a third argument the model must predict a
        spread.

    Examples
    --------
    >>> loss = Custom(lambda y, location: cp.norm(y - location, 4))
    >>> loss.score(np.zeros(2), np.array([1.0, 1.0])).round(6)
    np.float64(1.189207)
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameter(
                f"Custom(function=...) must be callable, got {self.function!r}."
            )
        needs = "spread" if _required(self.function) > 2 else "location"
        object.__setattr__(self, "needs", needs)

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """The loss as its only component, shape (..., 1)."""
        outcome = np.asarray(outcome, dtype=float)
        self.check(one_row(prediction))
        flat = outcome.reshape(-1, outcome.shape[-1])
        location, scale = location_of(prediction), scale_of(prediction)
        scores = np.empty(len(flat))
        given = cp.Parameter(outcome.shape[-1])
        for i, row in enumerate(flat):
            # One context, many outcomes: the expression is built only once.
            if i == 0 or np.ndim(location) > 1:
                center = location if np.ndim(location) == 1 else location[i]
                spread = scale if scale is None or scale.ndim < 2 else scale[i]
                built = self._call(given, center, spread)
            given.value = row
            scores[i] = np.asarray(built.value).item()
        return scores.reshape(*outcome.shape[:-1], 1)

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """The function's own expression, checked to be convex and scalar."""
        location, scale = location_of(prediction), scale_of(prediction)
        try:
            built = self._call(outcome, location, scale)
        except Exception as error:
            raise InvalidParameter(
                f"Custom(function=...) must take (y, location) or (y, location, scale) "
                f"and be written with CVXPY atoms, got {type(error).__name__}: {error}"
            ) from error
        convex = isinstance(built, cp.Expression) and built.is_convex()
        if not convex or not built.is_scalar():
            raise InvalidParameter(
                f"Custom(function=...) must return a scalar that CVXPY knows to be "
                f"convex in y, got {built}, of shape {np.shape(built)}. Rewrite it "
                "with CVXPY's convex atoms."
            )
        return built

    def check(self, prediction: AnyPrediction) -> None:
        """The function must accept an outcome and be convex in it."""
        one = one_row(prediction)
        self.expression(one, cp.Variable(one.width))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Support function of the epigraph {(y, t) : loss(y) <= t} at (v, -u)."""
        from ..conic.dual import support_of

        point = cp.Variable(slope.size + 1)
        inside = self.expression(prediction, point[:-1]) <= point[-1]
        return support_of(point, [inside], cp.hstack([slope, -multiplier]))

    @property
    def has_slots(self) -> bool:
        """No: nothing says how the function uses its arguments."""
        return False

    def floor(self, prediction: Forecast) -> Array:
        """Anything: an empty set shows when it is used."""
        return np.full(np.shape(location_of(prediction))[:-1], -np.inf)

    def _call(
        self, outcome: cp.Expression, location: Array, scale: Array | None
    ) -> Any:
        if self.needs == "location":
            return self.function(outcome, location)
        return self.function(outcome, location, scale)


def one_row(prediction: Forecast) -> Prediction:
    """The prediction of the first context; a bare array is a location.

    Examples
    --------
    >>> one_row(np.zeros((3, 2))).location
    array([0., 0.])
    """
    rows = Prediction(location_of(prediction), scale_of(prediction))
    return rows if np.ndim(rows.location) == 1 else rows[0]


def _required(function: Callable[..., Any]) -> int:
    """How many arguments must be given: defaults are the user's own business."""
    parameters = inspect.signature(function).parameters.values()
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return sum(p.kind in positional and p.default is p.empty for p in parameters)
