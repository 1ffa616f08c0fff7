"""Protection where it is cheap: a spread made smaller where the decision pays most.

A promise on average over contexts leaves open where decisions are wrong. A context
protected with radius t is wrong with probability tail(t) and certifies a cost that
rises with t, by its *stake* s a unit of radius. For a price of being wrong the best
radius solves

    density(t) = s / price,    no radius at all where the density is nowhere so large.

Errors with an exponential tail have t = constant - width log s, normal ones
t^2 = constant - 2 log s. Both are, to first order around the radius z that is needed on
average,

    t = z (1 - power log(s / typical)),    power 1 / z^2 for normal errors,

and 0 where that is negative: there protection costs more than it is worth. The typical
stake is such that normal errors would break the promise with probability alpha on
average over the training contexts. What is at stake is read off the problem itself: by
how much the certified cost rises between no protection and radius z. It is a function
of the context alone, so that sets scaled by it are as fair as any others: what is
calibrated is one number.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from ..checks import Array, briefly, is_number, require_level
from ..errors import InvalidParameter
from ..loss_set.source import PredictsSets
from ..losses import Gaussian
from ..predictions import Prediction, Table
from ..predictions.tables import count_rows
from ..robust.policy import Policy

_OWNER = "Rationed"
#: Stakes below this, in units of the typical one, are solver noise.
LEAST = 1e-4
#: The radius that is left where none is worth its cost, in units of the typical one: a
#: spread must be positive.
LEAST_SHARE = 1e-3
#: The radius at which a stake is read off, where alpha asks for next to none.
LEAST_RADIUS = 0.5


class Rationed:
    """A model whose predicted spread is smaller where protection is expensive.

    Give it to a LossSet with `loss="gaussian"` in place of the model of `policy`:
    spreads, or factors of covariances, are multiplied by
    1 - power log(stake / typical), or by .001 where that is less. The promise on
    average over contexts is kept as with any model. Where a decision has much at stake
    it is broken more often, and where it has little less often: contexts at .001 are
    all but unprotected. Use `Mondrian` where each group needs a promise of its own.
    Every prediction takes two more decisions, at the values that ordinary parameters
    have when it is made. Its last digits may differ with the number of rows asked at
    once, by which solvers are chosen.

    Parameters
    ----------
    policy : Policy with one LossSet, whose loss is `gaussian`
        Decides with the model as it is. Its own calibration plays no part.
    X : covariates, of the training data
        Their stakes tell what is typical. Outcomes are not needed. Rows that calibrate
        must not be among them.
    alpha : float in (0, 1), default 0.1
        The violation level that is wanted: at small ones stakes matter less. From .31
        on it counts as .31, below which a radius is too small to read a stake off.
    power : float, at least 0, optional
        By default min(1, 1 / z^2) with z the 1 - alpha quantile of a normal error: .61
        at .1, .18 at .01. 0 leaves the model as it is. `sl.choose` tells which is best.

    Attributes
    ----------
    power : as given, or as alpha says
    policy : as given
    radius : float, at which stakes are read off
    typical : float, the stake that is protected as much as by the model as it is
        Normal errors are then beyond their radii with probability alpha on average
        over the rows of X at which protection costs something.

    Examples
    --------
    Six hours of energy, bought at prices that are noisy on some days.

    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> def model(X):
    ...     return np.full((len(X), 6), 2.0), np.exp(X) * np.ones(6)
    >>> price, buy = sl.Uncertain(6, name="price"), cp.Variable(6, nonneg=True)
    >>> def policy(model):
    ...     sets = sl.LossSet(model, "gaussian")
    ...     cost = cp.Minimize(price @ buy)
    ...     return sl.RobustProblem(cost, [cp.sum(buy) == 1], {price: sets}).compile()
    >>> X = rng.normal(size=(50, 1))
    >>> plain = policy(model)
    >>> rationed = sl.Rationed(plain, X, alpha=0.1)
    >>> calm, noisy = rationed(np.array([[-1.0], [1.0]])).scale[:, 0]
    >>> bool(noisy / calm < np.exp(2))
    True
    >>> X_cal, noise = rng.normal(size=(200, 1)), rng.normal(size=(200, 6))
    >>> best = policy(rationed).calibrate(X_cal, 2 + np.exp(X_cal) * noise, alpha=0.1)
    """

    def __init__(
        self,
        policy: Policy,
        X: Table,
        alpha: float = 0.1,
        *,
        power: float | None = None,
    ) -> None:
        require_level(_OWNER, alpha=alpha)
        quantile = max(float(norm.isf(alpha)), LEAST_RADIUS)
        if power is None:
            power = min(1.0, quantile**-2)
        if not (is_number(power) and 0 <= power < np.inf):
            raise InvalidParameter(
                f"{_OWNER}(power=...) must be a number of at least 0, got "
                f"{briefly(power)}. Leave it out for what alpha says."
            )
        if count_rows(X) == 0:
            raise InvalidParameter(
                f"{_OWNER}(policy, X) must have training contexts, got none. Give the "
                "X that the model was fitted on."
            )
        self.policy, self.power, self.radius = policy, float(power), quantile
        self._source = _gaussian_source(policy)
        stakes = self._rises(self._predict(X))
        rising = stakes[np.isfinite(stakes) & (stakes > 0)]
        if not rising.size:
            raise InvalidParameter(
                f"{_OWNER}(policy, X) must have contexts at which protection costs "
                f"something, got none among {len(stakes)}: either no decision exists "
                f"at radius {quantile:.3g}, or all cost what they cost without "
                "protection. Look at policy.at(0).decide(X)."
            )
        self.typical = _typical(rising, self.power, quantile)

    def __call__(self, X: Table) -> Prediction:
        """The prediction at every row of X, its spread rationed."""
        prediction = self._predict(X)
        logs = np.log(self._stakes(prediction) / self.typical)
        ratio = np.maximum(_shares(logs, self.power), LEAST_SHARE)
        scale, factor = ratio[:, None] * prediction.scale, prediction.factor
        if factor is not None:
            factor = ratio[:, None, None] * factor
        return Prediction(prediction.location, scale, factor=factor)

    def __repr__(self) -> str:
        return (
            f"Rationed(power={self.power:.3g}, radius={self.radius:.3g}, "
            f"typical={self.typical:.3g})"
        )

    def stakes(self, X: Table) -> Array:
        """What a unit of radius costs at every row of X, shape (n,).

        In units of the objective. Where a decision is missing, the typical one.
        """
        return self._stakes(self._predict(X))

    def _stakes(self, prediction: Prediction) -> Array:
        rises = self._rises(prediction)
        ordinary = np.where(np.isfinite(rises), rises, self.typical)
        return np.asarray(np.maximum(ordinary, LEAST * self.typical))

    def _rises(self, prediction: Prediction) -> Array:
        """Slopes of the certified cost between no protection and the radius; nan where
        one of the decisions is missing.
        """
        costs = [
            self.policy.at(level).decide(prediction).objective
            for level in (0.0, self.radius**2)
        ]
        # A reward that is certified falls: what counts is by how much.
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(costs[1] - costs[0]) / self.radius)

    def _predict(self, X: Table) -> Prediction:
        (part,) = self._source.predict_set(X, budget=1.0).parts
        # A Gaussian loss asks its model for nothing else.
        assert isinstance(part.prediction, Prediction)
        return part.prediction


def _shares(logs: Array, power: float) -> Array:
    """Radii in units of the typical one, by logarithms of stakes in units of theirs."""
    return np.maximum(1 - power * logs, 0.0)


def _typical(stakes: Array, power: float, radius: float) -> float:
    """The stake of the full radius, by the share of normal errors that are beyond.

    A few contexts with very much at stake, or next to nothing, then do not decide for
    the others, and never are so many left unprotected that the promise is out of reach.
    """
    logs = np.log(np.maximum(stakes, LEAST * np.median(stakes)))
    if power == 0:
        return float(np.exp(logs.mean()))

    def excess(log_typical: float) -> float:
        beyond = norm.sf(radius * _shares(logs - log_typical, power))
        return float(beyond.mean() - norm.sf(radius))

    # All contexts without protection, or all with the full radius at least.
    unprotected = float(logs.min()) - 1 / power
    return float(np.exp(brentq(excess, unprotected, float(logs.max()))))


def _gaussian_source(policy: object) -> PredictsSets:
    """The only LossSet of a policy, if its loss takes spreads as they are."""
    keys = policy.problem.keys if isinstance(policy, Policy) else ()
    sources = [key.predicted for key in keys]
    if len(sources) != 1 or sources[0] is None or len(sources[0].losses_) != 1:
        raise InvalidParameter(
            f"{_OWNER}(policy) must be a Policy with one LossSet, got "
            f"{briefly(policy)}. Compile the problem with "
            "sl.LossSet(model, 'gaussian') first."
        )
    (loss,) = sources[0].losses_
    if not isinstance(loss, Gaussian):
        raise InvalidParameter(
            f"{_OWNER}(policy) must have a LossSet with loss='gaussian', whose model "
            f"predicts a spread, got {type(loss).__name__}. Compile the problem with "
            "sl.LossSet(model, 'gaussian')."
        )
    return sources[0]
