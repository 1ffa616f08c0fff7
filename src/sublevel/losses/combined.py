"""Several losses in one: models of different kinds share one budget.

    loss(y) = sum_b loss_b(y_b) / weight_b,   weight_b = mean training loss of block b.

With these weights every block contributes one unit on average: the homoscedastic
weighting of Kendall, Gal & Cipolla (2018), whose factor for classification cancels and
whose constant, sum_b log(factor_b mean_b), calibration absorbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array, as_vector, briefly
from ..epigraph import Epigraph
from ..errors import InvalidParameter
from ..predictions import JointPrediction, Prediction
from .base import Loss, Slots, conjugate_bound
from .labels import LabelLoss, split_blocks
from .shared_budget import mix_labels, share_budget

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
    >>> said = JointPrediction((Prediction(np.zeros(1)), Prediction(np.zeros(1))))
    >>> loss = Combined([Squared(), Absolute()], weights=(4.0, 1.0))
    >>> loss.components(said, np.array([2.0, 3.0]))
    array([1., 3.])
    """

    losses: Any
    weights: Any = None

    def __post_init__(self) -> None:
        from . import get

        given = self.losses
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidParameter(
                "Combined(losses=...) must be a list of losses, one a block, got "
                f"{briefly(given)}."
            )
        losses = tuple(get(loss) for loss in given)
        if not losses or any(isinstance(loss, Combined) for loss in losses):
            raise InvalidParameter(
                "Combined(losses=...) must be a non-empty list of losses, none of them "
                f"Combined itself, got {list(self.losses)}. List all the losses."
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

    def components(self, prediction: Any, outcome: Any) -> Array:
        """Weighted loss of each block, shape (..., number of blocks)."""
        blocks = self._blocks(prediction, outcome)
        paid = [loss.score(said, y) / w for loss, w, said, y in blocks]
        return np.stack(paid, axis=-1)

    def expression(self, prediction: Any, outcome: cp.Expression) -> cp.Expression:
        """Weighted sum of the blocks' expressions."""
        blocks = self._blocks(prediction, outcome)
        terms = [loss.expression(said, y) / w for loss, w, said, y in blocks]
        return sum(terms[1:], terms[0])

    def unit_expression(
        self, prediction: Any, outcome: cp.Expression, excess: float
    ) -> cp.Expression:
        """Sum of the blocks' own, each at its weight's share of the excess."""
        terms = [
            loss.unit_expression(said, y, w * excess)
            for loss, w, said, y in self._blocks(prediction, outcome)
        ]
        return sum(terms[1:], terms[0])

    def conjugate(
        self, slope: cp.Expression, multiplier: cp.Expression, prediction: Any
    ) -> Epigraph:
        """Blocks' conjugates, each at the shared multiplier divided by its weight."""
        duals = [
            loss.conjugate(v, multiplier / w, said)
            for loss, w, said, v in self._blocks(prediction, slope)
        ]
        value = sum((dual.value for dual in duals[1:]), duals[0].value)
        return Epigraph(value, [c for dual in duals for c in dual.constraints])

    def counterpart(
        self, prediction: Any, budget: Any, direction: cp.Expression
    ) -> Epigraph:
        """By the conjugate; where there are labels, of their relaxation."""
        if self.has_slots:
            return super().counterpart(prediction, budget, direction)
        return conjugate_bound(self, prediction, budget, direction)

    def slots(self, prediction: Any, budget: Any) -> Slots:
        """The blocks' locations and spreads, numbered, and the budget they share."""
        found: Slots = {}
        for k, (loss, _, said, _) in enumerate(
            self._blocks(prediction, prediction.point)
        ):
            parts = Loss.slots(loss, said, 0.0)
            found |= {f"{k}.{name}": v for name, v in parts.items() if name != "budget"}
        above = np.asarray(budget, dtype=float) - self.floor(prediction)
        return {**found, "budget": above}

    def bound(self, slots: Slots, direction: cp.Expression) -> Epigraph:
        """One multiplier for all blocks: they share the budget."""
        multiplier = cp.Variable(nonneg=True)
        parts = tuple(
            Prediction(slots[f"{k}.location"], slots.get(f"{k}.scale"))
            for k in range(len(self.losses))
        )
        duals = [
            loss.excess_conjugate(v, multiplier / w, said)
            for loss, w, said, v in self._blocks(JointPrediction(parts), direction)
        ]
        value = sum((dual.value for dual in duals), slots["budget"] * multiplier)
        return Epigraph(value, [c for dual in duals for c in dual.constraints])

    @property
    def has_slots(self) -> bool:
        """Whether every block's."""
        return all(loss.has_slots for loss in self.losses)

    def domain(self, prediction: Any, outcome: cp.Expression) -> list[cp.Constraint]:
        """The blocks' domains."""
        blocks = self._blocks(prediction, outcome)
        return [c for loss, _, said, y in blocks for c in loss.domain(said, y)]

    def admits(self, prediction: Any, outcome: Array) -> Any:
        """Whether each block is in its domain."""
        blocks = self._blocks(prediction, outcome)
        return np.all([loss.admits(said, y) for loss, _, said, y in blocks], axis=0)

    def floor(self, prediction: Any) -> Array:
        """Weighted sum of the blocks' least losses."""
        blocks = self._blocks(prediction, prediction.point)
        return np.asarray(sum(loss.floor(said) / w for loss, w, said, _ in blocks))

    def check(self, prediction: Any) -> None:
        """Every block's own check, and the weights must be known."""
        for loss, _, said, _ in self._blocks(prediction, prediction.point):
            loss.check(said)

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

    def learn(self, prediction: Any, outcome: Array) -> Combined:
        """The blocks' own parameters, then weights = mean training losses."""
        parts = _split(outcome, prediction)
        triples = zip(self.losses, prediction.parts, parts, strict=True)
        losses = tuple(loss.learn(said, y) for loss, said, y in triples)
        if self.weights is not None:
            return replace(self, losses=losses)
        triples = zip(losses, prediction.parts, parts, strict=True)
        means = [float(np.mean(loss.score(said, y))) for loss, said, y in triples]
        for loss, mean in zip(losses, means, strict=True):
            if not 0 <= mean < np.inf:
                raise InvalidParameter(
                    f"Combined needs losses of positive, finite mean to weight them, "
                    f"got {mean:.4g} for {type(loss).__name__}. Give weights=, or use "
                    "another loss for this block (Gaussian in place of NLL)."
                )
        return replace(self, losses=losses, weights=np.maximum(means, LEAST_WEIGHT))

    def worst_case(self, prediction: Any, budget: Any, direction: Any) -> Array:
        """Exact, labels included.

        Labels and numbers compete for one budget: for every label combination worth
        its cost (the Pareto frontier), the numbers get what is left.
        """
        direction = np.asarray(direction, dtype=float)
        labels = [isinstance(loss, LabelLoss) for loss in self.losses]
        many = prediction.point.ndim > 1 or direction.ndim > 1
        if many and (any(labels) or not self.closed_form):
            return self._one_by_one(prediction, budget, direction)
        if not self.closed_form and not any(labels):
            return super().worst_case(prediction, budget, direction)
        blocks = self._blocks(prediction, direction)
        if not any(labels):
            return np.concatenate(share_budget(blocks, budget), axis=-1)
        return mix_labels(blocks, float(budget), self._numbers_worst(blocks))

    def _numbers_worst(self, blocks: list[Any]) -> Callable[[float], Array]:
        """Worst case of the numeric blocks alone, as a function of their budget."""
        kept = [block for block in blocks if not isinstance(block[0], LabelLoss)]
        inner = Combined([b[0] for b in kept], [b[1] for b in kept]) if kept else None
        said = JointPrediction(tuple(b[2] for b in kept))
        direction = np.concatenate([b[3] for b in kept]) if kept else np.zeros(0)
        return lambda budget: inner.worst_case(said, budget, direction)  # type: ignore[union-attr]

    def _blocks(self, prediction: Any, outcome: Any) -> list[Any]:
        """(loss, weight, prediction, outcome) of each block."""
        if self.weights is None:
            raise InvalidParameter(
                "Combined(weights=None) is learned from training losses: call "
                "LossSet.fit(X_train, Y_train) first, or give the weights."
            )
        parts = _split(outcome, prediction)
        return list(
            zip(self.losses, self.weights, prediction.parts, parts, strict=True)
        )


def _split(values: Any, prediction: Any) -> list[Any]:
    widths = tuple(np.empty(part.width) for part in prediction.parts)
    return split_blocks(values, widths)
