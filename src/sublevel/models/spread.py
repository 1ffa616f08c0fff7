"""The variance around a mean, learned from squared out-of-fold residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import Array
from .learners import Learner
from .rows import Rows
from .tempering import Tempering, temper


@dataclass(frozen=True, eq=False)
class Spread:
    """A fitted variance model of one output.

    Parameters
    ----------
    model : predicts squared residuals in units of `unit`
    tempering : what is made of its predictions
    unit : float, mean squared residual
    sees_mean : bool, whether the model takes the mean as a further column
    """

    model: Any
    tempering: Tempering
    unit: float
    sees_mean: bool

    @property
    def floor(self) -> float:
        """The smallest variance."""
        return self.unit * self.tempering.floor

    def variance(self, X: Any, mean: Array) -> Array:
        """Variances of shape (n,), given the predicted means of shape (n,)."""
        seen = append_column(X, mean) if self.sees_mean else X
        raw = np.reshape(self.model.predict(seen), len(mean))
        return self.unit * self.tempering(raw)


def learn_spread(
    learner: Learner, rows: Rows, y: Array, mean: Array, floor: float
) -> tuple[Spread, Array]:
    """A spread, and out-of-fold variances of shape (n,).

    Parameters
    ----------
    mean : array of shape (n,): out-of-fold predictions of y
    floor : float, smallest variance relative to the mean squared residual
    """
    squares = (y - mean) ** 2
    unit = max(float(rows.mean(squares)), _rounding(y) / floor)
    # The gamma loss wants positive squares: a residual may be zero by luck.
    relative = np.maximum(squares / unit, floor)
    seen = append_column(rows.X, mean) if learner.sees_mean else rows.X
    learned = learner.learn(replace(rows, X=seen), relative)
    found = temper(learned.out_of_fold, relative, rows.shares(len(y)), floor)
    spread = Spread(learned.model, found, unit, learner.sees_mean)
    return spread, unit * found(learned.out_of_fold)


def append_column(X: Any, values: Array) -> Any:
    """X with one more column; a DataFrame stays one.

    Examples
    --------
    >>> append_column([[1, 2], [3, 4]], np.array([5.0, 6.0]))
    array([[1., 2., 5.],
           [3., 4., 6.]])
    """
    if not hasattr(X, "assign"):
        return np.column_stack([np.asarray(X), values])
    name = "predicted mean"
    while name in X.columns:
        name += "_"
    if not all(isinstance(column, str) for column in X.columns):
        # scikit-learn wants all names to be strings, or none.
        X = X.set_axis([f"{k}" for k in range(X.shape[1])], axis=1)
    return X.assign(**{name: values})


def _rounding(y: Array) -> float:
    """The square of what is lost when numbers of the size of y are rounded."""
    size = float(np.abs(y).max()) or 1.0
    return (np.finfo(float).eps * size) ** 2
