"""Sublevel sets over numbers and labels together.

For each combination of labels the numbers live in a convex set, at the budget that the
labels leave: a union of slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..checks import Array, BoolArray
from ..errors import InvalidParameter
from ..losses import Combined, LabelLoss, Loss
from ..predictions import JointPrediction
from .members import is_empty
from .sublevel import Sublevel

#: Label combinations beyond which a mixed set is not enumerated.
MOST_SLICES = 20_000


def has_labels(loss: Loss) -> bool:
    """Whether a combined loss mixes labels in."""
    blocks = loss.losses if isinstance(loss, Combined) else ()
    return any(isinstance(block, LabelLoss) for block in blocks)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Mixed(Sublevel):
    """Sublevel set of a Combined loss with at least one block of labels.

    Examples
    --------
    >>> from sublevel.losses import CrossEntropy, Squared
    >>> from sublevel.predictions import LabelPrediction, Prediction
    >>> both = JointPrediction(
    ...     (Prediction(np.zeros(1)), LabelPrediction((np.array([0.5, 0.5]),)))
    ... )
    >>> loss = Combined([Squared(), CrossEntropy()], weights=(1.0, 1.0))
    >>> U = Mixed(loss, both, budget=1.0 + np.log(2))
    >>> round(U.volume(), 6), U.support([1.0, 0.0, 1.0])
    (4.0, 2.0)
    """

    loss: Combined
    prediction: JointPrediction

    @property
    def is_bounded(self) -> bool:
        """Whether the budget is finite."""
        return bool(np.isfinite(self.budget))

    def maximiser(self, direction: Array) -> Array:
        if self.effective_budget == np.inf and not direction[self.numeric()].any():
            # Labels are bounded whatever the budget.
            labels = max(self.label_choices(), key=lambda hot: float(direction @ hot))
            return np.where(self.numeric(), self.prediction.point, labels)
        return super().maximiser(direction)

    def measure(self) -> float:
        return float(sum(slice_.volume() for _, slice_ in self._slices()))

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        slices = self._slices()
        volumes = np.array([slice_.volume() for _, slice_ in slices])
        if not volumes.sum() > 0:
            return np.tile(self.prediction.point, (size, 1))
        chosen = rng.choice(len(slices), size=size, p=volumes / volumes.sum())
        drawn = np.empty((size, self.dim))
        numeric = self.numeric()
        for k in np.unique(chosen):
            rows = chosen == k
            label, slice_ = slices[k]
            drawn[rows] = label
            drawn[np.ix_(rows, numeric)] = slice_.sample(int(rows.sum()), rng)
        return drawn

    def numeric(self) -> BoolArray:
        """Which components are numbers, shape (dim,)."""
        pairs = zip(self.loss.losses, self.prediction.parts, strict=True)
        return np.concatenate(
            [
                np.full(part.width, not isinstance(loss, LabelLoss))
                for loss, part in pairs
            ]
        )

    def _slices(self) -> list[tuple[Array, Sublevel]]:
        """(one-hot labels in place, set of the numbers) for each label combination."""
        loss, both = self.loss, self.prediction
        kept = [k for k, b in enumerate(loss.losses) if not isinstance(b, LabelLoss)]
        part = JointPrediction(tuple(both.parts[k] for k in kept))
        inner = loss.of_blocks(kept)
        floor = float(inner.floor(part))
        numeric = self.numeric()
        slices = []
        for label in self.label_choices():
            costs = loss.components(both, np.where(numeric, both.point, label))
            paid = sum(c for k, c in enumerate(costs) if k not in kept)
            if paid + floor <= self.effective_budget:
                slice_ = Sublevel(inner, part, self.effective_budget - paid)
                if loss.closed_form or not is_empty(slice_):
                    slices.append((label, slice_))
        return slices

    def label_choices(self) -> list[Array]:
        """Every combination of labels, one-hot, zeros where numbers go."""
        pairs = zip(self.loss.losses, self.prediction.parts, strict=True)
        options: list[Array] = []
        for loss, part in pairs:
            if isinstance(loss, LabelLoss):
                options += [np.eye(cost.shape[-1]) for cost in loss.costs(part)]
            else:
                options.append(np.zeros((1, part.width)))
        count = int(np.prod([len(option) for option in options], dtype=float))
        if count > MOST_SLICES:
            raise InvalidParameter(
                f"Mixed.sample() and volume() look at every label combination, and "
                f"there are {count}, more than {MOST_SLICES}."
            )
        return [np.concatenate(choice) for choice in product(*options)]
