"""The uncertainty set of the paper: outcomes whose loss is within the budget.

    U(X) = { y : loss(y, prediction at X) <= budget }

(Bertsimas & Boucher). Where the budget lies below the least loss any outcome has, the
set would be empty; it is then the outcome of least loss, which can only add coverage.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import (
    COARSE,
    ROUNDED,
    Array,
    BoolArray,
    are_laws,
    as_vector,
    briefly,
    is_number,
)
from ..conic.program import Indices
from ..deferred import cp
from ..errors import InvalidParameter, Unbounded
from ..labels import are_affordable
from ..losses import Combined, LabelLoss, Loss
from ..losses import get as get_loss
from ..losses.base import Forecast, LossLike
from ..losses.by_solver import within_budget
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Prediction,
)
from .base import UncertaintySet
from .label_set import LabelSet
from .uniform import polar_volume


@dataclass(frozen=True, eq=False, repr=False)
class Sublevel(UncertaintySet):
    """Outcomes whose loss, given one context's prediction, is at most the budget.

    Parameters
    ----------
    loss : Loss
    prediction : Prediction of one context
    budget : float
        Loss level; may be inf.

    Examples
    --------
    >>> from sublevel.losses import Squared
    >>> from sublevel.predictions import Prediction
    >>> U = Sublevel(Squared(), Prediction(np.zeros(2)), budget=4.0)
    >>> U.support([1.0, 0.0]), U.contains([[1.0, 1.0], [2.0, 2.0]])
    (2.0, array([ True, False]))
    """

    loss: Loss
    prediction: AnyPrediction
    budget: float

    if TYPE_CHECKING:

        def __init__(
            self, loss: LossLike, prediction: Forecast, budget: float
        ) -> None: ...

    def __post_init__(self) -> None:
        if not is_number(self.budget):
            raise InvalidParameter(
                f"Sublevel(budget=...) must be a number, got {briefly(self.budget)}."
            )
        as_vector(OWNER, "budget", self.budget, 1, finite=False)
        loss = get_loss(self.loss)
        prediction = one_context(loss, self.prediction)
        object.__setattr__(self, "loss", loss.settled(prediction))
        object.__setattr__(self, "budget", float(self.budget))
        object.__setattr__(self, "prediction", prediction)

    @property
    def dim(self) -> int:
        """Number of components of an outcome."""
        return int(self.prediction.width)

    @property
    def effective_budget(self) -> float:
        """The budget, or the least loss any outcome has where that is more."""
        return max(float(self.budget), float(self.loss.floor(self.prediction)))

    @property
    def radius(self) -> float | None:
        """Norm radius, where the loss is a norm."""
        return self.loss.radius(self.effective_budget)

    def conditions(self, outcome: cp.Expression) -> list[cp.Constraint]:
        """Loss at most the budget, in units of the set, and the loss's own domain."""
        if self.effective_budget == inf:
            return list(self.loss.domain(self.prediction, outcome))
        ball = self.loss.ball(self.prediction, self.effective_budget)
        if ball is not None and ball.radius == 0:
            return [outcome == ball.center]
        budget = self.effective_budget
        return within_budget(self.loss, self.prediction, outcome, budget)

    def blocks(self) -> Indices:
        return self.loss.block_numbers(self.dim)

    @property
    def is_bounded(self) -> bool:
        """Whether the budget is finite."""
        return bool(np.isfinite(self.budget)) and super().is_bounded

    def membership(self, outcomes: Array, tol: float) -> BoolArray:
        return membership(self.loss, self.prediction, self.budget, outcomes, tol)

    def maximiser(self, direction: Array) -> Array:
        if self.effective_budget == inf:
            raise Unbounded(
                f"The worst case over the sublevel set of {type(self.loss).__name__} "
                "is infinite: the budget is inf. Calibrate with more data, or at a "
                "larger alpha."
            )
        return np.asarray(
            self.loss.worst_case(self.prediction, self.effective_budget, direction)
        )

    def maxima(self, directions: Array) -> Array | None:
        if not self.loss.closed_form or self.effective_budget == inf:
            return None
        budget = self.effective_budget
        return self.loss.support(self.prediction, budget, directions)

    def maximum(self, direction: Array) -> float:
        if self.effective_budget == inf and not direction.any():
            return 0.0
        return super().maximum(direction)

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        ball = self.loss.ball(self.prediction, self.effective_budget)
        return super().draw(size, rng) if ball is None else ball.sample(size, rng)

    def measure(self) -> float:
        ball = self.loss.ball(self.prediction, self.effective_budget)
        if ball is not None:
            return float(ball.volume())
        # A user's own function is evaluated outcome by outcome: fewer directions keep
        # this to a few seconds, at an error of a few per cent.
        return polar_volume(self, 16_000 if self.loss.closed_form else 500)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.loss!r}, dim={self.dim}, "
            f"budget={self.budget:.6g})"
        )


def membership(
    loss: Loss,
    prediction: AnyPrediction,
    budgets: npt.ArrayLike,
    outcomes: Array,
    tol: float,
) -> BoolArray:
    """Whether outcomes are in sublevel sets: of one context, or each in its own.

    The one place that decides it, for set values and for batches of them.

    Parameters
    ----------
    loss : Loss
    prediction : of one context, or of n
    budgets : float, or array of shape (n,)
    outcomes : array of shape (n, m)
    tol : float
        Relative slack; the boundary counts as inside.

    Returns
    -------
    boolean array of shape (n,)

    Examples
    --------
    >>> from sublevel.losses import Squared
    >>> at = Prediction(np.array([[0.0], [3.0]]))
    >>> outcomes = np.array([[1.0], [1.0]])
    >>> membership(Squared(), at, np.ones(2), outcomes, tol=0.0)
    array([ True, False])
    """
    return memberships(loss, prediction, budgets, [(outcomes, tol)])[0]


def memberships(
    loss: Loss,
    prediction: AnyPrediction,
    budgets: npt.ArrayLike,
    trials: Sequence[tuple[Array, float]],
) -> list[BoolArray]:
    """The same of several outcomes a context, each with a slack of its own.

    What sets are the same for all of them is worked out once.
    """
    costs = _label_costs(loss, prediction)
    if costs is not None:
        return [are_affordable(costs, budgets, *trial) for trial in trials]
    floors = np.asarray(loss.floor(prediction), dtype=float)
    effective = np.maximum(budgets, floors)
    answers = []
    # A loss too large for a float is larger than any budget.
    with np.errstate(over="ignore", invalid="ignore"):
        if loss.norm_power is not None:
            room = effective - floors
            radius = room, _rounded_norm(loss, prediction, room, trials[0][0])
        for outcomes, tol in trials:
            if loss.norm_power is None:
                scores = loss.score(prediction, outcomes)
                rounding = loss.rounding(prediction, outcomes)
                inside = _within(scores, effective, floors, tol, rounding)
                inside |= _at_point(loss, prediction, effective, outcomes)
            else:
                inside = _within_radius(loss, prediction, *radius, outcomes, tol)
            admitted = np.asarray(loss.admits(prediction, outcomes))
            answers.append(np.asarray(admitted & (inside | (effective == inf))))
    return answers


def _within(
    scores: Array, budgets: Array, floors: Array, tol: float, rounding: Array
) -> BoolArray:
    """Whether each score is within its budget, the boundary included.

    The slack is relative to the budget above the least loss, so it means the same in
    any units; beyond it, only the rounding of the scores themselves is forgiven.
    """
    above = np.where(np.isfinite(floors), budgets - floors, np.abs(budgets))
    above = np.where(np.isfinite(above), above, 0.0)
    return np.asarray(scores <= budgets + tol * above + rounding)


def _at_point(
    loss: Loss, prediction: AnyPrediction, budgets: Array, outcomes: Array
) -> BoolArray:
    """Whether outcomes are what is predicted, but for rounding, and that is inside.

    A set of one outcome has no width that a slack could be relative to.
    """
    point = np.asarray(prediction.point, dtype=float)
    size = np.abs(point).max(axis=-1, keepdims=True)
    near = (np.abs(outcomes - point) <= 1e-10 * size).all(axis=-1)
    return np.asarray(near & (loss.score(prediction, point) <= budgets))


def _within_radius(
    loss: Loss,
    prediction: AnyPrediction,
    room: Array,
    rounding: Array,
    outcomes: Array,
    tol: float,
) -> BoolArray:
    """The same where sets are balls: the slack is relative to the radius."""
    root = 1 / (loss.norm_power or 1.0)
    norms = loss.excess(prediction, outcomes) ** root
    return np.asarray(norms <= room**root * (1 + tol) + rounding)


def _rounded_norm(
    loss: Loss, prediction: AnyPrediction, room: Array, outcomes: Array
) -> Array:
    """Rounding of an outcome is relative to its size, not to that of the set.

    An entry that is the predicted one is not rounded: what hardly varies beside its
    size, as cash does, says nothing about the others.
    """
    root = 1 / (loss.norm_power or 1.0)
    rounding = ROUNDED * loss.excess(prediction, np.zeros(outcomes.shape[-1])) ** root
    fine = np.asarray(rounding <= COARSE * room**root)
    if fine.all():
        return np.asarray(rounding)
    point = np.asarray(prediction.point, dtype=float)
    moved = np.where(outcomes == point, point, 0.0)
    # Each set by itself: what is inside must not depend on the rest of a batch.
    own = ROUNDED * loss.excess(prediction, moved) ** root
    return np.asarray(np.where(fine, rounding, own))


def sublevel_set(
    loss: LossLike,
    prediction: Forecast,
    budget: float,
    classes: Iterable[Iterable[Hashable]] | None = None,
) -> UncertaintySet:
    """The set of one context: a LabelSet for labels, a Mixed set for numbers and
    labels together, a Sublevel otherwise.
    """
    from .mixed import Mixed, has_labels

    loss = get_loss(loss)
    costs = _label_costs(loss, one_context(loss, prediction))
    if costs is not None:
        return LabelSet(costs, budget, classes=classes)
    if has_labels(loss):
        return Mixed(loss, prediction, budget)
    return Sublevel(loss, prediction, budget)


def _label_costs(loss: Loss, prediction: AnyPrediction) -> tuple[Array, ...] | None:
    """Cost of every class of every block, or None where some block is not a label."""
    if isinstance(loss, LabelLoss):
        return loss.costs(prediction)
    if not isinstance(loss, Combined):
        return None
    labels = [part for part in loss.losses if isinstance(part, LabelLoss)]
    if len(labels) < len(loss.losses):
        return None
    blocks = zip(labels, loss.blocks(prediction, prediction.point), strict=True)
    return tuple(
        cost / block.weight
        for part, block in blocks
        for cost in part.costs(block.prediction)
    )


OWNER = "Sublevel"


def one_context(loss: Loss, prediction: Forecast) -> AnyPrediction:
    """A prediction with arrays of shape (m,) that has what the loss needs.

    Examples
    --------
    >>> from sublevel.losses import Squared
    >>> one_context(Squared(), [1.0, 2.0]).location
    array([1., 2.])
    """
    one: AnyPrediction
    if isinstance(loss, Combined):
        one = _joint(loss, prediction)
    elif loss.needs == "labels":
        one = _labels(loss, prediction)
    else:
        one = _numbers(loss, prediction)
    loss.check(one)
    return one


def _numbers(loss: Loss, prediction: Forecast) -> Prediction:
    if isinstance(prediction, LabelPrediction | JointPrediction):
        raise _wrong(loss, "a Prediction", prediction)
    if not isinstance(prediction, Prediction):
        prediction = Prediction(prediction)
    location = as_vector(OWNER, "prediction", prediction.location)
    scale = prediction.scale
    if scale is not None:
        scale = as_vector(OWNER, "scale", scale, location.size)
    if scale is not None and (scale < 0).any():
        raise InvalidParameter(
            f"Sublevel(prediction=...) must have no negative spread, got {scale}."
        )
    if loss.needs == "spread" and (scale is None or (scale == 0).any()):
        raise InvalidParameter(
            f"Sublevel(prediction=...) must have a positive spread for "
            f"{type(loss).__name__}, got {scale}. Say Prediction(location, scale)."
        )
    return Prediction(location, scale, factor=prediction.factor)


def _labels(loss: Loss, prediction: Forecast) -> LabelPrediction:
    if not isinstance(prediction, LabelPrediction) or not prediction.values:
        raise _wrong(loss, "a LabelPrediction with a block of classes", prediction)
    probabilities = _blocks("probabilities", prediction.probabilities)
    for k, law in enumerate(probabilities or ()):
        if not are_laws(law):
            raise InvalidParameter(
                f"Sublevel(probabilities[{k}]=...) must be at least 0 and sum to 1, "
                f"got {briefly(law.tolist())}. Give logits as margins=."
            )
    return LabelPrediction(probabilities, _blocks("margins", prediction.margins))


def _blocks(name: str, blocks: Iterable[Array] | None) -> tuple[Array, ...] | None:
    if blocks is None:
        return None
    return tuple(as_vector(OWNER, f"{name}[{k}]", b) for k, b in enumerate(blocks))


def _joint(loss: Combined, prediction: Forecast) -> JointPrediction:
    parts = prediction.parts if isinstance(prediction, JointPrediction) else ()
    if len(parts) != len(loss.losses):
        wanted = f"a JointPrediction of {len(loss.losses)} parts, one a loss"
        raise _wrong(loss, wanted, prediction)
    pairs = zip(loss.losses, parts, strict=True)
    return JointPrediction(tuple(one_context(block, part) for block, part in pairs))


def _wrong(loss: Loss, wanted: str, prediction: Forecast) -> InvalidParameter:
    return InvalidParameter(
        f"Sublevel(prediction=...) must be {wanted}, for {type(loss).__name__}, got "
        f"{prediction!r}."
    )
