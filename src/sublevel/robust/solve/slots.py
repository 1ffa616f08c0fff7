"""How a set enters a compiled program: as slots to be filled at every context.

A LossSet's sets differ from context to context only by location, spread and budget.
These are the loss's slots; in the compiled program they are parameters. A set given by
value is the same for all contexts and is written into the program as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import Indices, Uncompilable
from ...epigraph import Epigraph
from ...loss_set.batch import SetBatch
from ...losses import Loss
from ...losses.base import Slots
from ...predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Prediction,
)
from ...sets import UncertaintySet
from .support_bound import row_bound, slots_bound, spread_out

#: Slots that are never negative.
NONNEGATIVE = ("reach", "scale", "budget", "radius")


@dataclass(frozen=True)
class FixedSet:
    """A set value: no slots."""

    region: UncertaintySet

    def bound(self, direction: cp.Expression, entries: Indices) -> Epigraph:
        """Support bound in a direction that sees some entries."""
        return row_bound(self.region, direction, entries)


@dataclass(frozen=True)
class SlotSet:
    """The sets of a LossSet, of any context.

    Attributes
    ----------
    losses : one, or one a fold where the set is a union
    dim : number of entries of the outcome
    nonneg : which entries are declared not to be negative, beyond what the loss says,
        shape (dim,)
    parameters : for each loss, slot name -> CVXPY parameter
    """

    losses: tuple[Loss, ...]
    dim: int
    nonneg: npt.NDArray[np.bool_]
    parameters: tuple[dict[str, cp.Parameter], ...] = field(repr=False)

    def bound(self, direction: cp.Expression, entries: Indices) -> Epigraph:
        """Support bound in a direction that sees some entries."""
        pairs = zip(self.losses, self.parameters, strict=True)
        bounds = [self._one(loss, slots, direction, entries) for loss, slots in pairs]
        if len(bounds) == 1:
            return bounds[0]
        worst = cp.max(cp.hstack([bound.value for bound in bounds]))
        return Epigraph(worst, [c for bound in bounds for c in bound.constraints])

    def _one(
        self, loss: Loss, slots: Slots, direction: cp.Expression, entries: Indices
    ) -> Epigraph:
        if not self.nonneg.any():
            return slots_bound(loss, slots, direction, entries, self.dim)
        # The support of an intersection: part of the direction may be left to the
        # orthant, whose support is 0 for directions that point out of it.
        left = cp.Variable(int(self.nonneg.sum()), nonneg=True)
        full = spread_out(direction, entries, self.dim)
        full = full + spread_out(left, np.flatnonzero(self.nonneg), self.dim)
        return slots_bound(loss, slots, full, np.arange(self.dim), self.dim)


def slot_set(
    number: int,
    losses: tuple[Loss, ...],
    example: AnyPrediction,
    nonneg: npt.NDArray[np.bool_],
) -> SlotSet:
    """Parameters for the slots of a key; `example` is a prediction of one context.

    Uncompilable where one program cannot serve predictions like it.
    """
    if not all(loss.compiles(example) for loss in losses):
        raise Uncompilable("labels have too many combinations")
    if all(loss.nonneg for loss in losses):
        nonneg = np.zeros_like(nonneg)
    if isinstance(example, JointPrediction):
        nonneg = _beside_labels(example, nonneg)
    parameters = tuple(
        {
            name: cp.Parameter(
                np.shape(value),
                name=f"{number}.{part}.{name}",
                # The slots of a block of a Combined loss have its number first.
                nonneg=name.rpartition(".")[2] in NONNEGATIVE,
            )
            for name, value in loss.slots(example, loss.floor(example) + 1.0).items()
        }
        for part, loss in enumerate(losses)
    )
    return SlotSet(losses, example.width, nonneg, parameters)


def _beside_labels(
    example: JointPrediction, nonneg: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which entries are not negative, beyond labels, which never are."""
    labels = [isinstance(part, LabelPrediction) for part in example.parts]
    left = nonneg & ~np.repeat(labels, [part.width for part in example.parts])
    if any(labels) and left.any():
        # Each combination of labels would have to leave its own part to the orthant.
        raise Uncompilable("numbers beside labels are declared not to be negative")
    return np.asarray(left)


def example(losses: tuple[Loss, ...], dim: int) -> Prediction | None:
    """A prediction of the right shape, where the losses alone tell the shape."""
    examples = [loss.example(dim) for loss in losses]
    # Oracles of the user's own have no losses.
    sure = bool(examples) and all(shape is not None for shape in examples)
    return examples[0] if sure else None


def example_of(batch: SetBatch) -> AnyPrediction:
    """A prediction of the same shape as a batch's first, with nothing of its values."""
    prediction = batch.prediction
    if isinstance(prediction, JointPrediction):
        return JointPrediction(tuple(_ones(part) for part in prediction.parts))
    return _ones(prediction)


def _ones(prediction: AnyPrediction) -> Prediction | LabelPrediction:
    if isinstance(prediction, LabelPrediction):
        return LabelPrediction(
            _even(prediction.probabilities), _even(prediction.margins)
        )
    ones = np.ones(prediction.width)
    turned = isinstance(prediction, Prediction) and prediction.factor is not None
    return Prediction(ones, ones, factor=np.eye(len(ones)) if turned else None)


def _even(tables: tuple[Array, ...] | None) -> tuple[Array, ...] | None:
    """The same number for every class."""
    if tables is None:
        return None
    return tuple(np.full(t.shape[-1], 1.0 / t.shape[-1]) for t in tables)
