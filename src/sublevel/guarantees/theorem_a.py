"""Theorem A: Theorem 3.2 of Bertsimas and Boucher, corrected.

Given the context, let the components of the outcome be independent, with bias b_j and
standard deviation s_j in units of the predicted spread, and variance proxies at most
kappa s_j^2. Put M_j = s_j^2 + b_j^2 (the mean loss), A = sum_j M_j and M = max_j M_j.
If a constraint g, concave in the outcome, holds on the ball of the radius, then

    P(g > 0 | X) <= exp(-(radius^2 - A)_+ / (2 kappa M)).

Proof, in units of the predicted spread. By duality some v has, with g_* the concave
conjugate of g, prediction'v + radius ||v|| <= g_*(v); for v = 0 there is no violation.
So g > 0 needs v'(y - E y) > D with D = radius ||v|| - sum |v_j b_j|. Put

    P = sum_j s_j^2 v_j^2 / M_j,   Q = sum_j b_j^2 v_j^2 / M_j.

Then ||v||^2 = P + Q and sum |v_j b_j| <= sqrt(A Q), and by Cauchy-Schwarz
sqrt(A Q) + sqrt((radius^2 - A) P) <= radius sqrt(P + Q). So D^2 >= (radius^2 - A) P >=
(radius^2 - A) sum s_j^2 v_j^2 / M, and Chernoff's bound finishes it.

Corollary A1 asserts bounds on A and M at every context. Corollary A2 asserts bounds on
the norm of the bias and on the spread: then D >= (radius - bias) ||v||. Corollary A3,
in its own module, asserts a bound on A and estimates the rest.
"""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

import numpy as np

from ..checks import Array, require_level, require_nonnegative, require_positive
from ..errors import InvalidParameter
from .asserted import Asserted, bounded_total, require_kappa


def conditional_level(radius: float, bias: Any, spread: Any, kappa: float) -> Array:
    """Theorem A itself: the violation probability at a context is at most this.

    Parameters
    ----------
    radius : float
        Norm radius, in units of the predicted spread.
    bias, spread : arrays of shape (..., m)
        Bias and standard deviation of each component at each context, in units of the
        predicted spread.
    kappa : float
        Largest ratio of variance proxy to variance, at least 1.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> from sublevel.guarantees import conditional_level
    >>> float(conditional_level(3.0, [0.0, 0.0], [1.0, 1.0], kappa=1.0).round(4))
    0.0302
    """
    require_nonnegative("conditional_level", radius=radius)
    require_kappa("conditional_level", kappa)
    means = np.asarray(bias, dtype=float) ** 2 + np.asarray(spread, dtype=float) ** 2
    excess = np.maximum(radius**2 - means.sum(axis=-1), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.exp(-excess / (2 * kappa * means.max(axis=-1)))
    return np.where(excess == 0, 1.0, bound)


@dataclass(frozen=True, kw_only=True)
class TheoremA(Asserted):
    """The bias and the spread are bounded at every context (corollary A2).

        radius = bias + spread sqrt(2 kappa log(1/alpha)).

    With no bias, the true spread and kappa = 1 this is the classical ellipsoid.

    Parameters
    ----------
    kappa : float
        Ratio of variance proxy to variance, at least 1: see `kappa_of_range`.
    bias : float
        Bound on the 2-norm, over components, of the bias in units of the predicted
        spread, at every context.
    spread : float
        Bound on each standard deviation in units of the predicted spread, at every
        context.

    References
    ----------
    Theorem 3.2 of Bertsimas and Boucher, From Data to Uncertainty Sets, corrected;
    Bertsimas, den Hertog and Pauphilet (2021).

    Examples
    --------
    >>> from sublevel.guarantees import TheoremA
    >>> vouched = TheoremA(kappa=1.0, bias=0.2, spread=1.1)
    >>> round(vouched.radius(alpha=0.1), 3)
    2.561
    >>> round(vouched.level(radius=3.0), 4)
    0.0391
    """

    kappa: float
    bias: float
    spread: float

    def __post_init__(self) -> None:
        require_kappa("TheoremA", self.kappa)
        require_nonnegative("TheoremA", bias=self.bias)
        require_positive("TheoremA", spread=self.spread)

    def radius(self, alpha: float) -> float:
        require_level("TheoremA", alpha=alpha)
        return self.bias + self.spread * sqrt(2 * self.kappa * log(1 / alpha))

    def level(self, radius: float) -> float:
        require_nonnegative("TheoremA", radius=radius)
        beyond = max(0.0, radius - self.bias)
        return exp(-((beyond / self.spread) ** 2) / (2 * self.kappa))

    def _said(self) -> tuple[str, ...]:
        return (
            f"Asserted: at every context the norm of the bias is at most {self.bias:g} "
            f"predicted spreads.",
            f"Asserted: at every context each standard deviation is at most "
            f"{self.spread:g} predicted spreads.",
        )

    def _allowed(self, width: int) -> tuple[float, float]:
        return width * self.spread**2 + self.bias**2, self.spread**2


@dataclass(frozen=True, kw_only=True)
class TheoremA1(Asserted):
    """The mean losses are bounded at every context (corollary A1).

        radius^2 = total + 2 kappa largest log(1/alpha).

    Parameters
    ----------
    kappa : float
        Ratio of variance proxy to variance, at least 1: see `kappa_of_range`.
    total : float
        Bound on the mean loss given the context, summed over components.
    largest : float
        Bound on the mean loss of each component given the context.

    References
    ----------
    Theorem 3.2 of Bertsimas and Boucher, From Data to Uncertainty Sets, corrected.

    Examples
    --------
    >>> from sublevel.guarantees import TheoremA1
    >>> vouched = TheoremA1(kappa=1.0, total=5.0, largest=1.0)
    >>> round(vouched.radius(alpha=0.1), 3)
    3.099
    >>> round(vouched.level(radius=3.099), 3)
    0.1
    """

    kappa: float
    total: float
    largest: float

    def __post_init__(self) -> None:
        require_kappa("TheoremA1", self.kappa)
        require_positive("TheoremA1", total=self.total, largest=self.largest)
        if self.largest > self.total:
            raise InvalidParameter(
                f"TheoremA1(largest=...) must be at most the total, got "
                f"largest={self.largest:g} > total={self.total:g}."
            )

    def radius(self, alpha: float) -> float:
        require_level("TheoremA1", alpha=alpha)
        return sqrt(self.total + 2 * self.kappa * self.largest * log(1 / alpha))

    def level(self, radius: float) -> float:
        require_nonnegative("TheoremA1", radius=radius)
        excess = max(0.0, radius**2 - self.total)
        return exp(-excess / (2 * self.kappa * self.largest))

    def _said(self) -> tuple[str, ...]:
        return (
            bounded_total(self.total),
            f"Asserted: at every context the mean loss of each component is at most "
            f"{self.largest:g}.",
        )

    def _allowed(self, width: int) -> tuple[float, float]:
        del width
        return self.total, self.largest
