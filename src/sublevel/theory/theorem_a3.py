"""Corollary A3 of Theorem A: the largest loss is estimated, the total is vouched for.

If at every context the mean losses sum to at most A, Theorem A gives

    P(g > 0) <= E exp(-1 / E[S | X]),   S = 2 kappa t / (radius^2 - A),   t = max_j L_j,

and the convex envelope a_z of exp(-1/s) takes X out: P(g > 0) <= E a_z(S). With a cap
on t, the values a_z(S) are bounded and their mean has an upper confidence bound.

The excess radius^2 - A comes from a grid fixed in advance, searched from above until
the bound exceeds alpha. Stopping at the first failure costs no confidence: E a_z(S)
falls as the excess grows, so the first excess that must not be accepted is one fixed
point of the grid. If A is asserted to be the same at every context, it is the mean of
the total loss; half of delta goes to an upper bound on that.
"""

from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np
import numpy.typing as npt

from ..checks import Array, require_level, require_positive
from ..errors import InvalidParameter
from ..guarantees.certificate import KEPT_ON_THE_SET, Certificate
from ..guarantees.pac import RANDOM
from ..guarantees.scores import as_components, largest
from .component_bound import SampleBound
from .envelope import envelope
from .mean_bounds import betting, betting_rejects
from .theorem_a import (
    BALL,
    CONSTRAINT,
    NOT_THE_OUTCOME,
    REFERENCE,
    bounded_total,
    noise,
    refute,
    require_kappa,
)

#: Neighbours on the grid of excesses differ by this factor.
_STEP = 0.99
_ROUNDING = 1e-9
_CONSTANT = (
    "Asserted: the mean loss given the context, summed over components, is the same at "
    "every context."
)
_INDEPENDENT = (
    "The calibration outcomes and the new one are independent and identically "
    "distributed, and had no part in choosing model, loss or set."
)


@dataclass(frozen=True, kw_only=True)
class TheoremA3(SampleBound):
    """With confidence 1 - delta, from capped losses and a bound on their total.

    Parameters
    ----------
    kappa : float
        Ratio of variance proxy to variance, at least 1: see `kappa_of_range`.
    cap : float
        Bound on the loss of each component, always.
    total : float or None
        Bound on the mean loss given the context, summed over components, at every
        context. None asserts that it is the same at every context, and estimates it.
    delta : float
        Confidence deficit.

    References
    ----------
    Theorem 3.2 of Bertsimas and Boucher, From Data to Uncertainty Sets, corrected;
    Waudby-Smith and Ramdas (2024) for the confidence bound.

    Examples
    --------
    >>> import numpy as np
    >>> from sublevel.guarantees import TheoremA3
    >>> losses = np.random.default_rng(0).uniform(-1, 1, size=(500, 5)) ** 2
    >>> vouched = TheoremA3(kappa=1.0, cap=1.0, total=5 / 3)
    >>> round(vouched.radius(losses, alpha=0.1), 3)
    2.268
    >>> round(vouched.level(losses, radius=2.3), 4)
    0.0911
    """

    kappa: float
    cap: float
    total: float | None = None
    delta: float = 0.05

    def __post_init__(self) -> None:
        require_kappa("TheoremA3", self.kappa)
        require_positive("TheoremA3", cap=self.cap)
        require_level("TheoremA3", delta=self.delta)
        if self.total is not None:
            require_positive("TheoremA3", total=self.total)

    def minimum_sample_size(self, alpha: float) -> int:
        """One: the cap alone gives a finite budget, and data only lower it."""
        require_level("TheoremA3", alpha=alpha)
        return 1

    def _budget(self, losses: Array, alpha: float) -> float:
        require_level("TheoremA3", alpha=alpha)
        total, share = self._total(losses)
        ratios = largest(losses) / self.cap
        # There and above, the cap keeps the bound at alpha without any data.
        step = _index(max(log(1 / alpha), 2.0)) - 1
        while _accepts(ratios, _grid(step + 1), alpha, share):
            step += 1
        return total + 2 * self.kappa * self.cap * _grid(step)

    def _level(self, losses: Array, budget: float) -> float:
        total, share = self._total(losses)
        excess = (budget - total) / (2 * self.kappa * self.cap)
        if excess <= 0:
            return 1.0
        if excess == inf:
            return 0.0
        ratios, worst = largest(losses) / self.cap, 0.0
        step = _index(excess)
        # The excess is an estimate if the total is: the worst of all it may be.
        while float(envelope(1 / _grid(step))) > worst:
            if not _accepts(ratios, _grid(step), worst, share):
                worst = _upper(ratios, _grid(step), share)
            step -= 1
        return min(1.0, worst)

    def _total(self, losses: Array) -> tuple[float, float]:
        """A bound on the total, and the confidence deficit that is left."""
        if self.total is not None:
            return self.total, self.delta
        most, share = losses.shape[1] * self.cap, self.delta / 2
        # Rounding may take losses that are all at the cap beyond 1.
        shares = np.minimum(losses.sum(axis=1) / most, 1.0)
        return most * betting(shares, share), share

    def _losses(self, scores: npt.ArrayLike) -> Array:
        losses = as_components(type(self).__name__, scores)
        if losses.max() > self.cap:
            raise InvalidParameter(
                f"TheoremA3(cap=...) must be at least every loss, got cap={self.cap:g} "
                f"and a loss of {losses.max():g}. Raise the cap to what the outcomes "
                f"allow, not to what this sample shows."
            )
        if self.total is not None:
            refute("TheoremA3", losses, self.kappa, self.total, self.cap)
        return losses

    def _asserted(self) -> tuple[str, ...]:
        """What is asserted, in sentences."""
        total = _CONSTANT if self.total is None else bounded_total(self.total)
        cap = f"Asserted: no loss of a component ever exceeds {self.cap:g}."
        return (*noise(self.kappa), total, cap, CONSTRAINT, BALL, _INDEPENDENT)

    def _certificate(self, alpha: float, budget: float, size: int) -> Certificate:
        return Certificate(
            guarantee="TheoremA3",
            alpha=float(alpha),
            confidence=1 - self.delta,
            budget=budget,
            sample_size=size,
            minimum_sample_size=1,
            rank=None,
            random=RANDOM,
            assumptions=self._asserted(),
            reference=REFERENCE,
            note=NOT_THE_OUTCOME,
            beta_law=False,
            event=KEPT_ON_THE_SET,
        )


def _grid(step: int) -> float:
    """The excess, in units of 2 kappa cap, at a point of the grid."""
    return float(_STEP**step)


def _index(excess: float) -> int:
    """The first point of the grid that is no larger than the excess."""
    return ceil(log(excess) / log(_STEP) - _ROUNDING)


def _accepts(ratios: Array, excess: float, alpha: float, delta: float) -> bool:
    """Whether the upper bound on the level is at most alpha."""
    values, most = _scaled(ratios, excess)
    return betting_rejects(values, alpha / most, delta)


def _upper(ratios: Array, excess: float, delta: float) -> float:
    values, most = _scaled(ratios, excess)
    return most * betting(values, delta)


def _scaled(ratios: Array, excess: float) -> tuple[Array, float]:
    """Envelope of each ratio of loss to cap, divided by the most it can be."""
    most = float(envelope(1 / excess))
    return np.asarray(envelope(ratios / excess) / most), most
