"""Sources of sets other than a LossSet at its calibrated budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import Array
from ...loss_set.batch import SetBatch, UnionBatch
from ...losses import Squared
from ...predictions import Numbers, Outcomes, Prediction, count_rows


@dataclass(frozen=True)
class AtBudget:
    """The sets of a LossSet at a given budget: what a policy's own calibration sets."""

    source: Any
    budget_: float
    certificate_: Any = None

    @property
    def losses_(self) -> Any:
        """The source's."""
        return self.source.losses_

    def predict_set(self, X: Any) -> Any:
        """The sets at every row of X."""
        return self.source.predict_set(X, budget=self.budget_)


@dataclass(frozen=True)
class AtWeightedBudget:
    """The sets of a LossSet at budgets that depend on the context's weight.

    Attributes
    ----------
    source : LossSet
    unit : the budget that level 1 stands for
    calibration_ : WeightedCalibration of levels
    """

    source: Any
    unit: float
    calibration_: Any
    certificate_: Any = None

    @property
    def losses_(self) -> Any:
        """The source's."""
        return self.source.losses_

    def predict_set(self, X: Any) -> Any:
        """The sets at every row of X."""
        levels = self.calibration_.at(X, count_rows(X))
        return self.source.predict_set(X, budget=self.unit * levels)


@dataclass(frozen=True, eq=False)
class Precomputed:
    """The sets of known contexts, each at a budget: covariates are row numbers.

    Many budgets are tried on the same contexts; the model predicts only once.
    """

    batch: Any
    budgets: Array
    certificate_: Any = None

    @property
    def losses_(self) -> Any:
        """One, or one a fold."""
        return tuple(p.loss for p in getattr(self.batch, "parts", (self.batch,)))

    def predict_set(self, X: Any) -> Any:
        """The sets at the rows numbered X."""
        rows = np.asarray(X)
        chosen, budgets = self.batch[rows], self.budgets[rows]
        if isinstance(chosen, UnionBatch):
            parts = tuple(replace(part, budgets=budgets) for part in chosen.parts)
            return UnionBatch(parts)
        return replace(chosen, budgets=budgets)


@dataclass(frozen=True, eq=False)
class Points:
    """Sets of a single outcome each: covariates are row numbers.

    Robust decisions over them are those of someone who knows the outcome.
    """

    vectors: Array
    certificate_: Any = None

    @property
    def losses_(self) -> Any:
        """Any loss that is zero at the prediction only."""
        return (Squared(),)

    def predict_set(self, X: Any) -> SetBatch:
        """The singletons at the rows numbered X."""
        said = Prediction(self.vectors[np.asarray(X)])
        outcomes = Outcomes((Numbers(said.width),))
        return SetBatch(Squared(), said, np.zeros(len(said)), outcomes, ())
