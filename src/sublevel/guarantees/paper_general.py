"""Theorem 3.1 of Bertsimas and Boucher: the i-th smallest score as the budget.

    P(score > i-th smallest of N scores) <= 1 - i / (N + 1).

It is right as printed, and it is split conformal calibration: `Marginal`, under the
name the paper gives it. What the paper leaves unsaid is on the certificate.
"""

from dataclasses import dataclass, replace

from .certificate import Certificate
from .marginal import Marginal

_UNSAID = (
    "Theorem 3.1 holds as printed. Left unsaid there: with fewer than 1/alpha - 1 "
    "scores there is no finite budget; exchangeable scores are enough; the level is an "
    "average over calibration draws (PAC promises it for the draw at hand); any "
    "constraint, and all that share the set, are covered."
)


@dataclass(frozen=True)
class PaperGeneral(Marginal):
    """The paper's Theorem 3.1: the same budgets and the same promise as `Marginal`.

    There is no corrected version, as there is nothing to correct: only conditions to
    add, and the certificate has them.

    References
    ----------
    Bertsimas and Boucher, From Data to Uncertainty Sets, Theorem 3.1; Lei, G'Sell,
    Rinaldo, Tibshirani and Wasserman (2018), Theorem 2.2.

    Examples
    --------
    >>> from sublevel.guarantees import PaperGeneral
    >>> calibration = PaperGeneral().calibrate(range(1, 100), alpha=0.1)
    >>> calibration.budget, calibration.certificate.heuristic
    (90.0, False)
    """

    def _certificate(self, alpha: float, sample_size: int) -> Certificate:
        return replace(
            super()._certificate(alpha, sample_size),
            guarantee="PaperGeneral",
            reference="Bertsimas and Boucher, From Data to Uncertainty Sets, Th. 3.1",
            note=_UNSAID,
        )
