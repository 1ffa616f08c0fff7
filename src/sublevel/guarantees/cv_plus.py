"""CV+ coverage: every outcome both trains and calibrates, for small samples.

Each of n outcomes is scored by the model fitted without its fold. With the i-th
smallest of these scores as the budget of every fold's set, the union of the K sets
covers a new outcome with probability at least

    1 - 2 a - min{2(1 - 1/K)/(n/K + 1), (1 - K/n)/(K + 1)},   i = ceil((n + 1)(1 - a)).

The nominal level a is chosen here so that this is 1 - alpha. The theorem is about folds
of equal size, so K must divide n. Fitting the folds and uniting their sets happens
where the models are.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from typing import ClassVar

from ..checks import require_level
from ..errors import InvalidParameter
from .certificate import Certificate
from .exact import exact, require_whole
from .order_statistic import OrderStatistic

_ASSUMPTIONS = (
    "The outcomes of the sample and the new one are exchangeable.",
    "Fitting a model does not depend on the order of its sample.",
    "The folds are of equal size and were drawn without looking at the outcomes.",
    "The decision is protected against the union of all folds' sets.",
)


@dataclass(frozen=True)
class CVPlus(OrderStatistic):
    """A new outcome leaves the union of the folds' sets with probability <= alpha.

    Parameters
    ----------
    n_splits : int or None
        Number of folds K, which must divide the number of outcomes; None leaves one
        outcome out at a time, which needs the fewest outcomes and the most fits.

    References
    ----------
    Barber, Candes, Ramdas and Tibshirani (2021), Theorems 1 and 4.

    Examples
    --------
    >>> from sublevel.guarantees import CVPlus
    >>> CVPlus().calibrate(range(1, 41), alpha=0.1).budget
    39.0
    >>> CVPlus().promise(range(1, 41), budget=39).alpha
    0.0975...
    >>> [CVPlus().minimum_sample_size(alpha) for alpha in (0.1, 0.05, 0.01)]
    [19, 39, 199]
    >>> CVPlus(n_splits=10).minimum_sample_size(0.1)  # a multiple of 10
    120
    """

    n_splits: int | None = None

    beta_law: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_splits is not None:
            require_whole("CVPlus", least=2, n_splits=self.n_splits)

    def check(self, sample_size: int) -> None:
        """Refuse a number of outcomes that has no folds of equal size.

        Calibrating refuses it too, but only after every fold's model was fitted.

        Parameters
        ----------
        sample_size : int
            Number of outcomes n.

        Examples
        --------
        >>> from sublevel.guarantees import CVPlus
        >>> CVPlus(n_splits=10).check(120)
        """
        require_whole("CVPlus.check", least=1, sample_size=sample_size)
        if self.n_splits is None:
            return
        if self.n_splits > sample_size:
            raise InvalidParameter(
                f"CVPlus(n_splits={self.n_splits}) must be at most the number of "
                f"scores, got {sample_size}. Use n_splits=None to leave one out at a "
                f"time."
            )
        if sample_size % self.n_splits:
            raise InvalidParameter(
                f"CVPlus(n_splits={self.n_splits}) must divide the number of scores, "
                f"got {sample_size}: the promise is proved for folds of equal size. "
                f"{_way_out(int(sample_size), int(self.n_splits))}"
            )

    def count_folds(self, sample_size: int) -> int:
        """The number of folds that so many outcomes are split into.

        Examples
        --------
        >>> from sublevel.guarantees import CVPlus
        >>> CVPlus(n_splits=10).count_folds(120), CVPlus().count_folds(17)
        (10, 17)
        """
        self.check(sample_size)
        return sample_size if self.n_splits is None else int(self.n_splits)

    def slack(self, sample_size: int) -> Fraction:
        """Coverage lost to folds of more than one outcome; 0 for leave-one-out."""
        splits = self.count_folds(sample_size)
        fold = Fraction(sample_size, splits)
        by_fold = 2 * (1 - Fraction(1, splits)) / (fold + 1)
        by_splits = (1 - 1 / fold) / (splits + 1)
        return min(by_fold, by_splits)

    def rank(self, sample_size: int, alpha: float) -> int | None:
        require_level("CVPlus", alpha=alpha)
        nominal = (exact(alpha) - self.slack(sample_size)) / 2
        rank = ceil((sample_size + 1) * (1 - nominal))
        return rank if rank <= sample_size else None

    def minimum_sample_size(self, alpha: float) -> int:
        # Larger folds never hurt: (alpha - slack) / 2 - 1 / (n + 1) grows with n = K m.
        # The slack's first term falls; its second rises by 1 / (m (m + 1)(K + 1)), at
        # most twice what 1 / (n + 1) falls by.
        step = 1 if self.n_splits is None else int(self.n_splits)
        least = enough = 1
        while self.rank(enough * step, alpha) is None:
            least, enough = enough + 1, 2 * enough
        while least < enough:
            middle = (least + enough) // 2
            if self.rank(middle * step, alpha) is None:
                least = middle + 1
            else:
                enough = middle
        return enough * step

    def level(self, within: int, sample_size: int) -> float:
        nominal = Fraction(sample_size + 1 - within, sample_size + 1)
        return float(min(Fraction(1), 2 * nominal + self.slack(sample_size)))

    def blank_certificate(self, alpha: float, sample_size: int) -> Certificate:
        return Certificate(
            guarantee="CVPlus",
            alpha=alpha,
            confidence=None,
            budget=inf,
            sample_size=sample_size,
            minimum_sample_size=self._needed(alpha),
            rank=None,
            random="The whole sample and the new outcome with its context.",
            assumptions=_ASSUMPTIONS,
            reference=(
                "Barber, Candes, Ramdas and Tibshirani (2021), Theorems 1 and 4"
            ),
            beta_law=self.beta_law,
        )

    def too_few(self, certificate: Certificate) -> str:
        way_out = super().too_few(certificate)
        if self.n_splits is None:
            return way_out
        fewest = CVPlus().minimum_sample_size(certificate.alpha)
        return (
            f"{way_out} Leaving one out at a time, n_splits=None, needs only {fewest}."
        )

    def fixed_in_advance(self) -> str:
        return (
            "The budget was given, not calibrated: averaged over draws of the sample "
            "this level is at least the violation rate; in a single draw it may fall "
            "below it."
        )


def _way_out(size: int, splits: int) -> str:
    """Numbers of rows and of splits nearby that go together."""
    fewer = size - size % splits
    fitting = [each for each in range(2, size // 2 + 1) if size % each == 0]
    nearby = [
        *[each for each in fitting if each < splits][-1:],
        *[each for each in fitting if each > splits][:1],
    ]
    others = "".join(f"n_splits={each}, " for each in nearby)
    return (
        f"Use {fewer} or {fewer + splits} rows, chosen without looking at the "
        f"outcomes, {others}or n_splits=None to leave one out at a time."
    )
