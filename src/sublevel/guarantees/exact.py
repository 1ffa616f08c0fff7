"""Levels as exact fractions, and binomial tails compared without rounding trouble.

The rank (N + 1)(1 - alpha) is often a whole number: 0.9 x 10 = 9. Binary floating point
may land on either side of it, and one rank too few breaks the promise.
"""

from fractions import Fraction
from math import comb

from ..checks import briefly, is_whole, require_level
from ..deferred import special
from ..errors import InvalidParameter

#: Relative accuracy granted to the incomplete beta function.
_ACCURACY = 1e-9
#: Sample size up to which a doubtful comparison is settled by exact summation.
_EXACT_UP_TO = 1000


def exact(level: float) -> Fraction:
    """The decimal number the caller wrote: 0.1 becomes 1/10."""
    return Fraction(repr(float(level)))


def require_whole(owner: str, least: int, **values: object) -> None:
    """Each value must be a whole number of at least `least`."""
    for name, value in values.items():
        if not is_whole(value, least):
            raise InvalidParameter(
                f"{owner}({name}=...) must be a whole number of at least {least}, got "
                f"{briefly(value)}."
            )


def clopper_pearson(count: int, size: int, delta: float = 0.05) -> float:
    """Upper bound on a probability, from how often the event happened.

        the p with P(Bin(size, p) <= count) = delta.

    Parameters
    ----------
    count, size : int
        Times the event happened, and times it could have.
    delta : float
        Confidence deficit.

    Examples
    --------
    >>> from sublevel.theory import mean_bounds
    >>> round(mean_bounds.clopper_pearson(0, 59), 4)
    0.0495
    >>> mean_bounds.clopper_pearson(3, 3)
    1.0
    """
    require_whole("clopper_pearson", least=0, count=count)
    require_whole("clopper_pearson", least=max(1, count), size=size)
    require_level("clopper_pearson", delta=delta)
    if count == size:
        return 1.0
    return float(special.betainccinv(count + 1, size - count, delta))


def tail_is_below(count: int, trials: int, chance: Fraction, limit: Fraction) -> bool:
    """Whether P(Bin(trials, chance) <= count) <= limit, for 0 <= count < trials.

    A comparison too close for floating point is settled exactly for small samples and
    answered with a no, the safe side, for large ones.
    """
    tail = float(special.betaincc(count + 1, trials - count, float(chance)))
    bound = float(limit)
    if abs(tail - bound) > _ACCURACY * bound:
        return tail < bound
    return trials <= _EXACT_UP_TO and _exact_tail(count, trials, chance) <= limit


def _exact_tail(count: int, trials: int, chance: Fraction) -> Fraction:
    hit, total = chance.numerator, chance.denominator
    weights = (
        comb(trials, hits) * hit**hits * (total - hit) ** (trials - hits)
        for hits in range(count + 1)
    )
    return Fraction(sum(weights), total**trials)
