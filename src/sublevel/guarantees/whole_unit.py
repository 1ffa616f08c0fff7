"""Whole days: no violation on any row of a new one.

The score of a day is the largest of its rows'. A violation at a budget on any row
implies that this exceeds the budget, and days are exchangeable: what an order statistic
promises of scores, it promises of days.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from ..errors import InvalidParameter
from ..predictions import Table
from .calibration import Calibration, warn_if_infinite
from .certificate import Certificate
from .choice import get
from .faces import Settled
from .marginal import Marginal
from .order_statistic import OrderStatistic
from .scores import as_scores, require_no_nan
from .units import Unit, alike, in_words, read_units, require_unit


@dataclass(frozen=True)
class WholeUnit:
    """No violation on any row of a new day, or other unit, but with probability alpha.

    Parameters
    ----------
    unit : "hours", "days", "weeks", "months" or "years"; a column of X; or a function
        What is exchangeable, as for `UnitAverage`.
    guarantee : Marginal, PAC, "marginal" or "pac"
        What is promised; PAC asks for independent units.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import WholeUnit
    >>> day = np.repeat(np.arange(19), 24)[:, None]
    >>> scores = np.arange(19 * 24.0)
    >>> WholeUnit(0).calibrate(scores, alpha=0.1, X=day).budget
    431.0
    >>> WholeUnit(0, "pac").minimum_sample_size(0.1)  # days
    29
    """

    unit: Unit
    guarantee: Any = field(default_factory=Marginal)

    def __post_init__(self) -> None:
        require_unit("WholeUnit", self.unit)
        inner = get(self.guarantee)
        if not isinstance(inner, OrderStatistic) or not inner.beta_law:
            raise InvalidParameter(
                f"WholeUnit(guarantee=...) must be Marginal or PAC, got {inner!r}."
            )

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> Calibration:
        """The budget that some row of a new unit exceeds with probability alpha.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        alpha : float
            Violation level of whole units, strictly between 0 and 1.
        X : array or table of N rows
            The contexts that units are read from.
        """
        certificate = self._worded(
            self._inner.certify(self._largest(scores, X), alpha), scores
        )
        warn_if_infinite(certificate)
        return Calibration(certificate.budget, certificate)

    def settling(
        self, sample_size: int, alpha: float, X: Table | None = None
    ) -> Settled:
        """Scores settle the budget once their units' do."""
        units = read_units("WholeUnit", self.unit, X, sample_size)
        settled = self._inner.settling(units.count, alpha)
        return lambda scores, floor: settled(units.largest(scores), floor)

    def promise(
        self, scores: npt.ArrayLike, budget: float, X: Table | None = None
    ) -> Certificate:
        """What a budget fixed in advance promises, judged on these scores.

        Parameters
        ----------
        scores, X
            As for `calibrate`.
        budget : float
            Loss level chosen without looking at these scores.
        """
        return self._worded(
            self._inner.promise(self._largest(scores, X), budget), scores
        )

    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest units for a finite budget."""
        return self._inner.minimum_sample_size(alpha)

    @property
    def _inner(self) -> OrderStatistic:
        inner = get(self.guarantee)
        assert isinstance(inner, OrderStatistic)
        return inner

    def _largest(self, scores: npt.ArrayLike, X: Table | None) -> Any:
        vector = as_scores("WholeUnit", scores)
        require_no_nan("WholeUnit", vector)
        units = read_units("WholeUnit", self.unit, X, vector.size)
        return units.largest(vector)

    def _worded(self, certificate: Certificate, scores: Any) -> Certificate:
        """The certificate of an order statistic, speaking of units."""
        one, several = in_words(self.unit)
        like = (
            "exchangeable"
            if certificate.confidence is None
            else "independent and identically distributed"
        )
        note = certificate.note.replace("calibration scores", f"calibration {several}")
        about = f"Scores are {several}, of {len(as_scores('', scores))} rows in all."
        return replace(
            certificate,
            guarantee=f"WholeUnit, {certificate.guarantee}",
            random=f"The calibration {several} and a new {one} with all its rows.",
            assumptions=alike(self.unit, like),
            note=f"{note} {about}".strip(),
            scope=f"on any row of a new {one}",
        )
