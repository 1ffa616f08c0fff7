"""Marginal coverage: split conformal calibration.

    i = ceil((N + 1)(1 - alpha)),   budget = i-th smallest of N scores.

A new score is equally likely to take any of the N + 1 ranks among the calibration
scores and itself, so it exceeds the budget with probability at most 1 - i/(N + 1), with
equality if there are no ties. Nothing else about the data is used.
"""

from dataclasses import dataclass
from math import ceil, inf

from ..checks import require_level
from .certificate import Certificate
from .exact import exact, require_whole
from .order_statistic import OrderStatistic

_REFERENCE = "Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Theorem 2.2"


@dataclass(frozen=True)
class Marginal(OrderStatistic):
    """A new outcome leaves its set with probability at most alpha, on average.

    The average is over the calibration draw as well: one calibration in two or so has
    a violation rate above alpha, by a little. `PAC` promises it for the draw at hand.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Theorem 2.2; Vovk (2012),
    Proposition 2b, for the law of the realised violation rate.

    Examples
    --------
    >>> from sublevel.guarantees import Marginal
    >>> Marginal().calibrate(range(1, 100), alpha=0.1).budget
    90.0
    >>> Marginal().promise(range(1, 100), budget=90).alpha
    0.1
    >>> [Marginal().minimum_sample_size(alpha) for alpha in (0.1, 0.05, 0.01)]
    [9, 19, 99]
    >>> Marginal().rank(100, alpha=0.1)
    91
    """

    def rank(self, sample_size: int, alpha: float) -> int | None:
        require_level(type(self).__name__, alpha=alpha)
        if type(sample_size) is not int or not 0 <= sample_size < 10**9:
            require_whole(type(self).__name__, least=0, sample_size=sample_size)
        rank = ceil((sample_size + 1) * (1 - exact(alpha)))
        return rank if rank <= sample_size else None

    def minimum_sample_size(self, alpha: float) -> int:
        require_level(type(self).__name__, alpha=alpha)
        return ceil(1 / exact(alpha)) - 1

    def level(self, within: int, sample_size: int) -> float:
        owner = f"{type(self).__name__}.level"
        require_whole(owner, least=0, within=within)
        require_whole(owner, least=within, sample_size=sample_size)
        return (sample_size + 1 - within) / (sample_size + 1)

    def blank_certificate(self, alpha: float, sample_size: int) -> Certificate:
        return Certificate(
            guarantee="Marginal",
            alpha=alpha,
            confidence=None,
            budget=inf,
            sample_size=sample_size,
            minimum_sample_size=self._needed(alpha),
            rank=None,
            random="The calibration sample and the new outcome with its context.",
            assumptions=(
                "The calibration outcomes and the new one are exchangeable.",
                "The calibration outcomes had no part in choosing model, loss or set.",
            ),
            reference=_REFERENCE,
        )

    def fixed_in_advance(self) -> str:
        return (
            "The budget was given, not calibrated: averaged over calibration draws "
            "this level is at least the violation rate; in a single draw it may fall "
            "below it. PAC bounds it for the draw at hand."
        )
