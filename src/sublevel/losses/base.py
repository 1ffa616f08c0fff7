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
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from ..checks import ROUNDED, Array, BoolArray, as_numbers, briefly
from ..conic.program import Indices
from ..deferred import cp, is_expression
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..norm_ball import NormBall
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Needs,
    Prediction,
)
from .by_solver import conic_worst_case, point_of

#: What a loss is given of a context: a prediction, or a bare array for its location.
Forecast = AnyPrediction | npt.ArrayLike

#: What a robust counterpart knows of a context: numbers, or CVXPY parameters.
Slots = dict[str, Any]

#: The kinds of prediction, to ask isinstance about.
KINDS = (Prediction, LabelPrediction, JointPrediction)

Kind = TypeVar("Kind", Prediction, LabelPrediction, JointPrediction)

#: Numbers or flags of some components.
Entries = npt.NDArray[np.integer[Any]] | BoolArray

#: Slots with one number a component.
COMPONENTWISE = ("location", "scale", "reach")
#: The slot of a factor: the rows of its transpose, above the diagonal, one after
#: another. A vector: a matrix would have to be read row by row or column by column.
TRIANGLE = "triangle"


class Loss(ABC):
    """A convex loss of an outcome, given a prediction.

    Subclasses are frozen dataclasses. A bare array given as `prediction` is taken as
    the location.
    """

    #: What the loss asks of a model: "location", "spread", "labels" or a tuple.
    needs: ClassVar[Needs] = "location"

    #: The loss above its floor is a norm of the residual to this power, and its sets
    #: are balls; None where it is not.
    norm_power: ClassVar[int | None] = None

    #: Whether `learn` looks at residuals, which must then be out of fold.
    learns_residuals: ClassVar[bool] = True

    #: Whether its sets hold no negative outcomes.
    nonneg: ClassVar[bool] = False

    @abstractmethod
    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Loss by component, shape (..., m); it sums to the score."""

    @abstractmethod
    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """The score as a convex CVXPY expression of `outcome`, shape (m,)."""

    @abstractmethod
    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Perspective of the conjugate: multiplier * loss*(slope / multiplier).

        At multiplier 0 it is the closure: 0 for slope 0, +inf otherwise (for a loss
        that is finite everywhere).
        """

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """(loss - floor) / excess as a CVXPY expression, well scaled for a solver.

        Losses whose units are those of the outcome override this, so that a solver
        sees numbers of order one whatever the units.
        """
        floor = float(self.floor(prediction))
        above = floor if np.isfinite(floor) else 0.0
        return (self.expression(prediction, outcome) - above) / excess

    def score(self, prediction: Forecast, outcome: npt.ArrayLike) -> Array:
        """The loss, shape (...): the sum of the components."""
        prediction, vectors = met(type(self).__name__, prediction, outcome)
        total = np.asarray(np.sum(self.components(prediction, vectors), axis=-1))
        if not np.isnan(total).any():
            return total
        # An infinite outcome is in no set, where differences of infinities are NaN.
        return np.where(np.isinf(vectors).any(axis=-1), np.inf, total)

    def domain(
        self, prediction: Forecast, outcome: cp.Expression
    ) -> list[cp.Constraint]:
        """Constraints, beyond loss <= budget, that every outcome satisfies."""
        del prediction, outcome
        return []

    def admits(self, prediction: Forecast, outcome: Array) -> BoolArray:
        """Whether each outcome satisfies the domain, shape (...)."""
        del prediction
        return np.ones(outcome.shape[:-1], dtype=bool)

    def floor(self, prediction: Forecast) -> Array:
        """Least loss any outcome has at each prediction, shape (...)."""
        return np.zeros(location_of(prediction).shape[:-1])

    def excess(self, prediction: Forecast, outcome: npt.ArrayLike) -> Array:
        """The loss above its floor, shape (...), at least 0."""
        above = self.score(prediction, outcome) - self.floor(prediction)
        return np.maximum(above, 0.0)

    def rounding(self, prediction: Forecast, outcome: Array) -> Array:
        """How much of the loss of outcomes (..., m) may be rounding, shape (...)."""
        del outcome
        floor = self.floor(prediction)
        return ROUNDED * np.where(np.isfinite(floor), np.abs(floor), 0.0)

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

    def settled(self, prediction: AnyPrediction) -> Loss:
        """The loss as it is for predictions like this one; itself for most.

        A loss that takes more than one kind of prediction says here which it is.
        """
        del prediction
        return self

    def example(self, dim: int) -> Prediction | None:
        """A prediction of the shape that it takes; None where it cannot tell."""
        return Prediction(np.ones(dim), np.ones(dim))

    def separates(self, prediction: Forecast) -> bool:
        """Whether it is a sum over components, each of one outcome alone."""
        del prediction
        return False

    def level_unit(self) -> float:
        """Size of an ordinary loss, where it may have either sign: the unit of the
        levels Policy.calibrate looks at. One for a loss without units.
        """
        return 1.0

    def learn(self, prediction: Forecast, outcome: Array) -> Loss:
        """The loss with its open parameters set from training (never calibration)
        predictions and outcomes; itself if it has none.
        """
        del prediction, outcome
        return self

    def radius(self, budget: float) -> float | None:
        """Norm radius of the set at this budget, where the loss is a norm."""
        del budget
        return None

    def ball(self, prediction: Forecast, budget: float) -> NormBall | None:
        """The sublevel set at one context as a norm ball, where it is one."""
        del prediction, budget
        return None

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """The outcome that maximises `direction @ y` over {y : loss <= budget}.

        `budget` must be finite and at least `floor(prediction)`.
        """
        if np.ndim(point_of(prediction)) > 1 or np.ndim(direction) > 1:
            return self._one_by_one(prediction, budget, direction)
        return conic_worst_case(self, prediction, float(budget), np.asarray(direction))

    def support(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Largest value of `direction @ y` over {y : loss <= budget}, shape (...)."""
        worst = self.worst_case(prediction, budget, direction)
        return np.asarray(np.sum(np.asarray(direction) * worst, axis=-1))

    @property
    def closed_form(self) -> bool:
        """Whether `worst_case` and `spend` need no solver: then both broadcast, and a
        batch of them is cheap.
        """
        return False

    def spend(
        self, prediction: Forecast, price: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Loss of the outcome that maximises `direction @ y - price * loss`.

        What a share of a common budget is worth: Combined splits its budget so that
        all blocks pay the same price. inf where the maximum is not attained. Asked
        only of a loss in closed form.
        """
        raise InvalidParameter(
            f"{type(self).__name__} says closed_form and must have spend()."
        )

    def counterpart(
        self, prediction: Forecast, budget: float | Array, direction: cp.Expression
    ) -> Epigraph:
        """An upper bound on the support, for a solver: exact at its least value."""
        return self.bound(self.slots(prediction, budget), direction)

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The numbers of a context that `bound` is written in, by name.

        Arrays of shape (..., m) under the names in COMPONENTWISE, (...) otherwise;
        they broadcast over contexts as predictions do.
        """
        floor = self.floor(prediction)
        above = np.asarray(budget, dtype=float) - np.where(
            np.isfinite(floor), floor, 0.0
        )
        return {**self.shape_slots(prediction), "budget": above}

    def shape_slots(self, prediction: Forecast) -> Slots:
        """The slots whatever the budget: what `excess_conjugate` is written in."""
        numbers = {"location": np.asarray(location_of(prediction), dtype=float)}
        scale = scale_of(prediction)
        if scale is not None:
            numbers["scale"] = np.asarray(scale, dtype=float)
        return numbers

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """The counterpart in terms of its slots: arrays, or CVXPY parameters.

            support(v) = min over u >= 0 of  budget * u + u * loss*(v / u),

        with one multiplier u for all components (Ben-Tal, den Hertog & Vial 2015).
        With parameters the expression follows CVXPY's DPP rules, so that one compiled
        program serves every context.
        """
        multiplier = cp.Variable(nonneg=True)
        at = prediction_in(slots)
        dual = self.excess_conjugate(direction, multiplier, at)
        return Epigraph(slots["budget"] * multiplier + dual.value, dual.constraints)

    def excess_conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """`conjugate` of the loss less its floor; the same where the floor is 0.

        The location and scale of the prediction are those of `shape_slots`.
        """
        return self.conjugate(slope, multiplier, prediction)

    def block_numbers(self, dim: int) -> Indices:
        """Which components of its sets move together: numbers of blocks, (dim,).

        Components that share a budget do; a loss whose sets are products overrides
        this.
        """
        return np.zeros(dim, dtype=int)

    @property
    def has_slots(self) -> bool:
        """Whether `bound` also takes CVXPY parameters: whether it can be compiled."""
        return self.exact_dual

    def compiles(self, prediction: AnyPrediction | None = None) -> bool:
        """Whether one program serves its sets at predictions like this one; without
        one, at some.
        """
        del prediction
        return self.has_slots

    def narrowed(self, entries: Entries) -> Loss | None:
        """The loss of some components alone, where the others cannot matter to a
        direction that does not see them; None where they can.
        """
        del entries
        return None

    def shadow(
        self, prediction: AnyPrediction, budget: Array, entries: Entries
    ) -> tuple[Loss, Prediction, Array] | None:
        """The sets of n contexts seen on some components alone: the loss, prediction
        and budgets (n,) that have these for sublevel sets; None where none have.

        Of a sum, which this is for, the other components cost their least. `budget`
        is at least `floor(prediction)`.
        """
        loss = self.narrowed(entries)
        if loss is None or not isinstance(prediction, Prediction):
            return None
        seen = prediction.on(entries)
        return loss, seen, budget - self.floor(prediction) + loss.floor(seen)

    def _one_by_one(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        directions = np.atleast_2d(direction)
        each = prediction if isinstance(prediction, KINDS) else np.asarray(prediction)
        rows = max(len(each), len(directions))
        budgets = np.broadcast_to(budget, rows)
        directions = np.broadcast_to(directions, (rows, directions.shape[-1]))
        return np.stack(
            [self.worst_case(each[i], budgets[i], directions[i]) for i in range(rows)]
        )


#: What `get` makes a loss of: a loss, its name, or a CVXPY-convex function.
LossLike = Loss | str | Callable[..., Any]


def conjugate_bound(
    loss: Loss, prediction: Forecast, budget: float | Array, direction: cp.Expression
) -> Epigraph:
    """The counterpart straight from the conjugate, floor and all."""
    multiplier = cp.Variable(nonneg=True)
    dual = loss.conjugate(direction, multiplier, prediction)
    return Epigraph(budget * multiplier + dual.value, dual.constraints)


def met(
    owner: str, prediction: Forecast, outcome: npt.ArrayLike
) -> tuple[AnyPrediction | Array, Array]:
    """A prediction and outcomes that belong to it, as numbers.

    Examples
    --------
    >>> met("Squared", [1.0, 2.0], [1, 3])[1]
    array([1., 3.])
    """
    if not isinstance(prediction, KINDS) and is_expression(prediction):
        raise InvalidParameter(
            f"{owner}.score(prediction, outcome) must be given numbers, got the CVXPY "
            f"expression {prediction}. Use {owner}.expression."
        )
    if not isinstance(prediction, KINDS):
        prediction = as_numbers(owner, "prediction", prediction)
    if isinstance(prediction, Prediction):
        shape = np.shape(prediction.location)
    else:
        shape = np.shape(point_of(prediction))
    vectors = as_numbers(owner, "outcome", outcome)
    if not shape or vectors.shape[-1:] != shape[-1:]:
        raise InvalidParameter(
            f"{owner}.score(prediction, outcome) must be given as many components of "
            f"the outcome as are predicted, got shapes {shape} and {vectors.shape}."
        )
    return prediction, vectors


def location_of(prediction: Forecast) -> Array:
    """The location of a Prediction, or the array itself; a CVXPY parameter stays one.

    Examples
    --------
    >>> location_of([1.0, 2.0])
    array([1., 2.])
    """
    location: Any = prediction
    if isinstance(prediction, Prediction):
        location = prediction.location
        if type(location) is np.ndarray:
            return location
    elif isinstance(prediction, KINDS):
        as_kind("a loss of numbers", prediction, Prediction)
    numbers: Array
    numbers = location if is_expression(location) else np.asarray(location)
    return numbers


def scale_of(prediction: Forecast) -> Array | None:
    """The spread of a Prediction that has one."""
    return prediction.scale if isinstance(prediction, Prediction) else None


def factor_of(prediction: Forecast) -> Array | None:
    """The factor of the covariance of a Prediction that has one."""
    return prediction.factor if isinstance(prediction, Prediction) else None


def triangle_of(factor: Array) -> Array:
    """A lower triangular factor (..., m, m) as the slot that holds it.

    Examples
    --------
    >>> triangle_of(np.array([[1.0, 0.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    rows, columns = np.triu_indices(factor.shape[-1])
    return np.asarray(factor[..., columns, rows], dtype=float)


def prediction_in(slots: Slots, prefix: str = "") -> Prediction:
    """The prediction that slots hold: numbers, or CVXPY parameters."""
    triangle = slots.get(f"{prefix}{TRIANGLE}")
    factor = None if triangle is None else cp.vec_to_upper_tri(triangle).T
    scale = slots.get(f"{prefix}scale")
    return Prediction(slots[f"{prefix}location"], scale, factor=factor)


def as_kind(owner: str, prediction: Forecast, kind: type[Kind]) -> Kind:
    """The prediction, which must be of one kind.

    Examples
    --------
    >>> as_kind("Squared", Prediction(np.zeros(2)), Prediction).width
    2
    """
    if not isinstance(prediction, kind):
        raise InvalidParameter(
            f"{owner} must be given a {kind.__name__}, got {briefly(prediction)}."
        )
    return prediction


def per_row(values: npt.ArrayLike) -> Array:
    """Budgets of shape (...) ready to meet components of shape (..., m)."""
    return np.asarray(values, dtype=float)[..., None]
