"""Sets of one shape, placed and stretched anew at every context.

The methods of this package do not start from a model's loss, but their sets are
sublevel sets all the same: of a gauge, the factor by which the shape must grow to reach
an outcome. Said that way they enter a compiled program like those of a LossSet.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ..loss_set.batch import SetBatch, is_one_row
from ..losses import Loss
from ..sets import UncertaintySet


class Shape(Loss):
    """A gauge whose sublevel sets have a name of their own."""

    @property
    def closed_form(self) -> bool:
        """Yes: worst cases need no solver."""
        return True

    @abstractmethod
    def region(self, prediction: Any, budget: float) -> UncertaintySet:
        """The set of one context, as a set value."""


class ShapeBatch(SetBatch):
    """A SetBatch whose members are the shape's own set values.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.baselines.boxed import Boxed, BoxPrediction
    >>> from sublevel.predictions import Numbers, Outcomes
    >>> said = BoxPrediction(np.zeros((3, 2)), np.ones((3, 2)))
    >>> outcomes = Outcomes((Numbers(2),))
    >>> batch = ShapeBatch(Boxed(), said, np.full(3, 2.0), outcomes, ("a", "b"))
    >>> batch[0].upper, len(batch[1:])
    (array([2., 2.]), 2)
    """

    def __getitem__(self, rows: Any) -> Any:
        if not is_one_row(rows):
            return super().__getitem__(rows)
        if not -len(self) <= rows < len(self):
            raise IndexError(f"row {rows} of a batch of {len(self)} sets")
        shape: Any = self.loss
        return shape.region(self.prediction[rows], float(self.budgets[rows]))
