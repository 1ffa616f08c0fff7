"""Weighted coverage: contexts that are distributed differently where we deploy.

With w(X) the density ratio of deployment contexts to calibration contexts,

    budget(X) = inf{r : sum_p w_p 1{Z_p <= r} >= (1 - alpha)(sum_p w_p + w(X))}.

The new outcome counts among the scores with its own weight, so a context unlike the
calibration contexts has a larger budget, and an infinite one if it outweighs them.

Given the N + 1 outcomes but not which of them is the new one, it is outcome p with
probability w_p / (sum_q w_q + w(X)). A budget r fixed in advance is therefore exceeded
with probability at most the mean, over calibration draws and deployment contexts X, of

    1 - sum_p w_p 1{Z_p <= r} / (sum_p w_p + w(X)),

which counts the new outcome, not seen yet, as one that exceeds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly, freeze, require_level
from ..errors import InvalidParameter
from ..predictions import Table
from .calibration import warn_if_infinite
from .certificate import Certificate
from .faces import Settled
from .marginal import Marginal
from .scores import as_budget, as_scores, require_no_nan

_RANDOM = (
    "The calibration sample and a new outcome whose context is drawn from the "
    "deployment distribution."
)
_RATIO = "The density ratio is the true one, up to a factor; an error costs at most "
_ASSUMPTIONS = (
    "The calibration outcomes and the new one are independent.",
    f"{_RATIO}half the mean absolute error of the normalised ratio.",
    "The outcome given its context is distributed alike in calibration and deployment.",
    "The calibration outcomes had no part in choosing model, loss, set or density "
    "ratio.",
)
_DEPLOYMENT = (
    "The deployment contexts given are drawn from the deployment distribution, apart "
    "from the calibration sample."
)
_AVERAGE = (
    "The budget was given, not calibrated: averaged over draws of the calibration "
    "sample and of the deployment contexts this level is at least the violation rate; "
    "in a single draw it may fall below it."
)
_STANDS_IN = (
    "The budget was given, not calibrated, and no deployment contexts were: the "
    "weighted calibration contexts stand in for them. Under a strong shift the "
    "heaviest deployment contexts are missing there, and the level is too low, even on "
    "average. "
    "Pass promise(..., deployment=X_deployment)."
)


@dataclass(frozen=True)
class WeightedCalibration:
    """A budget that depends on the context through its density ratio.

    Parameters
    ----------
    budget : float
        Budget at a context of median calibration weight; `at` has each context's own.
    certificate : Certificate
        What `at` promises; its budget is the one above.
    density_ratio : callable
        From X of n rows to n weights.
    alpha : float
        Violation level.
    scores : array of shape (N,)
        Calibration scores in increasing order.
    cumulative : array of shape (N,)
        Weight of the scores up to each of them, in units of the largest weight.
    unit : float
        The largest calibration weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import Weighted
    >>> X = np.array([[1.0], [1.0], [1.0], [2.0]])
    >>> shift = Weighted(density_ratio=lambda X: X[:, 0])
    >>> calibration = shift.calibrate([1.0, 2.0, 3.0, 4.0], alpha=0.5, X=X)
    >>> calibration.at(np.array([[1.0], [4.0], [9.0]]), 3)
    array([ 3.,  4., inf])
    """

    budget: float
    certificate: Certificate
    density_ratio: Callable[[Any], Any] = field(repr=False)
    alpha: float
    scores: Array = field(repr=False)
    cumulative: Array = field(repr=False)
    unit: float

    def at(self, X: Table | None, n: int) -> Array:
        """The budget at each of the n rows of X, shape (n,)."""
        weights = read_weights(self.density_ratio, X, n) / self.unit
        return budgets_at(weights, self.alpha, self.scores, self.cumulative)


@dataclass(frozen=True)
class Weighted:
    """The marginal promise, on average over deployment contexts that have shifted.

    Only the distribution of the contexts may differ between calibration and
    deployment, not that of the outcome given its context.

    Parameters
    ----------
    density_ratio : callable
        From X of n rows to n weights, at least 0: how much likelier each context is in
        deployment than in calibration. Any common factor cancels.

    References
    ----------
    Tibshirani, Barber, Candes and Ramdas (2019), Corollary 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import Weighted
    >>> X = np.linspace(0, 1, 99)[:, None]
    >>> shift = Weighted(density_ratio=lambda X: np.exp(X[:, 0]))
    >>> shift.calibrate(np.arange(99), alpha=0.1, X=X).budget
    93.0
    >>> later = np.linspace(0, 1, 40)[:, None] ** 0.5
    >>> certificate = shift.promise(np.arange(99), budget=93, X=X, deployment=later)
    >>> round(certificate.alpha, 3)
    0.089
    >>> shift.minimum_sample_size(0.1)
    9
    """

    density_ratio: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.density_ratio):
            raise InvalidParameter(
                f"Weighted(density_ratio=...) must be a function of X, got "
                f"{briefly(self.density_ratio)}."
            )

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> WeightedCalibration:
        """Budgets for contexts distributed as the density ratio says.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        alpha : float
            Violation level, strictly between 0 and 1.
        X : array or table of N rows
            The calibration contexts, for their weights.
        """
        require_level("Weighted", alpha=alpha)
        vector, weights = self._weighted(scores, X)
        unit = float(weights.max())
        order = np.argsort(vector, kind="stable")
        ordered, cumulative = vector[order], np.cumsum(weights[order] / unit)
        middle = np.array([np.median(weights) / unit])
        budget = float(budgets_at(middle, alpha, ordered, cumulative)[0])
        certificate = replace(
            self._certificate(alpha, budget, weights),
            note=_note(alpha, budget, weights),
        )
        warn_if_infinite(certificate)
        values = freeze(ordered), freeze(cumulative)
        return WeightedCalibration(
            budget, certificate, self.density_ratio, float(alpha), *values, unit
        )

    def settling(
        self, sample_size: int, alpha: float, X: Table | None = None
    ) -> Settled:
        """Scores settle all budgets once the least, at weight zero, is above the floor.

        Weight sums too close to tell apart settle nothing: in another order they may
        round to the other side.
        """
        require_level("Weighted", alpha=alpha)
        weights = self._weights(X, sample_size)
        reach = (1 - alpha) * float(weights.sum()) * (1 - _CLOSE)
        return lambda scores, floor: float(weights[scores <= floor].sum()) < reach

    def promise(
        self,
        scores: npt.ArrayLike,
        budget: float,
        X: Table | None = None,
        deployment: Table | None = None,
    ) -> Certificate:
        """What a budget fixed in advance promises on average over deployment contexts.

        Parameters
        ----------
        scores, X
            As for `calibrate`.
        budget : float
            Loss level chosen without looking at these scores.
        deployment : array or table, optional
            Contexts drawn where we deploy; their outcomes are not needed. Without them
            the weighted calibration contexts stand in, and the certificate says that
            its level is a heuristic.
        """
        limit = as_budget("Weighted", budget)
        vector, weights = self._weighted(scores, X)
        covered = weights[vector <= limit].sum()
        own, shares = weights, weights
        if deployment is not None:
            own = read_weights(self.density_ratio, deployment)
            shares = np.ones(own.size)
        level = np.average(1 - covered / (weights.sum() + own), weights=shares)
        # Nothing exceeds an infinite budget, whatever the sample.
        alpha = min(1.0, float(level)) if limit < inf else 0.0
        certificate = self._certificate(alpha, limit, weights)
        return _judged(certificate, proved=deployment is not None)

    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest calibration scores for a finite budget, if weights are equal."""
        return Marginal().minimum_sample_size(alpha)

    def _weighted(self, scores: npt.ArrayLike, X: Table | None) -> tuple[Array, Array]:
        vector = as_scores("Weighted", scores)
        require_no_nan("Weighted", vector)
        return vector, self._weights(X, vector.size)

    def _weights(self, X: Table | None, sample_size: int) -> Array:
        """The weights of the calibration contexts, not all zero, shape (N,)."""
        weights = read_weights(self.density_ratio, X, sample_size)
        if not weights.any():
            raise InvalidParameter(
                "Weighted(density_ratio=...) must be positive somewhere on the "
                "calibration contexts, got weights that are all zero. The deployment "
                "contexts must be among those calibrated on."
            )
        return weights

    def _certificate(self, alpha: float, budget: float, weights: Array) -> Certificate:
        needed = self.minimum_sample_size(alpha) if 0 < alpha < 1 else 0
        return Certificate(
            guarantee="Weighted",
            alpha=float(alpha),
            confidence=None,
            budget=budget,
            sample_size=weights.size,
            minimum_sample_size=needed,
            rank=None,
            random=_RANDOM,
            assumptions=_ASSUMPTIONS,
            reference="Tibshirani, Barber, Candes and Ramdas (2019), Corollary 1",
            note=effective_size(weights),
        )


def _judged(certificate: Certificate, proved: bool) -> Certificate:
    """The certificate of a budget that was given."""
    independent, _, *others = _ASSUMPTIONS
    # Both the level and the violation rate move with the ratio: twice the error.
    ratio = f"{_RATIO}the mean absolute error of the normalised ratio."
    given = (_DEPLOYMENT,) if proved else ()
    return replace(
        certificate,
        # A level of 0 or 1 is trivially true.
        heuristic=not proved and 0 < certificate.alpha < 1,
        assumptions=(independent, ratio, *others, *given),
        note=f"{_AVERAGE if proved else _STANDS_IN} {certificate.note}",
    )


def _note(alpha: float, budget: float, weights: Array) -> str:
    """Whose budget is shown, and where there is none."""
    largest = float(weights.sum()) * alpha / (1 - alpha)
    if budget < inf:
        return (
            f"The budget shown is that of a context of median calibration weight, "
            f"{np.median(weights):g}; every context has its own, no smaller at a "
            f"heavier one and finite where the density ratio is <= {largest:g}. "
            f"{effective_size(weights)}"
        )
    return (
        f"Weighted(alpha={alpha:g}): the budget is infinite at a context of median "
        f"weight, and wherever the density ratio exceeds {largest:g}. Add calibration "
        f"data like the deployment contexts or raise alpha. {effective_size(weights)}"
    )


#: Weight sums this close, relatively, count as equal. The level moves by no more, and
#: equal weights give the same budget as `Marginal`, whatever the rounding.
TOLERANCE = 1e-12
#: Weight sums this close, relatively, may round either way in another order.
_CLOSE = 1e-9


def budgets_at(weights: Array, alpha: float, scores: Array, cumulative: Array) -> Array:
    """The budget at contexts of these weights, from the sorted scores."""
    reach = (1 - alpha) * (cumulative[-1] + weights) * (1 - TOLERANCE)
    budgets: Array = np.append(scores, inf)[np.searchsorted(cumulative, reach)]
    return budgets


def read_weights(
    density_ratio: Callable[[Any], Any], X: Table | None, n: int | None = None
) -> Array:
    """The weight of each row of X, shape (n,)."""
    if X is None:
        raise InvalidParameter(
            "Weighted(density_ratio=...) must be given the contexts, got X=None. "
            "Pass X, one row for each score."
        )
    weights = as_numbers("Weighted", "density_ratio", density_ratio(X))
    if n is None and weights.ndim == 1 and weights.size:
        n = weights.size
    if weights.shape != (n,):
        raise InvalidParameter(
            f"Weighted(density_ratio=...) must give one weight for each of the "
            f"{'deployment' if n is None else n} rows, got shape {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise InvalidParameter(
            f"Weighted(density_ratio=...) must be finite and at least 0, got "
            f"{weights[bad[0]]} at row {bad[0]}."
        )
    return weights


def effective_size(weights: Array) -> str:
    """How many equal weights would be worth as much, in a sentence."""
    size = float(weights.sum()) ** 2 / float(weights @ weights)
    return f"Effective sample size {size:.1f} of {weights.size}."
