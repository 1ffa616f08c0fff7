"""The two inequalities of Theorem 3.2 of Bertsimas and Boucher: heuristics.

With L_j the squared residual of component j in units of the predicted spread,
t = max_j L_j and L = sum_j E[L_j], a constraint kept on the ball of a radius is said to
be violated with probability at most

    first:  E exp(-(radius^2 / t - m) / 2) + exp(m / 2) gap,
    LLN:    E exp(-(radius^2 - L) / (2 t)) + gap,

where gap is a Jensen gap of the function p2(s) = slope (s - 1/2) + exp(-2) - exp(-1/s)
for s > 1/2, else 0. The proof needs E p2(S) - p2(E S) with S = 2 t / radius^2 (LLN:
2 t / (radius^2 - L)) and a slope of at least 4 exp(-2); that is `corrected=True`.
Printed are S / 2, the slope exp(-1/2), and E q(u) - q(E u) for q(u) = p2(1/u).

Neither is a guarantee. The first is never below P(outcome outside the set), so Theorem
3.1 is always as good: if the losses sum to more than radius^2 then t > radius^2 / m,
and the first exponential alone exceeds 1. The second replaces the mean loss given X by
its mean over X, and is exceeded where the model is biased on some X.
"""

from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from ..checks import Array, require_bool
from ..guarantees.certificate import KEPT_ON_THE_SET, Certificate
from ..guarantees.marginal import Marginal
from .component_bound import FEWEST, Means, PlugIn
from .envelope import decay

_PRINTED_SLOPE, _CORRECT_SLOPE = exp(-0.5), 4 * exp(-2)
_RANDOM = (
    "The new outcome with its context; means over the calibration sample stand in for "
    "expectations."
)
_ASKED = (
    "Asked by the paper: given the context, components are independent and "
    "sub-Gaussian.",
    "Asked by the paper: one constraint, concave in the outcome.",
)
_THEOREM = "Bertsimas and Boucher, From Data to Uncertainty Sets, Theorem 3.2"
_MISPRINT = (
    "As printed, the Jensen gap is taken at half the argument its proof needs, and is "
    "too small; see corrected=True."
)
_MEANS = (
    "Sample means in place of expectations fall short of the bound in about half of "
    "all samples."
)


@dataclass(frozen=True)
class PaperFirst(PlugIn):
    """The first inequality of Theorem 3.2: a heuristic, and never worth its radius.

    Parameters
    ----------
    corrected : bool
        Whether the Jensen gap is the one the proof needs, or the printed one.

    References
    ----------
    Bertsimas and Boucher, From Data to Uncertainty Sets, Theorem 3.2, first inequality.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import Marginal, PaperFirst
    >>> losses = np.random.default_rng(0).normal(size=(1000, 5)) ** 2
    >>> paper = PaperFirst().calibrate(losses, alpha=0.1)
    >>> proved = Marginal().calibrate(losses.sum(axis=1), alpha=0.1)
    >>> round(paper.budget, 1), round(proved.budget, 1), paper.certificate.heuristic
    (38.7, 9.2, True)
    """

    corrected: bool = True

    def __post_init__(self) -> None:
        require_bool(type(self).__name__, corrected=self.corrected)

    def _floor(self, means: Means) -> float:
        return 0.0

    def _bound(self, means: Means, excess: float) -> float:
        half = means.width / 2
        ratios = 2 * means.largest / excess
        gap = _gap(ratios, self.corrected)
        with np.errstate(divide="ignore", over="ignore"):
            main = float(np.mean(np.exp(half - 1 / ratios)))
        # exp overflows beyond 709, long after the bound has become trivial.
        return main + (exp(min(half, 700.0)) * gap if gap > 0 else 0.0)

    def _enough(self, means: Means, alpha: float) -> float:
        return _enough(means, means.width / 2 + log(1 / alpha))

    def _certificate(self, alpha: float, budget: float, size: int) -> Certificate:
        reason = (
            "Not a guarantee, and dominated by Theorem 3.1: the bound is at least the "
            "probability that an outcome leaves the set, whatever the law, so Marginal "
            f"has a smaller budget and a proof. {_MEANS}"
        )
        return _heuristic(self, "first", alpha, budget, size, reason)


@dataclass(frozen=True)
class PaperLLN(PlugIn):
    """The inequality of Theorem 3.2 "by the law of large numbers": a heuristic.

    Parameters
    ----------
    corrected : bool
        Whether the Jensen gap is the one the proof needs, or the printed one. The
        corrected bound is no guarantee either.

    References
    ----------
    Bertsimas and Boucher, From Data to Uncertainty Sets, Theorem 3.2, second
    inequality.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import PaperLLN
    >>> losses = np.random.default_rng(0).normal(size=(1000, 5)) ** 2
    >>> round(PaperLLN().radius(losses, alpha=0.1), 2)
    4.32
    >>> round(PaperLLN().level(losses, radius=4.32), 3)
    0.1
    >>> print(PaperLLN().calibrate(losses, alpha=0.1).certificate)  # doctest: +ELLIPSIS
    PaperLLN: a constraint kept on the whole set is violated with probability about 0.1,
    by a formula that is not a theorem.
    ...
    """

    corrected: bool = True

    def __post_init__(self) -> None:
        require_bool(type(self).__name__, corrected=self.corrected)

    def _floor(self, means: Means) -> float:
        return means.total

    def _bound(self, means: Means, excess: float) -> float:
        ratios = 2 * means.largest / excess
        return float(np.mean(decay(ratios))) + _gap(ratios, self.corrected)

    def _enough(self, means: Means, alpha: float) -> float:
        return _enough(means, log(1 / alpha))

    def _certificate(self, alpha: float, budget: float, size: int) -> Certificate:
        reason = (
            "Not a guarantee. The law of large numbers does not apply to components "
            "that share a context: where the model is biased on a few contexts, those "
            "are violated and the bound does not see it. It also fails for skewed "
            "noise, whose variance proxy exceeds its variance, and for components "
            f"correlated given the context. {_MEANS} Use Marginal or PAC, or TheoremA "
            "with what you can vouch for."
        )
        return _heuristic(self, "second", alpha, budget, size, reason)


def _gap(ratios: Array, corrected: bool) -> float:
    """The Jensen gap of p2 at S = `ratios`, or as printed."""
    if corrected:
        slope, at, center = _CORRECT_SLOPE, ratios, np.mean(ratios)
    else:
        slope, at = _PRINTED_SLOPE, ratios / 2
        with np.errstate(divide="ignore", over="ignore"):
            center = 1 / np.mean(1 / at)  # q(E u) = p2(1 / E[1/s])
    return float(np.mean(_bend(at, slope)) - _bend(center, slope))


def _bend(ratio: Array | np.floating, slope: float) -> Array:
    """p2: what makes exp(-1/s) convex beyond s = 1/2."""
    beyond = slope * (ratio - 0.5) + exp(-2) - decay(ratio)
    return np.where(ratio > 0.5, beyond, 0.0)


def _enough(means: Means, exponent: float) -> float:
    """An excess at which the exponentials suffice and the gap is zero."""
    return 2 * float(means.largest.max()) * max(exponent, 2.0)


def _heuristic(
    bound: PaperFirst | PaperLLN,
    which: str,
    alpha: float,
    budget: float,
    size: int,
    reason: str,
) -> Certificate:
    owner = type(bound).__name__
    note = reason if bound.corrected else f"{reason} {_MISPRINT}"
    if size < FEWEST:
        note = (
            f"{owner} needs at least {FEWEST} calibration outcomes, got {size}. {note}"
        )
    return Certificate(
        guarantee=owner,
        alpha=alpha,
        confidence=None,
        budget=budget,
        sample_size=size,
        minimum_sample_size=FEWEST,
        rank=None,
        random=_RANDOM,
        assumptions=_ASKED,
        reference=f"{_THEOREM}, {which} inequality",
        heuristic=True,
        note=note,
        beta_law=False,
        event=KEPT_ON_THE_SET,
        holds="by a formula that is not a theorem",
    )


_UNSAID = (
    "Theorem 3.1 holds as printed. Left unsaid there: with fewer than 1/alpha - 1 "
    "scores there is no finite budget; exchangeable scores are enough; the level is an "
    "average over calibration draws (PAC promises it for the draw at hand); any "
    "constraint, and all that share the set, are covered."
)


@dataclass(frozen=True)
class PaperGeneral(Marginal):
    """The paper's Theorem 3.1: the same budgets and the same promise as `Marginal`.

    There is no corrected version, as there is nothing to correct: only conditions to
    add, and the certificate has them.

    References
    ----------
    Bertsimas and Boucher, From Data to Uncertainty Sets, Theorem 3.1; Lei, G'Sell,
    Rinaldo, Tibshirani and Wasserman (2018), Theorem 2.2.

    Examples
    --------
    >>> from sublevel.guarantees import PaperGeneral
    >>> calibration = PaperGeneral().calibrate(range(1, 100), alpha=0.1)
    >>> calibration.budget, calibration.certificate.heuristic
    (90.0, False)
    """

    def blank_certificate(self, alpha: float, sample_size: int) -> Certificate:
        return replace(
            super().blank_certificate(alpha, sample_size),
            guarantee="PaperGeneral",
            reference="Bertsimas and Boucher, From Data to Uncertainty Sets, Th. 3.1",
            note=_UNSAID,
        )
