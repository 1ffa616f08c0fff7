"""Sublevel sets over numbers and labels together.

For each combination of labels the numbers live in a convex set, at the budget that the
labels leave: a union of slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from ..losses import Combined, LabelLoss
from ..predictions import JointPrediction
from .members import is_empty
from .sublevel import Sublevel

#: Label combinations beyond which a mixed set is not enumerated.
MOST_SLICES = 20_000


def has_labels(loss: Any) -> bool:
    """Whether a combined loss mixes labels in."""
    blocks = getattr(loss, "losses", ())
    return any(isinstance(block, LabelLoss) for block in blocks)


@dataclass(frozen=True, eq=False, repr=False)
class Mixed(Sublevel):
    """Sublevel set of a Combined loss with at least one block of labels.

    Examples
    --------
    >>> from sublevel.losses import CrossEntropy, Squared
    >>> from sublevel.predictions import LabelPrediction, Prediction
    >>> said = JointPrediction(
    ...     (Prediction(np.zeros(1)), LabelPrediction((np.array([0.5, 0.5]),)))
    ... )
    >>> loss = Combined([Squared(), CrossEntropy()], weights=(1.0, 1.0))
    >>> U = Mixed(loss, said, budget=1.0 + np.log(2))
    >>> round(U.volume(), 6), U.support([1.0, 0.0, 1.0])
    (4.0, 2.0)
    """

    @property
    def is_bounded(self) -> bool:
        """Whether the budget is finite."""
        return bool(np.isfinite(self.budget))

    def _worst_case(self, direction: Array) -> Array:
        if self.effective_budget == np.inf and not direction[self._numeric()].any():
            # Labels are bounded whatever the budget.
            labels = max(self._labels(), key=lambda hot: float(direction @ hot))
            return np.where(self._numeric(), self.prediction.point, labels)
        return super()._worst_case(direction)

    def _volume(self) -> float:
        return float(sum(slice_.volume() for _, slice_ in self._slices()))

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        slices = self._slices()
        volumes = np.array([slice_.volume() for _, slice_ in slices])
        if not volumes.sum() > 0:
            return np.tile(self.prediction.point, (size, 1))
        chosen = rng.choice(len(slices), size=size, p=volumes / volumes.sum())
        drawn = np.empty((size, self.dim))
        numeric = self._numeric()
        for k in np.unique(chosen):
            rows = chosen == k
            label, slice_ = slices[k]
            drawn[rows] = label
            drawn[np.ix_(rows, numeric)] = slice_.sample(int(rows.sum()), rng)
        return drawn

    def _numeric(self) -> Any:
        """Which components are numbers, shape (dim,)."""
        pairs = zip(self.loss.losses, self.prediction.parts, strict=True)
        flags = [
            np.full(said.width, not isinstance(loss, LabelLoss)) for loss, said in pairs
        ]
        return np.concatenate(flags)

    def _slices(self) -> list[tuple[Array, Sublevel]]:
        """(one-hot labels in place, set of the numbers) for each label combination."""
        loss, said = self.loss, self.prediction
        kept = [k for k, b in enumerate(loss.losses) if not isinstance(b, LabelLoss)]
        part = JointPrediction(tuple(said.parts[k] for k in kept))
        weights = [loss.weights[k] for k in kept]
        inner = Combined([loss.losses[k] for k in kept], weights)
        floor = float(inner.floor(part))
        numeric = self._numeric()
        found = []
        for label in self._labels():
            costs = loss.components(said, np.where(numeric, said.point, label))
            paid = sum(c for k, c in enumerate(costs) if k not in kept)
            if paid + floor <= self.effective_budget:
                slice_ = Sublevel(inner, part, self.effective_budget - paid)
                if loss.closed_form or not is_empty(slice_):
                    found.append((label, slice_))
        return found

    def _labels(self) -> list[Array]:
        """Every combination of labels, one-hot, zeros where numbers go."""
        pairs = zip(self.loss.losses, self.prediction.parts, strict=True)
        options: list[Any] = []
        for loss, said in pairs:
            if isinstance(loss, LabelLoss):
                options += [np.eye(block.shape[-1]) for block in said.values]
            else:
                options.append(np.zeros((1, said.width)))
        count = int(np.prod([len(option) for option in options], dtype=float))
        if count > MOST_SLICES:
            raise InvalidParameter(
                f"Mixed.sample() and volume() look at every label combination, and "
                f"there are {count}, more than {MOST_SLICES}."
            )
        return [np.concatenate(choice) for choice in product(*options)]
