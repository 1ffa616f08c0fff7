"""Radii of phi-divergence balls around an observed law.

With N outcomes in k classes and observed frequencies q, the ball is

    {p : sum_j q_j phi(p_j / q_j) <= radius},

the unknown law p in front. It promises that the *law* is in the ball with probability
1 - alpha, which is not that the next outcome is covered.

| divergence          | phi(t)             | the sum                |
|---------------------|--------------------|------------------------|
| KL                  | t log t - t + 1    | D(p || q)              |
| BURG                | -log t + t - 1     | D(q || p)              |
| J                   | (t - 1) log t      | D(p || q) + D(q || p)  |
| CHI_SQUARE          | (t - 1)^2 / t      | sum (p - q)^2 / p      |
| MODIFIED_CHI_SQUARE | (t - 1)^2          | sum (p - q)^2 / q      |
| HELLINGER           | (sqrt(t) - 1)^2    | sum (sqrt p - sqrt q)^2|

2 N / phi''(1) times the sum is chi-square with k - 1 degrees of freedom as N grows
(Ben-Tal et al. 2013, Pardo 2006). Its mean and variance are known to the next order,
and matching them gives the corrected radius; the two orientations of one divergence
differ there. The variation distance has no second derivative at 1, hence no such law;
it and D(q || p) have radii that hold at every N.
"""

from dataclasses import dataclass
from math import e, exp, expm1, inf, log, sqrt

import numpy.typing as npt
from scipy.special import chdtrc, chdtri, lambertw

from ..checks import Array, as_vector, require_level, require_nonnegative
from ..errors import InvalidParameter
from ..guarantees.exact import require_whole

__all__ = [
    "BURG",
    "CHI_SQUARE",
    "HELLINGER",
    "KL",
    "MODIFIED_CHI_SQUARE",
    "Divergence",
    "J",
    "burg_level",
    "burg_radius",
    "variation_level",
    "variation_radius",
]


@dataclass(frozen=True)
class Divergence:
    """A phi-divergence, by the derivatives of phi at 1.

    Parameters
    ----------
    second, third, fourth : float
        Derivatives of phi at 1, of these orders; the second is positive.

    References
    ----------
    Ben-Tal, den Hertog, De Waegenaere, Melenberg and Rennen (2013); Pardo (2006),
    Statistical Inference Based on Divergence Measures; Read and Cressie (1988).

    Examples
    --------
    >>> from sublevel.guarantees import divergences
    >>> round(divergences.KL.radius(alpha=0.1, size=2000, classes=2), 6)
    0.000676
    >>> round(divergences.KL.corrected_radius(0.1, 50, [0.3, 0.7]), 5)
    0.02878
    >>> round(divergences.KL.level(0.000676, size=2000, classes=2), 3)
    0.1
    """

    second: float
    third: float
    fourth: float

    def __post_init__(self) -> None:
        if not 0 < self.second < inf:
            raise InvalidParameter(
                f"Divergence(second=...) must be a positive number, got "
                f"{self.second!r}. For the variation distance use variation_radius."
            )

    def radius(self, alpha: float, size: int, classes: int) -> float:
        """The radius whose ball holds the law with probability 1 - alpha, as N grows.

        Parameters
        ----------
        alpha : float
            Strictly between 0 and 1.
        size, classes : int
            Number of outcomes N, and of classes k.
        """
        require_level("Divergence.radius", alpha=alpha)
        require_counts("Divergence.radius", size, classes)
        return self.second / (2 * size) * float(chdtri(classes - 1, alpha))

    def level(self, radius: float, size: int, classes: int) -> float:
        """The probability that the law is outside the ball, as N grows.

        Parameters
        ----------
        radius : float
        size, classes : int
            Number of outcomes N, and of classes k.
        """
        require_nonnegative("Divergence.level", radius=radius)
        require_counts("Divergence.level", size, classes)
        return float(chdtrc(classes - 1, 2 * size * radius / self.second))

    def corrected_radius(
        self, alpha: float, size: int, probabilities: npt.ArrayLike
    ) -> float:
        """The radius with the mean and the variance right to the next order in 1/N.

        Parameters
        ----------
        alpha : float
            Strictly between 0 and 1.
        size : int
            Number of outcomes N.
        probabilities : array of shape (k,)
            The law the correction is for; in practice the frequencies, all positive.
        """
        law = _as_law(probabilities)
        require_level("Divergence.corrected_radius", alpha=alpha)
        require_counts("Divergence.corrected_radius", size, law.size)
        shift, stretch = self.correction(size, law)
        quantile = shift + stretch * float(chdtri(law.size - 1, alpha))
        return max(0.0, self.second / (2 * size) * quantile)

    def correction(
        self, size: int, probabilities: npt.ArrayLike
    ) -> tuple[float, float]:
        """Shift and stretch that take chi-square to the law of the statistic.

        Parameters
        ----------
        size : int
            Number of outcomes N.
        probabilities : array of shape (k,)
            The law, all positive.

        Returns
        -------
        (float, float)
            delta and sqrt(gamma), the statistic being about delta + sqrt(gamma) chi2.

        Examples
        --------
        >>> from sublevel.guarantees import divergences
        >>> shift, stretch = divergences.BURG.correction(200, [0.3, 0.7])
        >>> round(200 * (stretch**2 - 1), 3)  # (S - 1) / 3 with S = 1/.3 + 1/.7
        1.254
        """
        law = _as_law(probabilities)
        require_whole("Divergence.correction", least=1, size=size)
        k, inverse = law.size, float((1 / law).sum())
        a, b = self._statistic()
        widen = (
            (2 - 2 * k - k**2 + inverse)
            + (8 - 12 * k - 2 * k**2 + 6 * inverse) * a
            + (4 - 6 * k - 3 * k**2 + 5 * inverse) * a**2 / 3
            + (2 - 4 * k + 2 * inverse) * b
        )
        raise_mean = (2 - 3 * k + inverse) * a / 3 + (1 - 2 * k + inverse) * b / 4
        gamma = 1 + widen / (2 * (k - 1) * size)
        if gamma <= 0:
            raise InvalidParameter(
                f"Divergence.correction(size=...) must be large enough for a positive "
                f"variance, got size={size} for {k} classes. Use burg_radius, which "
                f"holds at every size."
            )
        return (k - 1) * (1 - sqrt(gamma)) + raise_mean / size, sqrt(gamma)

    def _statistic(self) -> tuple[float, float]:
        """phi'''/phi'' and phi''''/phi'' of t phi(1/t), at 1.

        The expansion is for sum p phi(q/p), the observed law in front.
        """
        third = -3 * self.second - self.third
        fourth = 12 * self.second + 8 * self.third + self.fourth
        return third / self.second, fourth / self.second


KL = Divergence(1.0, -1.0, 2.0)
BURG = Divergence(1.0, -2.0, 6.0)
J = Divergence(2.0, -3.0, 8.0)
CHI_SQUARE = Divergence(2.0, -6.0, 24.0)
MODIFIED_CHI_SQUARE = Divergence(2.0, 0.0, 0.0)
HELLINGER = Divergence(0.5, -0.75, 1.875)


def _as_law(probabilities: npt.ArrayLike) -> Array:
    law = as_vector("Divergence", "probabilities", probabilities)
    if law.size < 2 or (law <= 0).any() or abs(law.sum() - 1) > 1e-8:
        raise InvalidParameter(
            f"Divergence(probabilities=...) must be positive and sum to 1 over at "
            f"least 2 classes, got least {law.min():g} and sum {law.sum():g}. With "
            f"classes never seen, use radius, or burg_radius at every size."
        )
    return law


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
