"""Rows that depend on each other within days: the promise on average over a new day.

Split calibration of rows assumes exchangeable rows. With exchangeable days, of K days
let F_k be the distribution of the scores of day k, each row counted alike. The budget
is

    min { t : (F_1(t) + ... + F_K(t)) / (K + 1) >= 1 - alpha }.

A row drawn from a new day exceeds it with probability at most alpha: let t* be the same
with the new day's F_{K+1} among them. It is no larger, and the same function of the
days in any order, so E F_{K+1}(t*) = E (F_1 + ... + F_{K+1})(t*) / (K + 1), which is at
least 1 - alpha. Days may differ in length, and nothing is assumed of the rows of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_level
from ..predictions import Table
from .calibration import Calibration, warn_if_infinite
from .certificate import Certificate
from .faces import Settled
from .marginal import Marginal
from .scores import as_budget, as_scores, require_no_nan
from .units import Unit, UnitRows, alike, in_words, read_units, require_unit

_REFERENCE = "Lee, Barber and Willett (2023), Theorem 1; Dunn et al. (2022)"
#: Sums of shares this close, relatively, count as equal.
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class UnitAverage:
    """At most a share alpha of the rows of a new day, or other unit, on average.

    Parameters
    ----------
    unit : "hours", "days", "weeks", "months" or "years"; a column of X; or a function
        What is exchangeable. Words ask for an X with a DatetimeIndex; a function of X
        gives a label for each row.

    References
    ----------
    Lee, Barber and Willett (2023), Theorem 1, who assume exchangeable rows within
    units too; for a row drawn at random it is not needed.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import UnitAverage
    >>> day = np.repeat(np.arange(19), 24)[:, None]
    >>> scores = np.arange(19 * 24.0)
    >>> UnitAverage(0).calibrate(scores, alpha=0.1, X=day).budget
    431.0
    >>> UnitAverage(0).minimum_sample_size(0.1)  # days
    9
    """

    unit: Unit

    def __post_init__(self) -> None:
        require_unit("UnitAverage", self.unit)

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> Calibration:
        """The budget that a row of a new unit exceeds with probability at most alpha.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        alpha : float
            Violation level, strictly between 0 and 1.
        X : array or table of N rows
            The contexts that units are read from.
        """
        require_level("UnitAverage", alpha=alpha)
        vector, units = self._read(scores, X)
        order = np.argsort(vector, kind="stable")
        covered = np.cumsum(units.shares[order]) * (1 + _TOLERANCE)
        at = int(np.searchsorted(covered, (units.count + 1) * (1 - alpha)))
        budget = float(vector[order[at]]) if at < vector.size else inf
        certificate = replace(
            self._certificate(float(alpha), units, vector.size), budget=budget
        )
        if budget == inf:
            certificate = replace(certificate, note=self._why(certificate, vector))
        warn_if_infinite(certificate)
        return Calibration(budget, certificate)

    def settling(
        self, sample_size: int, alpha: float, X: Table | None = None
    ) -> Settled:
        """Scores settle the budget once it is above the floor."""
        require_level("UnitAverage", alpha=alpha)
        units = read_units("UnitAverage", self.unit, X, sample_size)
        shares, reach = units.shares, (units.count + 1) * (1 - alpha)
        # Sums in another order may round to the other side.
        least = reach * (1 - 1e-9)
        return lambda scores, floor: float(shares[scores <= floor].sum()) < least

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
        limit = as_budget("UnitAverage", budget)
        vector, units = self._read(scores, X)
        covered = float(units.shares[vector <= limit].sum())
        level = max(0.0, 1 - covered / (units.count + 1)) if limit < inf else 0.0
        certificate = self._certificate(level, units, vector.size)
        note = f"{Marginal().fixed_in_advance()} {certificate.note}"
        return replace(certificate, budget=limit, note=note)

    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest units for a finite budget."""
        return Marginal().minimum_sample_size(alpha)

    def _read(self, scores: npt.ArrayLike, X: Table | None) -> tuple[Array, UnitRows]:
        vector = as_scores("UnitAverage", scores)
        require_no_nan("UnitAverage", vector)
        return vector, read_units("UnitAverage", self.unit, X, vector.size)

    def _certificate(self, alpha: float, units: UnitRows, rows: int) -> Certificate:
        one, several = in_words(self.unit)
        return Certificate(
            guarantee="UnitAverage",
            alpha=alpha,
            confidence=None,
            budget=inf,
            sample_size=units.count,
            minimum_sample_size=(
                self.minimum_sample_size(alpha) if 0 < alpha < 1 else 0
            ),
            rank=None,
            random=f"The calibration {several} and a row drawn from a new {one}.",
            assumptions=alike(self.unit),
            reference=_REFERENCE,
            note=f"Scores are {several}, of {rows} rows in all.",
            beta_law=False,
            scope=f"on a row drawn at random from a new {one}",
        )

    def _why(self, certificate: Certificate, scores: Array) -> str:
        """Why the budget is infinite, and the way out."""
        _, several = in_words(self.unit)
        if certificate.sample_size < certificate.minimum_sample_size:
            return (
                f"UnitAverage(alpha={certificate.alpha:g}) needs at least "
                f"{certificate.minimum_sample_size} {several} for a finite budget, got "
                f"{certificate.sample_size}. Add calibration {several} or raise alpha."
            )
        return (
            f"UnitAverage: the budget is infinite because "
            f"{int(np.isinf(scores).sum())} scores are. Find out why, or raise alpha."
        )
