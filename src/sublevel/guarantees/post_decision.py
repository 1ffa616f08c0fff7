"""Certify decisions already chosen: an upper bound on what they will cost.

A policy fixed in advance, however it was found, has costs c(y, x(X)). With any
prediction m(X) of the cost and any scale s(X) > 0, the standardised costs

    T = (c(y, x(X)) - m(X)) / s(X)

of calibration points are scores like any others, so m(X) + q s(X), with q one of their
order statistics, is exceeded with probability at most alpha. Choosing a good decision
and certifying it are separate things: this does only the second, and nothing tighter
is possible without assumptions, up to 1 / (N + 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, as_vector
from ..errors import InvalidParameter
from .certificate import Certificate
from .marginal import Marginal
from .pac import PAC


@dataclass(frozen=True)
class CostBound:
    """An upper bound on the cost of new decisions.

    Attributes
    ----------
    quantile : order statistic of the standardised costs; inf if data are too few
    certificate : what it promises
    """

    quantile: float
    certificate: Certificate

    def at(self, predicted: npt.ArrayLike = 0.0, spread: npt.ArrayLike = 1.0) -> Array:
        """Bound at contexts with these predicted costs and spreads, shape (...)."""
        return np.asarray(predicted) + self.quantile * np.asarray(spread)


def certify_cost(
    costs: npt.ArrayLike,
    predicted: npt.ArrayLike = 0.0,
    spread: npt.ArrayLike = 1.0,
    alpha: float = 0.1,
    delta: float | None = None,
) -> CostBound:
    """Bound the cost of a policy that these data had no part in choosing.

    Parameters
    ----------
    costs : array of shape (N,)
        Realised costs of the policy's decisions on calibration data; for a reward,
        minus the reward.
    predicted : float or array of shape (N,)
        What the cost was expected to be, in the same units.
    spread : float or array of shape (N,), positive
        How far off that may be, up to a common factor.
    alpha : float in (0, 1), the violation level
    delta : float in (0, 1), optional
        Confidence deficit; without it the promise is on average over calibrations.

    Examples
    --------
    >>> bound = certify_cost(range(1, 100), alpha=0.1)
    >>> float(bound.at()), bound.certificate.event
    (90.0, 'a decision costs more than its bound')
    """
    owner = "certify_cost"
    costs = as_vector(owner, "costs", costs)
    middle = as_numbers(owner, "predicted", predicted)
    scale = as_numbers(owner, "spread", spread)
    for name, values in (("predicted", middle), ("spread", scale)):
        if values.shape not in ((), costs.shape) or not np.isfinite(values).all():
            raise InvalidParameter(
                f"{owner}({name}=...) must be a finite number or one for each of the "
                f"{costs.size} costs, got shape {values.shape}."
            )
    if (scale <= 0).any():
        raise InvalidParameter(
            f"{owner}(spread=...) must be positive, got {scale.min()}."
        )
    promise = Marginal() if delta is None else PAC(delta)
    certificate = promise.certify((costs - middle) / scale, alpha)
    certificate = replace(
        certificate,
        guarantee=f"PostDecision, {certificate.guarantee}",
        event="a decision costs more than its bound",
        assumptions=(
            certificate.assumptions[0],
            "The policy, and the predicted cost and spread, were fixed on other data.",
        ),
    )
    return CostBound(certificate.budget, certificate)
