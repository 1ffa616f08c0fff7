"""The variance around a mean, learned from squared out-of-fold residuals.

It is tempered, so that it holds out of fold. A flexible variance model exaggerates:
where it has seen small squares it promises less noise than there is. Its out-of-fold
predictions v tell by how much. We use

    s = max(floor, level * v^power),   power in [0, 2],

with level and power at the minimum of the out-of-fold loss q / s + log s. A power of 1
trusts the model, 0 makes the variance constant; the level makes the standardised
out-of-fold residuals have mean square 1. Two parameters cost about 1 / n nats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from ..checks import Array
from ..errors import InvalidParameter
from ..predictions import Table
from .learners import Learner
from .resolution import least_spreads
from .rows import Predictor, Rows, is_frame

MOST_POWER = 2.0


@dataclass(frozen=True)
class Tempering:
    """The map from raw to final variances, in units of the mean square.

    Parameters
    ----------
    level : float, the variance where the model says 1
    power : float in [0, 2]
    floor : float, the smallest variance; the model is not believed below it
    ceiling : float, the model is not believed above it

    Examples
    --------
    >>> Tempering(level=1.0, power=0.5, floor=0.1, ceiling=9.0)([4.0, 0.0, np.inf])
    array([2.   , 0.316, 3.   ])
    """

    level: float
    power: float
    floor: float
    ceiling: float

    def __call__(self, raw: npt.ArrayLike) -> Array:
        believed = _believe(raw, self.floor, self.ceiling)
        return np.asarray(np.maximum(self.level * believed**self.power, self.floor))


def temper(raw: Array, squares: Array, shares: Array, floor: float) -> Tempering:
    """The tempering with the smallest out-of-fold loss.

    Parameters
    ----------
    raw : array of shape (n,): out-of-fold predictions of the squares
    squares : array of shape (n,): squared out-of-fold residuals over their mean
    shares : array of shape (n,): weights of the rows, summing to 1
    floor : float > 0

    Examples
    --------
    >>> raw, squares = np.array([0.25, 0.25, 1.0, 1.0]), np.array([0.5, 0.5, 1, 1])
    >>> tempering = temper(raw, squares, np.full(4, 0.25), floor=1e-4)
    >>> round(tempering.power, 6), round(tempering.level, 6)
    (0.5, 1.0)
    """
    # No region's variance is above the largest square that was seen anywhere.
    ceiling = max(1.0, float(squares[shares > 0].max()))
    logs = np.log(_believe(raw, floor, ceiling))
    power = _best_power(logs, squares, shares)
    # For a given power the best level is the mean of q / v^power.
    level = float(np.sum(shares * squares * np.exp(-power * logs)))
    return Tempering(level, power, floor, ceiling)


def _best_power(logs: Array, squares: Array, shares: Array) -> float:
    """Where the loss, with the level at its best, is smallest: it is convex."""

    def slope(power: float) -> float:
        pull = shares * squares * np.exp(-power * (logs - logs.min()))
        return float(np.sum(shares * logs) - np.sum(pull * logs) / np.sum(pull))

    if slope(0.0) >= 0:
        return 0.0
    if slope(MOST_POWER) <= 0:
        return MOST_POWER
    return float(brentq(slope, 0.0, MOST_POWER, xtol=1e-12))


def _believe(raw: npt.ArrayLike, floor: float, ceiling: float) -> Array:
    values = np.asarray(raw, dtype=float)
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise InvalidParameter(
            "MeanVarianceRegressor(variance=...) must predict numbers, got nan for row "
            f"{row} of X. Check that row."
        )
    return np.asarray(np.clip(values, floor, ceiling))


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

    model: Predictor
    tempering: Tempering
    unit: float
    sees_mean: bool

    @property
    def floor(self) -> float:
        """The smallest variance."""
        return self.unit * self.tempering.floor

    def variance(self, X: Table, mean: Array) -> Array:
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
    least = float(least_spreads(y[:, None])[0])
    unit = max(float(rows.mean(squares)), least**2 / floor)
    # The gamma loss wants positive squares: a residual may be zero by luck.
    relative = np.maximum(squares / unit, floor)
    seen = append_column(rows.X, mean) if learner.sees_mean else rows.X
    learned = learner.learn(replace(rows, X=seen), relative)
    tempering = temper(learned.out_of_fold, relative, rows.shares(len(y)), floor)
    spread = Spread(learned.model, tempering, unit, learner.sees_mean)
    return spread, unit * tempering(learned.out_of_fold)


def append_column(X: Table, values: Array) -> Table:
    """X with one more column; a DataFrame stays one.

    Examples
    --------
    >>> append_column([[1, 2], [3, 4]], np.array([5.0, 6.0]))
    array([[1., 2., 5.],
           [3., 4., 6.]])
    """
    if not is_frame(X):
        return np.column_stack([np.asarray(X), values])
    name = "predicted mean"
    while name in X.columns:
        name += "_"
    if not all(isinstance(column, str) for column in X.columns):
        # scikit-learn wants all names to be strings, or none.
        X = X.set_axis([f"{k}" for k in range(X.shape[1])], axis=1)
    return X.assign(**{name: values})
