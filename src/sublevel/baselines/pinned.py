"""Sets of one outcome each, read off the columns of a table.

Robust decisions over them are ordinary decisions at known numbers, so scenario models
and clairvoyants go through the same compiled programs and audits as robust ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..epigraph import Epigraph
from ..losses.base import Slots, location_of
from ..predictions import Numbers, Outcomes, Prediction
from ..sets import Box
from .shaped import Shape, ShapeBatch


@dataclass(frozen=True)
class Pinned(Shape):
    """Squared distance from the only outcome; the budget plays no part.

    Examples
    --------
    >>> Pinned().worst_case(np.array([1.0, 2.0]), 9.0, np.array([1.0, 0.0]))
    array([1., 2.])
    """

    def components(self, prediction: Any, outcome: Any) -> Array:
        """Squared residuals."""
        return np.asarray((outcome - location_of(prediction)) ** 2)

    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """Sum of squares."""
        return cp.sum_squares(outcome - location_of(prediction))

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """Location'v: without a cone, linear models stay linear."""
        del multiplier
        return Epigraph(location_of(prediction) @ slope)

    def slots(self, prediction: Any, budget: Any) -> Slots:
        """The location."""
        del budget
        return {"location": np.asarray(location_of(prediction), dtype=float)}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """Location'v."""
        return Epigraph(slots["location"] @ direction)

    def narrowed(self, entries: Any) -> Pinned:
        """The same of fewer components."""
        del entries
        return self

    def worst_case(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """The outcome itself."""
        del budget, direction
        return np.asarray(location_of(prediction), dtype=float)

    def region(self, prediction: Any, budget: float) -> Box:
        """A box of no width."""
        del budget
        return Box(location_of(prediction), location_of(prediction))


@dataclass(frozen=True)
class Columns:
    """A source of sets: columns `start` to `stop` of X, taken for the outcome.

    Examples
    --------
    >>> Columns(1, 3).predict_set(np.array([[9.0, 1.0, 2.0]])).support([1.0, 1.0])
    array([3.])
    """

    start: int
    stop: int
    budget_: float = 0.0
    certificate_: None = None
    training_marks: None = None
    calibration_marks: None = None

    @property
    def losses_(self) -> tuple[Pinned, ...]:
        """One."""
        return (Pinned(),)

    def predict_set(self, X: Any, budget: Any = None) -> ShapeBatch:
        """The outcome at every row of X; a budget changes nothing."""
        del budget
        said = Prediction(np.asarray(X, dtype=float)[:, self.start : self.stop])
        outcomes = Outcomes((Numbers(said.width),))
        names = tuple(f"y{k}" for k in range(said.width))
        return ShapeBatch(Pinned(), said, np.zeros(len(said)), outcomes, names)
