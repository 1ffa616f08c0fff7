"""Mean, then variance, then the mean weighted by the variance, while it helps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..predictions import Table
from .families import nix_weigend
from .learners import Learner
from .rows import Predictor, Rows
from .spread import Spread, learn_spread


@dataclass(frozen=True, eq=False)
class Pair:
    """A fitted mean and the spreads around it.

    Parameters
    ----------
    mean : fitted model of b outputs
    spreads : one an output
    variance : array of shape (n, b), out of fold
    losses : out-of-fold losses in nats an outcome, of the fit and of each refit tried
    n_refits : int, refits kept
    """

    mean: Predictor
    spreads: tuple[Spread, ...]
    variance: Array
    losses: tuple[float, ...]
    n_refits: int = 0

    def predict_mean(self, X: Table) -> Array:
        """Means of shape (n, b)."""
        return _columns(self.mean.predict(X), len(self.spreads))

    def predict(self, X: Table) -> tuple[Array, Array]:
        """Means and standard deviations, each of shape (n, b)."""
        mean = self.predict_mean(X)
        parts = [part.variance(X, mean[:, j]) for j, part in enumerate(self.spreads)]
        return mean, np.sqrt(np.stack(parts, axis=1))


@dataclass(frozen=True)
class Alternation:
    """How mean and variance take turns: see MeanVarianceRegressor."""

    mean: Learner
    variance: Learner
    floor: float
    max_refits: int
    tol: float

    def fit(self, rows: Rows, Y: Array) -> Pair:
        """The pair at which weighted refits stop lowering the out-of-fold loss.

        A refit weighs each row by 1 / variance, as the Gaussian likelihood does, and
        learns the variance anew. It is kept if the loss falls by more than `tol`.
        """
        best = self._turn(rows, Y, rows.weight)
        losses = best.losses
        for _ in range(self.max_refits if self.mean.takes_weight else 0):
            if np.ptp(best.variance, axis=0).max() == 0:
                break  # Equal weights: the refit would be the fit.
            trial = self._turn(rows, Y, _precision(best.variance, rows))
            losses += trial.losses
            if best.losses[0] - trial.losses[0] <= self.tol:
                break
            best = replace(trial, n_refits=best.n_refits + 1)
        return replace(best, losses=losses)

    def _turn(self, rows: Rows, Y: Array, weight: Array | None) -> Pair:
        """The mean on weighted rows, then the spread of each output."""
        width = Y.shape[1]
        target = Y[:, 0] if width == 1 else Y
        learned = self.mean.learn(replace(rows, weight=weight), target)
        mean = _columns(learned.out_of_fold, width)
        pairs = [
            learn_spread(self.variance, rows, Y[:, j], mean[:, j], self.floor)
            for j in range(width)
        ]
        spreads, held_out = zip(*pairs, strict=True)
        variance = np.stack(held_out, axis=1)
        nats = 0.5 * np.mean(rows.mean(nix_weigend((Y - mean) ** 2, variance)))
        return Pair(learned.model, spreads, variance, (float(nats),))


def _precision(variance: Array, rows: Rows) -> Array:
    """Weights 1 / variance with mean 1, averaged over the outputs, shape (n,)."""
    inverse = 1 / variance
    relative = np.asarray(np.mean(inverse / rows.mean(inverse), axis=1))
    return relative if rows.weight is None else relative * rows.weight


def _columns(values: npt.ArrayLike, width: int) -> Array:
    return np.asarray(values, dtype=float).reshape(-1, width)
