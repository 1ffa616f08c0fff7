"""Spreads of many outputs from one regressor of log |residual|, tempered together.

Any regressor will do: the target has both signs, light tails, and no unit. What it
predicts, v = exp(2 prediction), is as large as the square it stands for only up to a
factor, and a flexible model exaggerates. Its out-of-fold predictions tell by how much:

    s_j^2 = level_j v_j^power,   power in [0, 2] the same for all outputs,

with power and levels at the minimum of the out-of-fold loss r^2 / s^2 + log s^2 (Nix &
Weigend 1994). One power is learned from all residuals at once, so that 300 rows of 48
outputs settle it; a power of 0 is a constant spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from ..checks import Array
from ..predictions import Table
from .learners import Learner
from .rows import Predictor, Rows

#: The regressor is trusted twice over at most.
MOST_POWER = 2.0


@dataclass(frozen=True, eq=False)
class LogSpread:
    """A fitted spread of m outputs.

    Parameters
    ----------
    models : predict log |residual| in units of `units`: one for all, or one an output
    units : array of shape (m,): root mean square of the out-of-fold residuals
    levels : array of shape (m,): variance, in squared units, where the model says 0
    power : float in [0, 2]
    low, high : what the models are believed between
    """

    models: tuple[Predictor, ...]
    units: Array
    levels: Array
    power: float
    low: float
    high: float

    def __call__(self, X: Table) -> Array:
        """Standard deviations, shape (n, m)."""
        return self.of(predict_columns(self.models, X, len(self.units)))

    def trusted(self, trust: float) -> LogSpread:
        """Spreads raised to a power from 0 to 1, around the root mean square."""
        return replace(self, power=trust * self.power, levels=self.levels**trust)

    def of(self, logs: Array) -> Array:
        """Standard deviations from what the models say, shape (n, m)."""
        believed = np.clip(logs, self.low, self.high)
        variance = self.levels * np.exp(2 * self.power * believed)
        return np.asarray(self.units * np.sqrt(variance))


def learn_log_spread(
    learner: Learner, together: bool, rows: Rows, residuals: Array, floor: float
) -> tuple[LogSpread, Array]:
    """A spread, and out-of-fold standard deviations of shape (n, m).

    Parameters
    ----------
    learner : of log |residual|
    together : whether one fit serves all outputs
    residuals : array of shape (n, m), out of fold
    floor : float, the smallest residual that is told from none, in root mean squares
    """
    units = np.sqrt(np.mean(residuals**2, axis=0))
    # Outputs that are predicted exactly still need a spread.
    units = np.maximum(units, max(1e-12 * float(units.max()), np.finfo(float).tiny))
    relative = np.maximum(np.abs(residuals) / units, floor)
    models, logs = learn_columns(learner, together, rows, np.log(relative))
    low, high = float(np.log(floor)), float(np.log(relative.max()))
    believed = np.clip(logs, low, high)
    power, levels = temper_together(2 * believed, relative**2)
    spread = LogSpread(models, units, levels, power, low, high)
    return spread, spread.of(logs)


def temper_together(logs: Array, squares: Array) -> tuple[float, Array]:
    """The power, and the levels of shape (m,), of least out-of-fold loss.

    Parameters
    ----------
    logs : array of shape (n, m): logarithms of what is predicted of the squares
    squares : array of shape (n, m)

    Examples
    --------
    >>> logs = np.log([[0.25, 4.0], [0.25, 1.0], [1.0, 4.0], [1.0, 1.0]])
    >>> power, levels = temper_together(logs, np.exp(logs / 2))
    >>> round(power, 4), levels.round(4)
    (0.5, array([1., 1.]))
    """
    centred = logs - logs.mean(axis=0)

    def loss(power: float) -> float:
        return float(
            np.mean(np.log(np.mean(squares * np.exp(-power * centred), axis=0)))
        )

    power = float(minimize_scalar(loss, bounds=(0.0, MOST_POWER), method="bounded").x)
    if loss(power) >= loss(0.0) - 1e-9:
        power = 0.0
    return power, np.asarray(np.mean(squares * np.exp(-power * logs), axis=0))


def learn_columns(
    learner: Learner, together: bool, rows: Rows, Y: Array
) -> tuple[tuple[Predictor, ...], Array]:
    """Models of all columns, or one a column, and out-of-fold predictions (n, m)."""
    width = Y.shape[1]
    if together and width > 1:
        learned = [learner.learn(rows, Y)]
    else:
        learned = [learner.learn(rows, Y[:, j]) for j in range(width)]
    held_out = [np.reshape(part.out_of_fold, (len(Y), -1)) for part in learned]
    return tuple(part.model for part in learned), np.concatenate(held_out, axis=1)


def predict_columns(models: tuple[Predictor, ...], X: Table, width: int) -> Array:
    """What models of all columns, or of one each, predict: shape (n, m)."""
    if len(models) == 1:
        return np.asarray(models[0].predict(X), dtype=float).reshape(-1, width)
    columns = [
        np.asarray(model.predict(X), dtype=float).reshape(-1) for model in models
    ]
    return np.stack(columns, axis=1)
