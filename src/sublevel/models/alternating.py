"""Mean, then variance, then the mean weighted by the variance, while it helps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import Array
from .folds import Folds
from .learners import Learner
from .nix_weigend import nix_weigend
from .spread import Spread, learn_spread

@dataclass(frozen=True, eq=False)
class Rows:
    """What is learned from.

    Parameters
    ----------
    X : covariates, as they came
    Y : array of shape (n, b), the outputs the mean model predicts together
    weight : array of shape (n,), or None for equal weights
    folds : list of (training rows, held-out rows)
    """

    X: Any
    Y: Array
    weight: Array | None
    folds: Folds

    @property
    def shares(self) -> Array:
        """Weights that sum to 1, shape (n,)."""
        raw = np.ones(len(self.Y)) if self.weight is None else self.weight
        return raw / raw.sum()


@dataclass(frozen=True)
class Rules:
    """Where the variance ends and when the refits do: see MeanVarianceRegressor."""

    floor: float
    max_refits: int
    tol: float


@dataclass(frozen=True, eq=False)
class Pair:
    """A fitted mean and the spreads around it.

    Parameters
    ----------
    mean : fitted model of b outputs
    spreads : one a output
    variance : array of shape (n, b), out of fold
    losses : out-of-fold losses, in nats an outcome, before and after each refit
    """

    mean: Any
    spreads: tuple[Spread, ...]
    variance: Array
    losses: tuple[float, ...]

    def predict_mean(self, X: Any) -> Array:
        """Means of shape (n, b)."""
        return _columns(self.mean.predict(X), len(self.spreads))

    def predict(self, X: Any) -> tuple[Array, Array]:
        """Means and standard deviations, each of shape (n, b)."""
        mean = self.predict_mean(X)
        found = [spread.variance(X, mean[:, j]) for j, spread in enumerate(self.spreads)]
        return mean, np.sqrt(np.stack(found, axis=1))


def fit_pair(mean: Learner, variance: Learner, rows: Rows, rules: Rules) -> Pair:
    """The pair at which weighted refits stop lowering the out-of-fold loss.

    A refit weighs each row by 1 / variance, as the Gaussian likelihood does, then
    learns the variance anew. It is kept if the loss falls by more than `tol`.
    """
    best = _one_pass(mean, variance, rows, rules, None)
    losses = [*best.losses]
    for _ in range(rules.max_refits if mean.takes_weight else 0):
        if np.ptp(best.variance, axis=0).max() == 0:
            break  # Equal weights: the refit would be the fit.
        trial = _one_pass(mean, variance, rows, rules, best.variance)
        losses += trial.losses
        if best.losses[0] - trial.losses[0] <= rules.tol:
            break
        best = trial
    return replace(best, losses=tuple(losses))


def _one_pass(
    mean: Learner, variance: Learner, rows: Rows, rules: Rules, known: Array | None
) -> Pair:
    """Mean on weighted rows, then the spread of each output."""
    n, b = rows.Y.shape
    weight = rows.weight if known is None else _precision(known, rows)
    target = rows.Y[:, 0] if b == 1 else rows.Y
    learned = mean.learn(rows.X, target, weight, rows.folds)
    centers = _columns(learned.out_of_fold, b)
    found = [
        learn_spread(variance, rows, rules.floor, j, centers[:, j]) for j in range(b)
    ]
    spread, held_out = zip(*found, strict=True)
    variances = np.stack(held_out, axis=1)
    each = nix_weigend((rows.Y - centers) ** 2, variances)
    nats = 0.5 * float(np.mean(rows.shares @ each))
    return Pair(learned.model, spread, variances, (nats,))


def _precision(variance: Array, rows: Rows) -> Array:
    """Weights 1 / variance with mean 1; of several outputs, their average."""
    inverse = 1 / variance
    relative = np.mean(inverse / (rows.shares @ inverse), axis=1)
    return relative if rows.weight is None else relative * rows.weight


def _columns(values: Any, width: int) -> Array:
    return np.asarray(values, dtype=float).reshape(-1, width)
