"""How much larger than its variance a variance proxy is.

A centred variable e is sub-Gaussian with proxy P if E exp(u e) <= exp(P u^2 / 2) for
every u. Then P is at least the variance, and

    kappa = proxy / variance >= 1

with equality ("strictly sub-Gaussian") for the normal, the uniform, the fair coin,
symmetric Beta laws and sums of these. Third cumulant 0 and excess kurtosis at most 0
are necessary for equality, so skewed noise never has it.
"""

from math import log

import numpy as np
import numpy.typing as npt

from ..checks import as_numbers, require_level
from ..errors import InvalidParameter

__all__ = ["kappa_of_coin", "kappa_of_range"]


def kappa_of_range(width: npt.ArrayLike, spread: npt.ArrayLike) -> float:
    """A kappa for outcomes that are bounded given the context (Hoeffding's lemma).

        max_j width_j^2 / (4 spread_j^2).

    Parameters
    ----------
    width : float or array of shape (m,)
        Length of the interval that holds each component, given the context.
    spread : float or array of shape (m,)
        Standard deviation of each, given the context, or a lower bound on it.

    Examples
    --------
    >>> from sublevel.guarantees import kappa_of_range
    >>> kappa_of_range(width=1.0, spread=0.3).__round__(4)  # a coin of probability 0.1
    2.7778
    """
    owner = "kappa_of_range"
    widths = as_numbers(owner, "width", width)
    spreads = as_numbers(owner, "spread", spread)
    if not widths.size or not spreads.size:
        raise InvalidParameter(
            f"{owner}(width=..., spread=...) must have entries, got none."
        )
    if widths.ndim and spreads.ndim and widths.shape != spreads.shape:
        raise InvalidParameter(
            f"{owner}(spread=...) must have one entry for each of the widths, got "
            f"shapes {spreads.shape} and {widths.shape}."
        )
    widths, spreads = np.broadcast_arrays(widths, spreads)
    # Popoviciu: a standard deviation is at most half the width.
    if not (
        np.isfinite(widths) & (spreads > 0) & (2 * spreads <= widths * (1 + 1e-12))
    ).all():
        raise InvalidParameter(
            f"kappa_of_range(spread=...) must be positive and at most half the width, "
            f"got spread={spread!r} and width={width!r}."
        )
    return max(1.0, float(np.max((widths / (2 * spreads)) ** 2)))


def kappa_of_coin(probability: float) -> float:
    """The kappa of a variable with two values, one of this probability.

        proxy = (1 - 2p) / (2 log((1 - p) / p)) times the squared distance of the two.

    Parameters
    ----------
    probability : float
        Strictly between 0 and 1.

    References
    ----------
    Kearns and Saul (1998); Buldygin and Moskvichova (2013), Theorem 2.1.

    Examples
    --------
    >>> from sublevel.guarantees import kappa_of_coin
    >>> [round(kappa_of_coin(p), 2) for p in (0.5, 0.1, 0.05, 0.01)]
    [1.0, 2.02, 3.22, 10.77]
    """
    require_level("kappa_of_coin", probability=probability)
    tilt = 1 - 2 * probability
    if abs(tilt) < 1e-4:
        # tilt / (2 log((1 + tilt) / (1 - tilt))) = (1 - tilt^2 / 3 - ...) / 4.
        proxy = (1 - tilt**2 / 3) / 4
    else:
        proxy = tilt / (2 * log((1 - probability) / probability))
    return max(1.0, proxy / (probability * (1 - probability)))
