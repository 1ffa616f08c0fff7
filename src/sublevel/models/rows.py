"""What is learned from: covariates, weights and folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..predictions import take_rows
from .folds import Folds


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of covariates, how much each counts, and which are held out together.

    Parameters
    ----------
    X : covariates of n rows, as they came
    weight : array of shape (n,), or None where all rows count the same
    folds : list of (training rows, held-out rows)

    Examples
    --------
    >>> rows = Rows(np.eye(3), np.array([1.0, 1.0, 2.0]))
    >>> rows.mean(np.array([1.0, 1.0, 4.0])), rows.take([2]).X
    (np.float64(2.5), array([[0., 0., 1.]]))
    """

    X: Any
    weight: Array | None = None
    folds: Folds | tuple[()] = ()

    def take(self, chosen: Any) -> Rows:
        """The chosen rows, without folds."""
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(take_rows(self.X, chosen), weight)

    def mean(self, values: Array) -> Any:
        """Weighted mean over the rows."""
        return np.average(values, axis=0, weights=self.weight)

    def shares(self, n: int) -> Array:
        """Weights of the n rows that sum to 1."""
        weight = np.ones(n) if self.weight is None else self.weight
        return np.asarray(weight / weight.sum())
