"""Several losses in one: models of different kinds share one budget.

    loss(y) = sum_b loss_b(y_b) / weight_b,   weight_b = mean training loss of block b.

With these weights every block contributes one unit on average: the homoscedastic
weighting of Kendall, Gal & Cipolla (2018), whose factor for classification cancels and
whose constant, sum_b log(factor_b mean_b), calibration absorbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_vector, briefly
from ..deferred import cp
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..predictions import AnyPrediction, JointPrediction, Prediction
from .base import (
    Forecast,
    Loss,
    LossLike,
    Slots,
    as_kind,
    conjugate_bound,
    prediction_in,
)
from .label_slots import (
    MOST_COMBINATIONS,
    budgets_left,
    count_combinations,
    label_slot,
    label_slots,
)
from .labels import LabelLoss, split_blocks
from .shared_budget import Block, mix_labels, share_budget

#: A block that was never wrong in training still gets a positive weight.
LEAST_WEIGHT = 1e-9


@dataclass(frozen=True)
class Combined(Loss):
    """Weighted sum of losses, one a block of components, each with its own model.

    Parameters
    ----------
    losses : sequence of losses or their names
    weights : tuple of positive floats, optional
        If left open, LossSet.fit sets them to the mean out-of-fold training losses.

    Examples
    --------
    >>> from sublevel.losses import Absolute, Squared
    >>> from sublevel.predictions import JointPrediction, Prediction
    >>> both = JointPrediction((Prediction(np.zeros(1)), Prediction(np.zeros(1))))
    >>> loss = Combined([Squared(), Absolute()], weights=(4.0, 1.0))
    >>> loss.components(both, np.array([2.0, 3.0]))
    array([1., 3.])
    """

    losses: tuple[Loss, ...]
    weights: tuple[float, ...] | None = None

    if TYPE_CHECKING:

        def __init__(
            self, losses: Iterable[LossLike], weights: npt.ArrayLike | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        from . import get

        given: object = self.losses
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidParameter(
                "Combined(losses=...) must be a list of losses, one a block, got "
                f"{briefly(given)}."
            )
        losses = tuple(get(loss) for loss in given)
        if not losses or any(isinstance(loss, Combined) for loss in losses):
            raise InvalidParameter(
                "Combined(losses=...) must be a non-empty list of losses, none of them "
                f"Combined itself, got {list(given)}. List all the losses."
            )
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "needs", tuple(loss.needs for loss in losses))
        if self.weights is None:
            return
        weights = as_vector("Combined", "weights", self.weights, len(losses))
        if (weights <= 0).any():
            raise InvalidParameter(
                f"Combined(weights=...) must be positive, got {weights.min()}."
            )
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    def components(self, prediction: Forecast, outcome: Array) -> Array:
        """Weighted loss of each block, shape (..., number of blocks)."""
        blocks = self.blocks(prediction, outcome)
        paid = [loss.score(part, y) / w for loss, w, part, y in blocks]
        return np.stack(paid, axis=-1)

    def expression(self, prediction: Forecast, outcome: cp.Expression) -> cp.Expression:
        """Weighted sum of the blocks' expressions."""
        blocks = self.blocks(prediction, outcome)
        terms = [loss.expression(part, y) / w for loss, w, part, y in blocks]
        return sum(terms[1:], terms[0])

    def unit_expression(
        self, prediction: Forecast, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Sum of the blocks' own, each at its weight's share of the excess."""
        terms = [
            loss.unit_expression(part, y, w * excess)
            for loss, w, part, y in self.blocks(prediction, outcome)
        ]
        return sum(terms[1:], terms[0])

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Forecast
    ) -> Epigraph:
        """Blocks' conjugates, each at the shared multiplier divided by its weight."""
        duals = [
            loss.conjugate(v, multiplier / w, part)
            for loss, w, part, v in self.blocks(prediction, slope)
        ]
        value = sum((dual.value for dual in duals[1:]), duals[0].value)
        return Epigraph(value, [c for dual in duals for c in dual.constraints])

    def counterpart(
        self, prediction: Forecast, budget: float | Array, direction: cp.Expression
    ) -> Epigraph:
        """By the conjugate; where there are labels, of their relaxation."""
        if self.has_slots:
            return super().counterpart(prediction, budget, direction)
        return conjugate_bound(self, prediction, budget, direction)

    def slots(self, prediction: Forecast, budget: float | Array) -> Slots:
        """The blocks' locations and spreads, numbered, and the budget they share.

        With labels, for each combination of these what it is and what it leaves to
        the numbers.
        """
        slots: Slots = {}
        for k, (loss, part) in enumerate(
            zip(self.losses, joint(prediction).parts, strict=True)
        ):
            if not isinstance(loss, LabelLoss):
                own = loss.shape_slots(part)
                slots |= {f"{k}.{name}": v for name, v in own.items()}
        above = np.asarray(budget, dtype=float) - self.floor(prediction)
        if not self.has_labels:
            return {**slots, "budget": above}
        blocks = self.blocks(prediction, joint(prediction).point)
        return slots | label_slots(blocks, above)

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """One multiplier for all blocks: they share the budget.

        With labels, one for each combination of these, and the worst of them.
        """
        parts = tuple(
            Prediction(slots[label_slot(k, 0)])
            if isinstance(loss, LabelLoss)
            else prediction_in(slots, f"{k}.")
            for k, loss in enumerate(self.losses)
        )
        blocks = self.blocks(JointPrediction(parts), direction)
        numbers = [b for b in blocks if not isinstance(b.loss, LabelLoss)]
        if not self.has_labels:
            return _shared(numbers, slots["budget"])
        bounds = []
        for number, budget in enumerate(budgets_left(slots)):
            bound = _shared(numbers, budget)
            for k, block in enumerate(blocks):
                if isinstance(block.loss, LabelLoss):
                    gain = slots[label_slot(k, number)] @ block.vector
                    bound = Epigraph(bound.value + gain, bound.constraints)
            bounds.append(bound)
        worst = cp.max(cp.hstack([bound.value for bound in bounds]))
        return Epigraph(worst, [c for bound in bounds for c in bound.constraints])

    @property
    def has_labels(self) -> bool:
        """Whether some block is one of labels."""
        return any(isinstance(loss, LabelLoss) for loss in self.losses)

    @property
    def has_slots(self) -> bool:
        """Whether every block's."""
        return all(loss.has_slots for loss in self.losses)

    def compiles(self, prediction: AnyPrediction | None = None) -> bool:
        """Whether every block has slots, but for labels of few combinations."""
        numbers = [b for b in self.losses if not isinstance(b, LabelLoss)]
        if not all(loss.has_slots for loss in numbers):
            return False
        if prediction is None or not self.has_labels:
            return True
        blocks = self.blocks(prediction, joint(prediction).point)
        return count_combinations(blocks) <= MOST_COMBINATIONS

    def domain(
        self, prediction: Forecast, outcome: cp.Expression
    ) -> list[cp.Constraint]:
        """The blocks' domains."""
        blocks = self.blocks(prediction, outcome)
        return [c for loss, _, part, y in blocks for c in loss.domain(part, y)]

    def admits(self, prediction: Forecast, outcome: Array) -> BoolArray:
        """Whether each block is in its domain."""
        blocks = self.blocks(prediction, outcome)
        inside = [loss.admits(part, y) for loss, _, part, y in blocks]
        return np.asarray(np.all(inside, axis=0))

    def floor(self, prediction: Forecast) -> Array:
        """Weighted sum of the blocks' least losses."""
        blocks = self.blocks(prediction, joint(prediction).point)
        return np.asarray(sum(loss.floor(part) / w for loss, w, part, _ in blocks))

    def check(self, prediction: AnyPrediction) -> None:
        """Every block's own check, and the weights must be there."""
        for loss, _, part, _ in self.blocks(prediction, joint(prediction).point):
            loss.check(part)

    @property
    def exact_dual(self) -> bool:
        """Whether every block's is."""
        return all(loss.exact_dual for loss in self.losses)

    @property
    def closed_form(self) -> bool:
        """Whether every block's worst case is."""
        return all(loss.closed_form for loss in self.losses)

    @property
    def is_open(self) -> bool:
        """Whether weights, or a block's own parameters, are still to be learned."""
        return self.weights is None or any(loss.is_open for loss in self.losses)

    def settled(self, prediction: AnyPrediction) -> Combined:
        """Each block's loss as it is for its own part."""
        pairs = zip(self.losses, joint(prediction).parts, strict=True)
        own = tuple(loss.settled(part) for loss, part in pairs)
        return self if own == self.losses else type(self)(own, self.weights)

    def example(self, dim: int) -> None:
        """None: how wide the blocks are, the predictions say."""
        del dim

    def learn(self, prediction: Forecast, outcome: Array) -> Combined:
        """The blocks' own parameters, then weights = mean training losses."""
        parts = joint(prediction).parts
        pairs = list(zip(parts, _split(outcome, parts), strict=True))
        losses = tuple(
            loss.learn(*pair) for loss, pair in zip(self.losses, pairs, strict=True)
        )
        if self.weights is not None:
            return type(self)(losses, self.weights)
        means = [
            float(np.mean(loss.score(*pair)))
            for loss, pair in zip(losses, pairs, strict=True)
        ]
        for loss, mean in zip(losses, means, strict=True):
            if not 0 <= mean < np.inf:
                raise InvalidParameter(
                    f"Combined needs losses of positive, finite mean to weight them, "
                    f"got {mean:.4g} for {type(loss).__name__}. Give weights=, or use "
                    "another loss for this block (Gaussian in place of NLL)."
                )
        return type(self)(losses, np.maximum(means, LEAST_WEIGHT))

    def worst_case(
        self, prediction: Forecast, budget: float | Array, direction: npt.ArrayLike
    ) -> Array:
        """Exact, labels included.

        Labels and numbers compete for one budget: for every label combination worth
        its cost (the Pareto frontier), the numbers get what is left.
        """
        direction = np.asarray(direction, dtype=float)
        labels = [isinstance(loss, LabelLoss) for loss in self.losses]
        many = joint(prediction).point.ndim > 1 or direction.ndim > 1
        if many and (any(labels) or not self.closed_form):
            return self._one_by_one(prediction, budget, direction)
        if not self.closed_form and not any(labels):
            return super().worst_case(prediction, budget, direction)
        blocks = self.blocks(prediction, direction)
        if not any(labels):
            return np.concatenate(share_budget(blocks, budget), axis=-1)
        return mix_labels(blocks, float(budget), self._numbers_worst(blocks))

    def _numbers_worst(self, blocks: list[Block]) -> Callable[[float], Array]:
        """Worst case of the numeric blocks alone, as a function of their budget."""

        def worst(budget: float) -> Array:
            kept = [
                k for k, b in enumerate(blocks) if not isinstance(b.loss, LabelLoss)
            ]
            part = JointPrediction(tuple(blocks[k].prediction for k in kept))
            direction = np.concatenate([blocks[k].vector for k in kept])
            return self.of_blocks(kept).worst_case(part, budget, direction)

        return worst

    def blocks(
        self, prediction: Forecast, outcome: Array | cp.Expression
    ) -> list[Block]:
        """Each loss with its weight, its prediction and its part of the outcome."""
        if self.weights is None:
            raise InvalidParameter(
                "Combined(weights=None) is learned from training losses: call "
                "LossSet.fit(X_train, Y_train) first, or give the weights."
            )
        parts = joint(prediction).parts
        rows = zip(
            self.losses, self.weights, parts, _split(outcome, parts), strict=True
        )
        return list(starmap(Block, rows))

    def of_blocks(self, kept: Iterable[int]) -> Combined:
        """Some of the losses, at their weights."""
        kept = list(kept)
        weights = None if self.weights is None else [self.weights[k] for k in kept]
        return Combined([self.losses[k] for k in kept], weights)


def joint(prediction: Forecast) -> JointPrediction:
    """A prediction of several blocks."""
    return as_kind("Combined", prediction, JointPrediction)


def _shared(blocks: list[Block], budget: Any) -> Epigraph:
    """The bound of blocks of numbers that share a budget above their least losses."""
    multiplier = cp.Variable(nonneg=True)
    duals = [
        loss.excess_conjugate(v, multiplier / w, part) for loss, w, part, v in blocks
    ]
    value = sum((dual.value for dual in duals), budget * multiplier)
    return Epigraph(value, [c for dual in duals for c in dual.constraints])


def _split(
    values: Array | cp.Expression, parts: tuple[AnyPrediction, ...]
) -> list[Any]:
    return split_blocks(values, [np.empty(part.width) for part in parts])
