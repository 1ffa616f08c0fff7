"""Spreads of many outputs from one regressor of log |residual|, tempered together.

Any regressor will do: the target has both signs, light tails, and no unit. What it
predicts is as large as the residual it stands for only up to a factor, and a flexible
model exaggerates. Its out-of-fold predictions tell by how much: `joint_powers` says how
far they are believed, and a level an output makes its standardised out-of-fold
residuals have mean square 1. Powers are learned from all residuals at once, so that 300
rows of 48 outputs settle them; powers of 0 are a constant spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..checks import Array
from ..predictions import Table
from .joint_powers import Powers, learn_powers
from .learners import Learner
from .rows import Predictor, Rows


@dataclass(frozen=True, eq=False)
class LogSpread:
    """A fitted spread of m outputs.

    Parameters
    ----------
    models : predict log |residual| in units of `units`: one for all, or one an output
    units : array of shape (m,): root mean square of the out-of-fold residuals
    least : array of shape (m,): the smallest spreads
    levels : array of shape (m,): variance, in squared units, where the model says 0
    powers : how far the models are believed
    low, high : what the models are believed between
    """

    models: tuple[Predictor, ...]
    units: Array
    least: Array
    levels: Array
    powers: Powers
    low: float
    high: float

    def __call__(self, X: Table) -> Array:
        """Standard deviations, shape (n, m)."""
        return self.of(predict_columns(self.models, X, len(self.units)))

    def trusted(self, trust: float) -> LogSpread:
        """Spreads raised to a power from 0 to 1, around the root mean square."""
        powers = self.powers.times(trust)
        return replace(self, powers=powers, levels=self.levels**trust)

    def of(self, logs: Array) -> Array:
        """Standard deviations from what the models say, shape (n, m)."""
        moves = self.powers(np.clip(logs, self.low, self.high))
        std = self.units * np.sqrt(self.levels) * np.exp(moves)
        return np.asarray(np.maximum(std, self.least))


def learn_log_spread(
    learner: Learner,
    together: bool,
    rows: Rows,
    residuals: Array,
    least: Array,
    floor: float,
    power: str,
) -> tuple[LogSpread, Array]:
    """A spread, and what its models say out of fold, shape (n, m).

    Parameters
    ----------
    learner : of log |residual|
    together : whether one fit serves all outputs
    residuals : array of shape (n, m), out of fold
    least : array of shape (m,), the smallest spreads: what is predicted exactly still
        needs one
    floor : float, the smallest residual that is told from none, in root mean squares
    power : whose likelihood says how far it is believed, of `joint_powers.BY`
    """
    units = np.maximum(np.sqrt(np.mean(residuals**2, axis=0)), least)
    relative = np.maximum(np.abs(residuals) / units, floor)
    models, logs = learn_columns(learner, together, rows, np.log(relative))
    low, high = float(np.log(floor)), float(np.log(relative.max()))
    believed = np.clip(logs, low, high)
    powers = learn_powers(believed, residuals / units, rows.folds, power)
    levels = np.mean(relative**2 * np.exp(-2 * powers(believed)), axis=0)
    return LogSpread(models, units, least, levels, powers, low, high), logs


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
