"""The classical ellipsoid: mean and spread of past outcomes, covariates ignored.

    { mean + scale z : ||z||_2 <= sqrt(2 log(1 / alpha)) }

(Ben-Tal & Nemirovski 2000). A constraint linear in the outcome and kept on the whole
set is violated with probability at most alpha if the components are independent with
this mean and deviation, and strictly sub-Gaussian. None of this is checked, so the
level is a heuristic unless it is asserted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import Array, require_bool, require_choice, require_level
from ..errors import InvalidParameter
from ..guarantees.certificate import KEPT_ON_THE_SET, Certificate
from ..losses import Gaussian, Loss, Mahalanobis
from ..predictions import Prediction, Table, count_rows
from ..theory.classical import ellipsoid_radius
from .source import FittedSource, heuristic, require_full_rank

#: How the spread of past outcomes is estimated.
SPREADS = ("diagonal", "full")

_REFERENCE = "Ben-Tal and Nemirovski (2000); Bertsimas, den Hertog and Pauphilet (2021)"
_ASSUMPTIONS = (
    "Asserted: mean and spread of the outcome are those of the past outcomes, exactly.",
    "Asserted: components are independent and strictly sub-Gaussian (no skewness, "
    "tails no heavier than normal); with a full covariance, every direction is.",
    "One constraint, concave in the outcome, kept on the whole set.",
)


class ClassicalEllipsoid(FittedSource):
    """One ellipsoid around the mean of past outcomes, the same at every context.

    Parameters
    ----------
    alpha : float in (0, 1)
        Violation level aimed at.
    spread : "diagonal" or "full"
        Standard deviations of the components, or their covariance.
    asserted : bool, default False
        Vouch for the assumptions of the theorem; the certificate then lists them, and
        is a heuristic otherwise.

    Attributes
    ----------
    mean_ : array of shape (m,)
    scale_ : array of shape (m,), standard deviations
    radius_ : float, in standard deviations

    Examples
    --------
    >>> Y = np.array([[0.0, 0.0], [2.0, 4.0]])
    >>> sets = ClassicalEllipsoid(alpha=0.1).fit(np.zeros((2, 1)), Y)
    >>> sets.mean_, round(sets.radius_, 3), sets.certificate_.heuristic
    (array([1., 2.]), 2.146, True)
    """

    def __init__(
        self, alpha: float = 0.1, spread: str = "diagonal", asserted: bool = False
    ) -> None:
        self.alpha = alpha
        self.spread = spread
        self.asserted = asserted

    def fit(self, X: Table, Y: Table) -> ClassicalEllipsoid:
        """Mean and spread of the outcomes; X only has to have as many rows."""
        require_level("ClassicalEllipsoid", alpha=self.alpha)
        require_choice("ClassicalEllipsoid", SPREADS, spread=self.spread)
        require_bool("ClassicalEllipsoid", asserted=self.asserted)
        vectors = self._learn_outcomes(X, Y)
        self.mean_ = vectors.mean(axis=0)
        self.scale_ = _deviations(vectors)
        self.loss_ = self._loss(vectors)
        self.budget_ = ellipsoid_radius(self.alpha) ** 2
        self.certificate_ = self._certificate(len(vectors))
        return self

    def _loss(self, vectors: Array) -> Loss:
        if self.spread == "diagonal":
            return Gaussian(full=False)
        covariance = np.atleast_2d(np.cov(vectors.T))
        remedy = "Use spread='diagonal', drop columns or add rows."
        require_full_rank("ClassicalEllipsoid.fit(Y)", covariance, remedy)
        return Mahalanobis(covariance)

    def _say(self, X: Table) -> Prediction:
        n = count_rows(X)
        return Prediction(np.tile(self.mean_, (n, 1)), np.tile(self.scale_, (n, 1)))

    def _certificate(self, size: int) -> Certificate:
        note = (
            "The set aims at one constraint, not at the outcome: outcomes may leave "
            "the set more often."
        )
        facts: dict[str, Any] = {"event": KEPT_ON_THE_SET, "reference": _REFERENCE}
        if self.asserted:
            facts |= {"heuristic": False, "holds": "if what was asserted is true"}
            facts |= {"assumptions": _ASSUMPTIONS, "note": note}
        else:
            why = (
                " Its theorem wants independent, strictly sub-Gaussian components of "
                "known mean and spread; nothing here checks that. Vouch for it with "
                "asserted=True."
            )
            facts["note"] = note + why
        return heuristic(self, self.alpha, size, **facts)


def _deviations(vectors: Array) -> Array:
    """Standard deviation of each component, which must vary."""
    if len(vectors) < 2:
        raise InvalidParameter(
            "ClassicalEllipsoid.fit(Y) must have at least 2 rows to have a spread, got "
            f"{len(vectors)}."
        )
    deviations = vectors.std(axis=0, ddof=1)
    varies = np.ptp(vectors, axis=0) > 0
    if not varies.all():
        raise InvalidParameter(
            "ClassicalEllipsoid.fit(Y) must vary in every column, got a constant "
            f"column {int(np.argmin(varies))}. Model it as a number."
        )
    return np.asarray(deviations)
