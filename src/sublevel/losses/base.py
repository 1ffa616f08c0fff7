"""What every loss can do.

A loss is one function with three faces: its value in NumPy, by component; its
expression in CVXPY; and the perspective of its conjugate, from which the robust
counterpart follows. Its sublevel sets have a worst case in every direction, by a closed
form where one exists and by a conic solve otherwise.

NumPy faces broadcast over leading axes: a prediction with arrays of shape (n, m),
outcomes (n, m), budgets (n,) and directions (n, m) describe n contexts at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..conic import maximise
from ..epigraph import Epigraph
from ..norm_ball import NormBall
from ..predictions import AnyPrediction, Needs


class Loss(ABC):
    """A convex loss of an outcome, given a prediction.

    Subclasses are frozen dataclasses. Arguments called `prediction` are Prediction
    values; a bare array is taken as the location.
    """

    #: What the loss asks of a model: "location", "spread", "labels" or a tuple.
    needs: ClassVar[Needs] = "location"

    @abstractmethod
    def components(self, prediction: Any, outcome: Any) -> Array:
        """Loss by component, shape (..., m); it sums to the score."""

    @abstractmethod
    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """The score as a convex CVXPY expression of `outcome`, shape (m,)."""

    @abstractmethod
    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """Perspective of the conjugate: multiplier * loss*(slope / multiplier).

        At multiplier 0 it is the closure: 0 for slope 0, +inf otherwise (for a loss
        that is finite everywhere).
        """

    def score(self, prediction: Any, outcome: Any) -> Array:
        """The loss, shape (...): the sum of the components."""
        return np.asarray(np.sum(self.components(prediction, outcome), axis=-1))

    def domain(self, prediction: Any, outcome: cp.Expression) -> list[cp.Constraint]:
        """Constraints, beyond loss <= budget, that every outcome satisfies."""
        del prediction, outcome
        return []

    def admits(self, prediction: Any, outcome: Array) -> Any:
        """Whether each outcome satisfies the domain, shape (...)."""
        del prediction
        return np.ones(outcome.shape[:-1], dtype=bool)

    def floor(self, prediction: Any) -> Array:
        """Least loss any outcome has at each prediction, shape (...)."""
        return np.zeros(location_of(prediction).shape[:-1])

    def check(self, prediction: AnyPrediction) -> None:
        """Raise InvalidParameter where the loss is not defined at a prediction."""
        del prediction

    @property
    def exact_dual(self) -> bool:
        """Whether `counterpart` is the support itself, not just an upper bound."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether parameters are left for `learn` to set."""
        return False

    def learn(self, prediction: Any, outcome: Array) -> Loss:
        """The loss with its open parameters set from training (never calibration)
        predictions and outcomes; itself if it has none.
        """
        del prediction, outcome
        return self

    def radius(self, budget: float) -> float | None:
        """Norm radius of the set at this budget, where the loss is a norm."""
        del budget
        return None

    def ball(self, prediction: Any, budget: float) -> NormBall | None:
        """The sublevel set at one context as a norm ball, where it is one."""
        del prediction, budget
        return None

    def worst_case(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """The outcome that maximises `direction @ y` over {y : loss <= budget}.

        `budget` must be finite and at least `floor(prediction)`.
        """
        location = location_of(prediction)
        if np.ndim(location) > 1 or np.ndim(direction) > 1:
            return self._one_by_one(prediction, budget, direction)
        outcome = cp.Variable(np.size(direction))
        bound = self.expression(prediction, outcome) <= float(budget)
        constraints = [bound, *self.domain(prediction, outcome)]
        owner = f"the sublevel set of {type(self).__name__}"
        return maximise(np.asarray(direction), outcome, constraints, owner)

    def support(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """Largest value of `direction @ y` over {y : loss <= budget}, shape (...)."""
        worst = self.worst_case(prediction, budget, direction)
        return np.asarray(np.sum(np.asarray(direction) * worst, axis=-1))

    @property
    def closed_form(self) -> bool:
        """Whether worst cases need no solver, so that a batch of them is cheap."""
        return True

    def spend(self, prediction: Any, price: Any, direction: Any) -> Array:
        """Loss of the outcome that maximises `direction @ y - price * loss`.

        What a share of a common budget is worth: Combined splits its budget so that
        all blocks pay the same price. inf where the maximum is not attained.
        """
        raise NotImplementedError(f"{type(self).__name__} has no closed form.")

    def counterpart(
        self, prediction: Any, budget: Any, direction: cp.Expression
    ) -> Epigraph:
        """An upper bound on the support, for a solver: exact at its least value.

            support(v) = min over u >= 0 of  budget * u + u * loss*(v / u),

        with one multiplier u for all components (Ben-Tal, den Hertog & Vial 2015).
        """
        multiplier = cp.Variable(nonneg=True)
        dual = self.conjugate(direction, multiplier, prediction)
        return Epigraph(budget * multiplier + dual.value, dual.constraints)

    def _one_by_one(self, prediction: Any, budget: Any, direction: Any) -> Array:
        directions = np.atleast_2d(direction)
        rows = max(len(prediction), len(directions))
        budgets = np.broadcast_to(budget, rows)
        directions = np.broadcast_to(directions, (rows, directions.shape[-1]))
        return np.stack(
            [
                self.worst_case(prediction[i], budgets[i], directions[i])
                for i in range(rows)
            ]
        )


def location_of(prediction: Any) -> Any:
    """The location of a Prediction, or the array itself."""
    return getattr(prediction, "location", prediction)


def per_row(values: Any) -> Array:
    """Budgets of shape (...) ready to meet components of shape (..., m)."""
    return np.asarray(values, dtype=float)[..., None]
