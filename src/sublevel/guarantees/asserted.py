"""Bounds that follow from what the user vouches for, confronted with the data.

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
from math import exp, inf, log, sqrt
from typing import Any

from ..checks import Array, require_level, require_nonnegative
from ..errors import InvalidParameter
from .certificate import KEPT_ON_THE_SET, Certificate
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
    def _said(self) -> tuple[str, ...]:
        """What is asserted about bias and spread, in sentences."""

    @abstractmethod
    def _allowed(self, width: int) -> tuple[float, float]:
        """The most that A and V of the module docstring can be, for m components."""

    def minimum_sample_size(self, alpha: float) -> int:
        """None are needed: the budget follows from what is asserted."""
        require_level(type(self).__name__, alpha=alpha)
        return 0

    def _losses(self, scores: Any) -> Array:
        losses = super()._losses(scores)
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
            assumptions=(*noise(self.kappa), *self._said(), CONSTRAINT, BALL),
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


def require_kappa(owner: str, kappa: Any) -> None:
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
