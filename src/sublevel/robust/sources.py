"""Sources of sets other than a LossSet at its calibrated budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..conic.program import Indices
from ..guarantees import Calibrated, Calibration, Certificate
from ..loss_set.batch import Batch, SetBatch
from ..loss_set.marks import Hashes
from ..loss_set.source import SetSource
from ..losses import Loss, Squared
from ..predictions import Numbers, Outcomes, Prediction, Table, count_rows


@dataclass(frozen=True, eq=False)
class AtLevel:
    """The sets of a source at budgets that a calibration of decisions chose.

    Attributes
    ----------
    source : LossSet or the like
    unit : the budget that level 1 stands for
    calibration : of levels
    certificate_ : what is promised of decisions
    """

    source: SetSource
    unit: float
    calibration: Calibrated
    certificate_: Certificate | None = None

    @property
    def losses_(self) -> tuple[Loss, ...]:
        """The source's."""
        return self.source.losses_

    @property
    def budget_(self) -> float | None:
        """The budget of every context; None if contexts differ."""
        if not isinstance(self.calibration, Calibration):
            return None
        return _times(self.unit, float(self.calibration.budget))

    @property
    def training_marks(self) -> Hashes | None:
        """The source's."""
        return self.source.training_marks

    @property
    def calibration_marks(self) -> Hashes | None:
        """The source's."""
        return self.source.calibration_marks

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> Batch:
        """The sets at every row of X."""
        if budget is None:
            levels = self.calibration.at(X, count_rows(X))
            # An infinite level is no protection that a unit could scale.
            budget = np.where(np.isinf(levels), levels, self.unit * levels)
        return self.source.predict_set(X, budget=budget)


@dataclass(frozen=True)
class PointLoss(Squared):
    """The loss of sets of one outcome, which are products whatever the loss."""

    def block_numbers(self, dim: int) -> Indices:
        """Every component moves alone, as none moves."""
        return np.arange(dim)


@dataclass(frozen=True, eq=False)
class Points:
    """Sets of a single outcome each: covariates are row numbers.

    Robust decisions over them are those of someone who knows the outcome.
    """

    vectors: Array
    certificate_: Certificate | None = None
    budget_: float = 0.0
    training_marks: None = None
    calibration_marks: None = None

    @property
    def losses_(self) -> tuple[Loss, ...]:
        """Any loss that is zero at the prediction only."""
        return (PointLoss(),)

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> SetBatch:
        """The singletons at the rows numbered X."""
        del budget
        prediction = Prediction(self.vectors[np.asarray(X)])
        outcomes = Outcomes((Numbers(prediction.width),))
        return SetBatch(
            PointLoss(), prediction, np.zeros(len(prediction)), outcomes, ()
        )


def _times(unit: float, level: float) -> float:
    return level if np.isinf(level) else unit * level
