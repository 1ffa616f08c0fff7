"""How far the spreads of many outputs are believed: by the likelihood of whole rows.

What a regressor predicts of log |residual| has two parts. What the outputs of a row
share makes the whole row larger or smaller; what is each output's own moves the outputs
against each other. Correlations treat errors of the two very differently: where all go
together, a row is judged by its differences, and a wrong ratio of two spreads makes a
difference of errors that had none. A power that is right for every output alone can
then cost more than all of the spread is worth. So each part has a power,

    log s_ij = level_j + common c_i + own (l_ij - c_i),   c_i the mean of l_ij over j,

and both are judged by the joint likelihood of rows that were held out, the correlation
learned without them. A constant covariance, (0, 0), is left only for what gains more
than the standard error of the gain. Of the powers that gain all but a tenth of what is
certain, those that are best for every output alone are taken: the joint likelihood
looks at all directions alike, also at those in which hardly anything happens; decisions
look at sums of outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

from ..checks import Array
from .correlation import shrunk
from .rows import Folds

#: Whose likelihood says how far spreads are believed.
BY = ("rows", "outputs")
#: The regressor is trusted twice over at most.
MOST_POWER = 2.0
#: Powers of what is each output's own that are tried, in units of the power that would
#: be best if outputs were independent.
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
#: How much of what is certain of the gain may be given up for outputs by themselves.
SPARED = 0.1


@dataclass(frozen=True)
class Powers:
    """How far log spreads are believed: what a row shares, and what is an output's own.

    Examples
    --------
    >>> Powers(common=1.0, own=0.0)(np.array([[1.0, 3.0]]))
    array([[2., 2.]])
    """

    common: float = 0.0
    own: float = 0.0

    def __call__(self, logs: Array) -> Array:
        """Log spreads of shape (n, m), but for a constant an output."""
        shared = logs.mean(axis=1, keepdims=True)
        return np.asarray(self.common * shared + self.own * (logs - shared))

    @property
    def both(self) -> tuple[float, float]:
        """The two."""
        return self.common, self.own

    def times(self, trust: float) -> Powers:
        """Both powers, times a number."""
        return Powers(trust * self.common, trust * self.own)


def learn_powers(
    logs: Array, residuals: Array, folds: Folds | tuple[()], by: str = "rows"
) -> Powers:
    """The powers of least held-out loss, given rows of log spreads and residuals.

    Parameters
    ----------
    logs : array of shape (n, m): what is predicted of log |residual|, out of fold
    residuals : array of shape (n, m), out of fold, in units of about their size
    folds : which rows are held out together
    by : "rows", or "outputs" for one power, that of outputs by themselves

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shared, own = rng.normal(size=(400, 1)), rng.normal(size=(400, 2))
    >>> noise = rng.normal(size=(400, 1)) + 0.1 * rng.normal(size=(400, 2))
    >>> row = np.arange(400)
    >>> folds = [(row[row % 2 == k], row[row % 2 != k]) for k in (0, 1)]
    >>> powers = learn_powers(shared + 0.2 * own, np.exp(shared) * noise, folds)
    >>> abs(powers.common - 1) < 0.1, powers.own < 0.3
    (True, True)
    """
    if by == "outputs":
        power = marginal_power(logs, residuals)
        return Powers(power, power)
    if min(len(train) for train, _ in folds) < 2:
        return Powers()  # A correlation needs two rows.
    held_out = _HeldOut(logs, residuals, folds)
    constant, power = held_out.nats(Powers())[0], marginal_power(logs, residuals)
    tried, gains, common = [], [], power
    for own in np.unique(power * np.array(SHARES)):
        common = held_out.best_common(Powers(common, float(own)))
        for each in (common, power):
            tried.append(Powers(each, float(own)))
            gains.append(constant - held_out.nats(tried[-1])[0])
    means, best = np.mean(gains, axis=1), int(np.argmax(np.mean(gains, axis=1)))
    error = float(np.std(gains[best])) / np.sqrt(len(logs))
    if means[best] <= error:
        return Powers()
    spared = SPARED * max(means[best] - 2 * error, 0.0)
    near = [tried[k] for k in np.flatnonzero(means >= means[best] - spared)]
    return min(near, key=lambda powers: marginal_loss(powers(logs), residuals))


def marginal_power(logs: Array, residuals: Array) -> float:
    """The one power that would be best if outputs were independent.

    Examples
    --------
    >>> logs = np.log([[0.5, 2.0], [0.5, 1.0], [1.0, 2.0], [1.0, 1.0]])
    >>> round(marginal_power(logs, np.exp(logs / 2)), 4)
    0.5
    """

    def loss(power: float) -> float:
        return marginal_loss(power * logs, residuals)

    power = float(minimize_scalar(loss, bounds=(0.0, MOST_POWER), method="bounded").x)
    return power if loss(power) < loss(0.0) - 1e-9 else 0.0


def marginal_loss(logs: Array, residuals: Array) -> float:
    """Nats an output of every output alone, each level at its best.

    Examples
    --------
    >>> marginal_loss(np.zeros((2, 1)), np.array([[1.0], [-1.0]]))
    0.0
    """
    centred = logs - logs.mean(axis=0)
    squares = np.mean((residuals * np.exp(-centred)) ** 2, axis=0)
    # An output without errors says nothing of spreads.
    return float(np.mean(np.log(np.where(squares > 0, squares, 1.0)))) / 2


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Losses of rows under a correlation that was learned without them."""

    logs: Array
    residuals: Array
    folds: Folds | tuple[()]

    def nats(self, powers: Powers) -> tuple[Array, Array]:
        """Losses of the rows, less a constant, and their squared lengths: each (n,)."""
        logs = powers(self.logs)
        unit = self.residuals * np.exp(-logs)
        size = np.sqrt(np.mean(unit**2, axis=0))
        # An output without errors says nothing of spreads.
        size = np.where(size > 0, size, 1.0)
        unit = unit / size
        lengths, losses = np.empty(len(unit)), logs.sum(axis=1) + np.log(size).sum()
        for train, held in self.folds:
            factor = np.linalg.cholesky(shrunk(unit[train]))
            white = solve_triangular(factor, unit[held].T, lower=True)
            lengths[held] = np.sum(white**2, axis=0)
            losses[held] += lengths[held] / 2 + np.log(np.diag(factor)).sum()
        return losses, lengths

    def best_common(self, powers: Powers) -> float:
        """The best power of what rows share, all else and the correlation as it is."""
        lengths = self.nats(powers)[1]
        shared = self.logs.mean(axis=1)
        centred = 2 * (shared - shared.mean())

        def loss(common: float) -> float:
            return float(np.mean(lengths * np.exp((powers.common - common) * centred)))

        bounds = (0.0, MOST_POWER)
        return float(minimize_scalar(loss, bounds=bounds, method="bounded").x)
