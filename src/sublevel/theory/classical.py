"""Two bounds the paper is compared with: the ellipsoid, and predict-then-calibrate.

The ellipsoid of radius sqrt(2 log(1/alpha)) knows the mean and the variance of every
component and ignores covariates. Predict-then-calibrate takes the empirical quantile
of N losses and pays for it uniformly over all levels: with a share `coverage` of the N
outcomes inside the set, a new one is outside with probability at most

    1 - coverage + 1/N^2 + 4 log(N) / sqrt(N).
"""

from math import exp, log, sqrt

from ..checks import require_level, require_nonnegative
from ..errors import InvalidParameter
from ..guarantees.exact import exact, require_whole

__all__ = ["ellipsoid_level", "ellipsoid_radius", "sun_level", "sun_sample_size"]

#: log(N) / sqrt(N) rises up to exp(2) and falls from then on; up to it the bound is 1.
_FALLING = 8


def ellipsoid_radius(alpha: float) -> float:
    """The radius, in standard deviations, of the classical ellipsoid.

    For independent components of known mean and variance, strictly sub-Gaussian, and
    one constraint concave in the outcome. It is `TheoremA(kappa=1, bias=0, spread=1)`.

    Parameters
    ----------
    alpha : float
        Violation level, strictly between 0 and 1.

    References
    ----------
    Ben-Tal and Nemirovski (2000); Bertsimas, den Hertog and Pauphilet (2021).

    Examples
    --------
    >>> from sublevel.guarantees import classical
    >>> [round(classical.ellipsoid_radius(alpha), 3) for alpha in (0.1, 0.05, 0.01)]
    [2.146, 2.448, 3.035]
    """
    require_level("ellipsoid_radius", alpha=alpha)
    return sqrt(2 * log(1 / alpha))


def ellipsoid_level(radius: float) -> float:
    """The violation level of the classical ellipsoid: exp(-radius^2 / 2).

    Parameters
    ----------
    radius : float
        In standard deviations.

    Examples
    --------
    >>> from sublevel.guarantees import classical
    >>> round(classical.ellipsoid_level(2.146), 3)
    0.1
    """
    require_nonnegative("ellipsoid_level", radius=radius)
    return exp(-(radius**2) / 2)


def sun_level(size: int, coverage: float = 1.0) -> float:
    """The violation level of predict-then-calibrate; 1 if it says nothing.

    Parameters
    ----------
    size : int
        Number of validation outcomes.
    coverage : float
        Share of them inside the set.

    References
    ----------
    Sun, Liu and Li (2023), Predict-then-Calibrate.

    Examples
    --------
    >>> from sublevel.guarantees import classical
    >>> round(classical.sun_level(240_000), 4), classical.sun_level(600)
    (0.1012, 1.0)
    """
    require_whole("sun_level", least=1, size=size)
    _require_share("sun_level", coverage)
    return min(1.0, 1 - coverage + 1 / size**2 + 4 * log(size) / sqrt(size))


def sun_sample_size(alpha: float, coverage: float = 1.0) -> int:
    """The fewest validation outcomes for which predict-then-calibrate says alpha.

    Parameters
    ----------
    alpha : float
        Violation level, strictly between 0 and 1.
    coverage : float
        Share of the outcomes inside the set, above 1 - alpha.

    Examples
    --------
    >>> from sublevel.guarantees import Marginal, classical
    >>> classical.sun_sample_size(0.1), Marginal().minimum_sample_size(0.1)
    (246639, 9)
    """
    require_level("sun_sample_size", alpha=alpha)
    _require_share("sun_sample_size", coverage)
    if exact(alpha) <= 1 - exact(coverage):
        raise InvalidParameter(
            f"sun_sample_size(coverage=...) must exceed 1 - alpha = {1 - alpha:g}, got "
            f"{coverage!r}: no sample is large enough. Use a larger set."
        )
    few = enough = _FALLING
    while sun_level(enough, coverage) > alpha:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        if sun_level(middle, coverage) > alpha:
            few = middle
        else:
            enough = middle
    return enough


def _require_share(owner: str, coverage: float) -> None:
    require_nonnegative(owner, coverage=coverage)
    if coverage > 1:
        raise InvalidParameter(
            f"{owner}(coverage=...) must be a share between 0 and 1, got {coverage!r}."
        )
