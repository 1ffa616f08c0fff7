"""Sources of sets other than a LossSet at its calibrated budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import Array
from ..losses import Squared
from ..predictions import Numbers, Outcomes, Prediction
from ..set_batch import SetBatch, UnionBatch


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
class Precomputed:
    """The sets of known contexts, at a given budget: covariates are row numbers.

    Many budgets are tried on the same contexts; the model predicts only once.
    """

    batch: Any
    budget_: float
    certificate_: Any = None

    @property
    def losses_(self) -> Any:
        """One, or one a fold."""
        return tuple(p.loss for p in getattr(self.batch, "parts", (self.batch,)))

    def predict_set(self, X: Any) -> Any:
        """The sets at the rows numbered X."""
        chosen = self.batch[np.asarray(X)]
        if isinstance(chosen, UnionBatch):
            return UnionBatch(tuple(self._at(part) for part in chosen.parts))
        return self._at(chosen)

    def _at(self, part: SetBatch) -> SetBatch:
        return replace(part, budgets=np.full(len(part), self.budget_))


@dataclass(frozen=True)
class Points:
    """Sets of a single outcome each: covariates are the outcomes themselves.

    Robust decisions over them are those of someone who knows the outcome.
    """

    dim: int
    budget_: float = 0.0
    certificate_: Any = None

    @property
    def losses_(self) -> Any:
        """Any loss that is zero at the prediction only."""
        return (Squared(),)

    def predict_set(self, X: Array) -> SetBatch:
        """The singletons {x} of the rows of X."""
        X = np.asarray(X, dtype=float)
        outcomes = Outcomes((Numbers(self.dim),))
        return SetBatch(Squared(), Prediction(X), np.zeros(len(X)), outcomes, ())
