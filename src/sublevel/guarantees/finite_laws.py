"""Balls around observed frequencies that hold the law at every sample size.

Two divergences have such a radius in closed form: D(q || p), the frequencies q in
front, and the variation distance sum |p - q|.
"""

from math import e, exp, expm1, inf, log, sqrt

from scipy.special import lambertw

from ..checks import require_level, require_nonnegative
from .exact import require_whole


def burg_radius(alpha: float, size: int, classes: int) -> float:
    """The radius for {p : D(q || p) <= radius} that holds at every sample size.

        exp(-N radius) (e radius N / (k - 1))^(k - 1) = alpha.

    Not for `KLBall`, which is the other orientation, D(p || q).

    Parameters
    ----------
    alpha : float
        Strictly between 0 and 1.
    size, classes : int
        Number of outcomes N, and of classes k.

    References
    ----------
    Agrawal (2020), Finite-sample concentration of the multinomial in relative entropy.

    Examples
    --------
    >>> from sublevel.guarantees import divergences
    >>> round(divergences.burg_radius(0.1, size=2000, classes=2), 5)
    0.00244
    """
    require_level("burg_radius", alpha=alpha)
    require_counts("burg_radius", size, classes)
    # x exp(1 - x) = alpha^(1 / (k - 1)) with x = N radius / (k - 1) > 1.
    root = lambertw(-(alpha ** (1 / (classes - 1))) / e, k=-1)
    return -float(root.real) * (classes - 1) / size


def burg_level(radius: float, size: int, classes: int) -> float:
    """The most that {p : D(q || p) <= radius} misses the law, at every sample size.

    Parameters
    ----------
    radius : float
    size, classes : int
        Number of outcomes N, and of classes k.

    Examples
    --------
    >>> from sublevel.guarantees import divergences
    >>> round(divergences.burg_level(0.00244, size=2000, classes=2), 2)
    0.1
    """
    require_nonnegative("burg_level", radius=radius)
    require_counts("burg_level", size, classes)
    share = size * radius / (classes - 1)
    if share <= 1:
        return 1.0
    return exp((classes - 1) * (1 + log(share) - share)) if share < inf else 0.0


def variation_radius(alpha: float, size: int, classes: int) -> float:
    """The radius for {p : sum |p - q| <= radius} that holds at every sample size.

        sqrt(2 log((2^k - 2) / alpha) / N).

    The radius of a `VariationBall`.

    Parameters
    ----------
    alpha : float
        Strictly between 0 and 1.
    size, classes : int
        Number of outcomes N, and of classes k.

    References
    ----------
    Weissman, Ordentlich, Seroussi, Verdu and Weinberger (2003), Theorem 2.1.

    Examples
    --------
    >>> from sublevel.guarantees import divergences
    >>> round(divergences.variation_radius(0.1, size=2000, classes=2), 4)
    0.0547
    """
    require_level("variation_radius", alpha=alpha)
    require_counts("variation_radius", size, classes)
    return sqrt(2 * (_log_subsets(classes) - log(alpha)) / size)


def variation_level(radius: float, size: int, classes: int) -> float:
    """The most that {p : sum |p - q| <= radius} misses the law, at every sample size.

    Parameters
    ----------
    radius : float
    size, classes : int
        Number of outcomes N, and of classes k.

    Examples
    --------
    >>> from sublevel.guarantees import divergences
    >>> round(divergences.variation_level(0.0547, size=2000, classes=2), 2)
    0.1
    """
    require_nonnegative("variation_level", radius=radius)
    require_counts("variation_level", size, classes)
    return exp(min(0.0, _log_subsets(classes) - size * radius**2 / 2))


def _log_subsets(classes: int) -> float:
    """log(2^k - 2), for any k of at least 2."""
    return classes * log(2) + log(-expm1((1 - classes) * log(2)))


def require_counts(owner: str, size: int, classes: int) -> None:
    """At least one outcome and two classes."""
    require_whole(owner, least=1, size=size)
    require_whole(owner, least=2, classes=classes)
