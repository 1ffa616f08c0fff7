"""Upper confidence bounds for the mean of independent values in [0, 1].

With probability at least 1 - delta over the sample, the mean is below the bound.

| bound               | for                         | reference                       |
|---------------------|-----------------------------|---------------------------------|
| clopper_pearson     | zeros and ones: exact       | Clopper and Pearson (1934)      |
| hoeffding_bentkus   | rare ones, any values       | Bentkus (2004); Bates et al.    |
|                     |                             | (2021), Section 3               |
| betting             | any values: usually tightest| Waudby-Smith and Ramdas (2024)  |
| empirical_bernstein | any values: a closed form   | Maurer and Pontil (2009), Th. 4 |

`betting` reads the values in the order they come; the others do not care.
"""

from collections.abc import Callable
from math import ceil, e, exp, fsum, log, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import betaincc, rel_entr

from ..checks import Array, as_numbers, require_level, require_nonnegative
from ..errors import InvalidParameter
from ..guarantees.exact import clopper_pearson

__all__ = [
    "betting",
    "betting_rejects",
    "clopper_pearson",
    "empirical_bernstein",
    "hoeffding_bentkus",
    "hoeffding_bentkus_pvalue",
]

#: Halvings of [0, 1] before a bound is as sharp as a float.
_HALVINGS = 52


def hoeffding_bentkus_pvalue(values: npt.ArrayLike, level: float) -> float:
    """P-value of the hypothesis that the mean is at least `level`.

        min{exp(-N h(mean, level)), e P(Bin(N, level) <= ceil(N mean))},

    with h the Kullback-Leibler divergence of two coins.

    Parameters
    ----------
    values : array of shape (N,)
        Independent, in [0, 1].
    level : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> from sublevel.guarantees import mean_bounds
    >>> round(mean_bounds.hoeffding_bentkus_pvalue([0.0] * 30, level=0.1), 4)
    0.0424
    """
    require_level("hoeffding_bentkus_pvalue", level=level)
    vector = _as_values("hoeffding_bentkus_pvalue", values)
    return _pvalue(fsum(vector), vector.size, float(level))


def hoeffding_bentkus(values: npt.ArrayLike, delta: float = 0.05) -> float:
    """Upper bound on the mean: the levels above it have a p-value of at most delta.

    Parameters
    ----------
    values : array of shape (N,)
        Independent, in [0, 1].
    delta : float
        Confidence deficit.

    Examples
    --------
    >>> from sublevel.guarantees import mean_bounds
    >>> round(mean_bounds.hoeffding_bentkus([0.0] * 90 + [1.0] * 10), 4)
    0.1814
    """
    require_level("hoeffding_bentkus", delta=delta)
    vector = _as_values("hoeffding_bentkus", values)
    total, size = fsum(vector), vector.size
    # The p-value falls as the level rises above the mean of the sample.
    return _least(lambda level: _pvalue(total, size, level) <= delta, total / size)


def betting(values: npt.ArrayLike, delta: float = 0.05) -> float:
    """Upper bound on the mean: the least level at which a gambler grows rich.

    Starting with 1, the gambler bets the share lambda_i that value i falls below the
    level m. If the mean is at least m the game is not in their favour, so the capital

        K_i(m) = prod_{j <= i} (1 + lambda_j (m - value_j))

    ever reaches 1/delta with probability at most delta (Ville's inequality). The bound
    is inf{m : max_i K_i(m) >= 1/delta}.

    Parameters
    ----------
    values : array of shape (N,)
        Independent, in [0, 1], in the order they were drawn or any order chosen
        without looking at them.
    delta : float
        Confidence deficit.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import mean_bounds
    >>> values = np.random.default_rng(0).beta(1, 9, size=1000)
    >>> round(mean_bounds.betting(values), 3), round(float(values.mean()), 3)
    (0.106, 0.1)
    """
    require_level("betting", delta=delta)
    vector = _as_values("betting", values)
    stakes = _stakes(vector, delta)
    return _least(lambda level: _grows_rich(vector, stakes, level, delta), 0.0)


def betting_rejects(values: npt.ArrayLike, level: float, delta: float = 0.05) -> bool:
    """Whether `betting(values, delta) <= level`, in one pass over the values.

    Parameters
    ----------
    values : array of shape (N,)
        As for `betting`.
    level : float
        At least 0.
    delta : float
        Confidence deficit.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import mean_bounds
    >>> values = np.random.default_rng(0).beta(1, 9, size=1000)
    >>> [mean_bounds.betting_rejects(values, level) for level in (0.1, 0.11)]
    [False, True]
    """
    require_level("betting_rejects", delta=delta)
    require_nonnegative("betting_rejects", level=level)
    vector = _as_values("betting_rejects", values)
    # No mean exceeds 1.
    return level >= 1 or _grows_rich(vector, _stakes(vector, delta), level, delta)


def empirical_bernstein(values: npt.ArrayLike, delta: float = 0.05) -> float:
    """Upper bound on the mean from the mean and the variance of the sample.

        mean + sqrt(2 variance log(2/delta) / N) + 7 log(2/delta) / (3 (N - 1)).

    Parameters
    ----------
    values : array of shape (N,)
        Independent, in [0, 1].
    delta : float
        Confidence deficit.

    Examples
    --------
    >>> from sublevel.guarantees import mean_bounds
    >>> round(mean_bounds.empirical_bernstein([0.0] * 900 + [1.0] * 100), 4)
    0.1344
    """
    require_level("empirical_bernstein", delta=delta)
    vector = _as_values("empirical_bernstein", values)
    size = vector.size
    if size == 1:
        return 1.0
    wide = sqrt(2 * float(vector.var(ddof=1)) * log(2 / delta) / size)
    bound = float(vector.mean()) + wide + 7 * log(2 / delta) / (3 * (size - 1))
    return min(1.0, bound)


def _pvalue(total: float, size: int, level: float) -> float:
    mean, count = total / size, ceil(total)
    hoeffding = 1.0
    if mean < level:
        apart = rel_entr(mean, level) + rel_entr(1 - mean, 1 - level)
        hoeffding = exp(-size * float(apart))
    tail = 1.0 if count >= size else float(betaincc(count + 1, size - count, level))
    return min(1.0, hoeffding, e * tail)


def _stakes(values: Array, delta: float) -> Array:
    """How much is bet on each value, from the values before it, shape (N,)."""
    seen = np.arange(1, values.size + 1)
    # One half and one quarter stand for the mean and variance before any value.
    means = (0.5 + np.cumsum(values)) / (1 + seen)
    spreads = (0.25 + np.cumsum((values - means) ** 2)) / (1 + seen)
    before = np.concatenate([[0.25], spreads[:-1]])
    stakes: Array = np.minimum(1.0, np.sqrt(2 * log(1 / delta) / values.size / before))
    return stakes


def _grows_rich(values: Array, stakes: Array, level: float, delta: float) -> bool:
    with np.errstate(divide="ignore"):  # a lost stake of everything: log 0
        capital = np.cumsum(np.log1p(stakes * (level - values)))
    return bool(capital.max() >= log(1 / delta))


def _least(holds: Callable[[float], bool], above: float) -> float:
    """The least level in [above, 1] at which something true of all larger ones holds.

    Rounded up; 1 if it holds nowhere.
    """
    low, high = above, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _as_values(owner: str, values: npt.ArrayLike) -> Array:
    vector = as_numbers(owner, "values", values)
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidParameter(
            f"{owner}(values=...) must be a non-empty vector, got shape {vector.shape}."
        )
    outside = np.flatnonzero(~((vector >= 0) & (vector <= 1)))
    if outside.size:
        raise InvalidParameter(
            f"{owner}(values=...) must lie in [0, 1], got {vector[outside[0]]} at row "
            f"{outside[0]}. Divide by the largest value possible."
        )
    return vector
