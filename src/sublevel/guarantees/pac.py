"""PAC coverage: the violation rate of this very calibration, with confidence.

    budget = (N - c)-th smallest score, c = max{c : P(Bin(N, alpha) <= c) <= delta / K}.

If the budget had a violation rate above alpha, at most c of the N independent scores
would exceed it with probability at most delta / K; K candidates compared on the same
sample share delta between them.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, log, log1p

from ..checks import require_level
from .certificate import Certificate
from .exact import clopper_pearson, exact, require_whole, tail_is_below
from .order_statistic import OrderStatistic

RANDOM = (
    "The calibration sample, for the confidence; given it, the new outcome with its "
    "context, for the violation level."
)
_INDEPENDENT = (
    "The calibration outcomes and the new one are independent and identically "
    "distributed."
)


@dataclass(frozen=True)
class PAC(OrderStatistic):
    """With confidence 1 - delta, the violation rate after this calibration is <= alpha.

    Parameters
    ----------
    delta : float
        Confidence deficit: share of calibration draws in which the promise may fail.
    candidates : int
        How many models, losses or shapes are compared on the calibration sample.
        Calibrate each with this same object, then keep whichever you like.

    References
    ----------
    Vovk (2012), Proposition 2b; Clopper and Pearson (1934) for the converse.

    Examples
    --------
    >>> from sublevel.guarantees import PAC
    >>> PAC(delta=0.05).calibrate(range(1, 101), alpha=0.1).budget
    96.0
    >>> round(PAC(delta=0.05).promise(range(1, 101), budget=96).alpha, 4)
    0.0892
    >>> [PAC(delta=0.05).minimum_sample_size(alpha) for alpha in (0.1, 0.05, 0.01)]
    [29, 59, 299]
    >>> PAC(delta=0.05, candidates=10).minimum_sample_size(0.1)
    51
    """

    delta: float = 0.05
    candidates: int = 1

    def __post_init__(self) -> None:
        require_level("PAC", delta=self.delta)
        require_whole("PAC", least=1, candidates=self.candidates)

    def rank(self, sample_size: int, alpha: float) -> int | None:
        require_level("PAC", alpha=alpha)
        require_whole("PAC", least=0, sample_size=sample_size)
        if sample_size < 1 or not self._allows(0, sample_size, alpha):
            return None
        allowed, too_many = 0, sample_size
        while too_many - allowed > 1:
            middle = (allowed + too_many) // 2
            if self._allows(middle, sample_size, alpha):
                allowed = middle
            else:
                too_many = middle
        return sample_size - allowed

    def minimum_sample_size(self, alpha: float) -> int:
        require_level("PAC", alpha=alpha)
        # (1 - alpha)^N <= delta / K; the logarithms may be off by one at a tie.
        size = max(1, ceil(log(self._share) / log1p(-alpha)) - 1)
        while not self._allows(0, size, alpha):
            size += 1
        return size

    def level(self, within: int, sample_size: int) -> float:
        require_whole("PAC.level", least=0, within=within)
        require_whole("PAC.level", least=within, sample_size=sample_size)
        return clopper_pearson(sample_size - within, sample_size, float(self._share))

    @property
    def _share(self) -> Fraction:
        """The confidence deficit of one candidate."""
        return exact(self.delta) / int(self.candidates)

    def _allows(self, beyond: int, sample_size: int, alpha: float) -> bool:
        """Whether that many scores may exceed the budget."""
        return tail_is_below(beyond, sample_size, exact(alpha), self._share)

    def blank_certificate(self, alpha: float, sample_size: int) -> Certificate:
        return Certificate(
            guarantee="PAC",
            alpha=alpha,
            confidence=float(1 - exact(self.delta)),
            budget=inf,
            sample_size=sample_size,
            minimum_sample_size=self._needed(alpha),
            rank=None,
            random=RANDOM,
            assumptions=(_INDEPENDENT, self._selection()),
            reference="Vovk (2012), Proposition 2b",
            # The law is that of a candidate picked blindly, not of the best of many.
            beta_law=self.candidates == 1,
        )

    def _selection(self) -> str:
        if self.candidates == 1:
            return (
                "The calibration outcomes had no part in choosing model, loss or set."
            )
        return (
            f"At most {self.candidates} candidates were compared on the calibration "
            f"outcomes, each calibrated with its share of the confidence deficit."
        )

    def fixed_in_advance(self) -> str:
        return (
            "The budget was given, not calibrated: the level is the Clopper-Pearson "
            "upper limit of its violation rate, valid if the budget was chosen without "
            "looking at these scores."
        )
