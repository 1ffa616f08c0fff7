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

Bounds that rest on assertions
------------------------------
No bound that looks only at the losses can beat `Marginal` for every decision rule: let
the outcome be a function of the context and point the constraint at its error, and it
is violated exactly when the outcome leaves the set. Something must be asserted about
the model at every context. What is asserted is listed on the certificate, and refused
where the losses contradict it:

with independent components of variance at most V, proxy at most kappa times the
variance and mean losses that sum to at most A, the losses of N outcomes sum to more
than S with probability at most

    exp(-(sqrt(S) - sqrt(N kappa A))_+^2 / (2 kappa V)).

Proof: for a proxy P and a mean b, averaging exp(sqrt(2u) g e) over a normal g gives
E exp(u e^2) <= (1 - 2uP)^(-1/2) exp(u b^2 / (1 - 2uP)). With -log(1 - x) <= x / (1 - x)
the logarithm of E exp(u S) is at most N u kappa A / (1 - 2 u kappa V), and Chernoff's
bound at the best u is the one above.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
import numpy.typing as npt

from ..checks import (
    Array,
    as_numbers,
    require_level,
    require_nonnegative,
    require_positive,
)
from ..errors import InvalidParameter
from ..guarantees.certificate import KEPT_ON_THE_SET, Certificate
from ..guarantees.scores import as_components
from .component_bound import ComponentBound

#: Losses less likely than this under the assertions refute them.
INCREDIBLE = 1e-6
CONSTRAINT = (
    "One constraint, concave in the outcome, kept on the whole set by a decision made "
    "without the outcome; the prediction is in the relative interior of its domain."
)
BALL = (
    "The set is a ball in the 2-norm of the residuals in units of the predicted "
    "spread: the squared or the gaussian loss."
)
NOT_THE_OUTCOME = (
    "The constraint is covered, not the outcome: outcomes may leave the set more often."
)
REFERENCE = (
    "Theorem 3.2 of Bertsimas and Boucher, From Data to Uncertainty Sets, corrected; "
    "Bertsimas, den Hertog and Pauphilet (2021) for a known mean and variance"
)


class Asserted(ComponentBound):
    """A bound at every context, from assertions about the model at every context.

    Examples
    --------
    >>> from sublevel.guarantees import Asserted, TheoremA
    >>> isinstance(TheoremA(kappa=1.0, bias=0.0, spread=1.0), Asserted)
    True
    """

    kappa: float

    @abstractmethod
    def radius(self, alpha: float) -> float:
        """The 2-norm radius that keeps the violation probability at alpha or below."""

    @abstractmethod
    def level(self, radius: float) -> float:
        """The most a constraint kept on the ball of this radius can be violated."""

    @abstractmethod
    def _assertions(self) -> tuple[str, ...]:
        """What is asserted about bias and spread, in sentences."""

    @abstractmethod
    def _allowed(self, width: int) -> tuple[float, float]:
        """The most that A and V of the module docstring can be, for m components."""

    def minimum_sample_size(self, alpha: float) -> int:
        """None are needed: the budget follows from what is asserted."""
        require_level(type(self).__name__, alpha=alpha)
        return 0

    def _losses(self, scores: npt.ArrayLike) -> Array:
        losses = as_components(type(self).__name__, scores)
        total, most = self._allowed(losses.shape[1])
        refute(type(self).__name__, losses, self.kappa, total, most)
        return losses

    def _budget(self, losses: Array, alpha: float) -> float:
        del losses
        return self.radius(alpha) ** 2

    def _level(self, losses: Array, budget: float) -> float:
        del losses
        return self.level(sqrt(max(budget, 0.0)))

    def _certificate(self, alpha: float, budget: float, size: int) -> Certificate:
        return Certificate(
            guarantee=type(self).__name__,
            alpha=float(alpha),
            confidence=None,
            budget=budget,
            sample_size=size,
            minimum_sample_size=0,
            rank=None,
            random="The new outcome, given its context.",
            assumptions=(*noise(self.kappa), *self._assertions(), CONSTRAINT, BALL),
            reference=REFERENCE,
            note=(
                "The level rests on what was asserted, not on the calibration sample, "
                f"which could only have contradicted it. {NOT_THE_OUTCOME}"
            ),
            beta_law=False,
            event=KEPT_ON_THE_SET,
            holds="at every context, if what was asserted is true",
        )


def noise(kappa: float) -> tuple[str, str]:
    """What is asserted about the noise, in sentences."""
    shape = (
        "at most its variance: no skewness, tails no heavier than normal"
        if kappa == 1
        else f"at most {kappa:g} times its variance"
    )
    return (
        "Asserted: given the context, the components of the outcome are independent.",
        f"Asserted: given the context, each component has a variance proxy {shape}.",
    )


def bounded_total(total: float) -> str:
    """What is asserted about the sum of the mean losses, in a sentence."""
    return (
        f"Asserted: at every context the mean losses sum to at most {total:g} over "
        f"components."
    )


def require_kappa(owner: str, kappa: float) -> None:
    """A variance proxy is no smaller than the variance."""
    require_nonnegative(owner, kappa=kappa)
    if not 1 <= kappa < inf:
        raise InvalidParameter(
            f"{owner}(kappa=...) must be a number of at least 1, got {kappa!r}: a "
            f"variance proxy is no smaller than the variance. Use kappa_of_range for "
            f"bounded outcomes."
        )


def refute(owner: str, losses: Array, kappa: float, total: float, most: float) -> None:
    """Refuse assertions under which losses this large are next to impossible."""
    allowed, seen = len(losses) * kappa * total, float(losses.sum())
    surprise = max(0.0, sqrt(seen) - sqrt(allowed)) ** 2 / (2 * kappa * most)
    if surprise > -log(INCREDIBLE):
        raise InvalidParameter(
            f"{owner}: the losses contradict what is asserted. Their sum over "
            f"components must be at most {total:.4g} on average, got "
            f"{seen / len(losses):.4g} over {len(losses)} outcomes, which has "
            f"probability {exp(-surprise):.1g} or less. Assert less, or calibrate with "
            f"Marginal or PAC, which assert nothing about the model."
        )


def conditional_level(
    radius: float, bias: npt.ArrayLike, spread: npt.ArrayLike, kappa: float
) -> Array:
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
    parts = [
        as_numbers("conditional_level", name, value)
        for name, value in (("bias", bias), ("spread", spread))
    ]
    for part in parts:
        if (
            part.ndim == 0
            or part.shape != parts[0].shape
            or not np.isfinite(part).all()
        ):
            raise InvalidParameter(
                "conditional_level(bias=..., spread=...) must be finite and of one "
                f"shape (..., m), got shapes {parts[0].shape} and {parts[1].shape}."
            )
    means = parts[0] ** 2 + parts[1] ** 2
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

    def _assertions(self) -> tuple[str, ...]:
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

    def _assertions(self) -> tuple[str, ...]:
        return (
            bounded_total(self.total),
            f"Asserted: at every context the mean loss of each component is at most "
            f"{self.largest:g}.",
        )

    def _allowed(self, width: int) -> tuple[float, float]:
        del width
        return self.total, self.largest
