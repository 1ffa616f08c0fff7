"""What outcomes are held against, and which of them, by what a certificate promises.

A monitor counts violations one by one. That refutes a promise of how often decisions
violate, and no other: the mean size of a miss may be small though every decision misses
by a little.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import beta as beta_law

from ..calibration.wording import DECISIONS
from ..errors import InvalidParameter
from ..guarantees import Certificate, Marginal
from ..robust.judge.realised import Realised
from .monitor import Monitor

#: Guarantees on average over calibrations of which one is exceeded as a Beta law says.
_BETA = ("Marginal", "DecisionAware", "DecisionAware, Marginal")


def monitor_of(
    owner: str, certificate: Certificate, alpha: float | None, delta: float, block: int
) -> Monitor:
    """A monitor of what is promised.

    Parameters
    ----------
    owner : who complains
    certificate : what is promised
    alpha : violation level to test; None for the one promised
    delta, block : as for `Monitor`
    """
    if alpha is not None:
        return Monitor(alpha, delta, block)
    _require_a_rate(owner, certificate)
    if certificate.confidence is not None:
        return Monitor(certificate.alpha, delta, block)
    _require_a_law(owner, certificate)
    highest = _highest(certificate, delta / 2)
    if highest is None:
        return Monitor(certificate.alpha, delta, block)
    return Monitor(highest, delta / 2, block)


def watched_rows(certificate: Certificate, seen: Realised) -> npt.NDArray[np.intp]:
    """The contexts that the promise is about: all, or those at which was decided.

    A decision that exists and could not be computed counts as one not kept, as it did
    when the level was chosen.
    """
    if certificate.event != DECISIONS.taken:
        return np.arange(len(seen.violated))
    return np.flatnonzero(seen.decided | seen.violated)


def _require_a_rate(owner: str, certificate: Certificate) -> None:
    """There must be a promise of how often decisions violate, one by one."""
    if certificate.scope:
        raise InvalidParameter(
            f"{owner}(alpha=...) must be given for a promise {certificate.scope}: a "
            "monitor takes outcomes one by one, and those of a unit depend on each "
            "other. Watch units with sl.drift.Monitor."
        )
    if not 0 < certificate.alpha < 1 or certificate.heuristic:
        raise InvalidParameter(
            f"{owner}(policy) must promise something, got {certificate!r}. Call "
            "policy.calibrate first, or give alpha."
        )
    if certificate.measure != "with probability":
        raise InvalidParameter(
            f"{owner}(alpha=...) must be given for a promise that {certificate.event} "
            f"{certificate.measure} at most {certificate.alpha:g}: it does not say how "
            "often decisions violate, which is what a monitor counts. Give the share "
            "of violations that you accept, or watch a policy that was calibrated with "
            "method='envelope'."
        )


def _require_a_law(owner: str, certificate: Certificate) -> None:
    """How far one calibration may be off must be clear."""
    if any(each.guarantee not in _BETA for each in _parts(certificate)):
        raise InvalidParameter(
            f"{owner}(alpha=...) must be given for a promise of "
            f"{certificate.guarantee}, which holds on average over calibrations: how "
            "often decisions of a single one violate follows no law that a monitor "
            "could allow for. Give a level somewhat above the "
            f"{certificate.alpha:g} promised."
        )


def _highest(certificate: Certificate, delta: float) -> float | None:
    """What the rate of one calibration exceeds with probability delta at most.

    Given the calibration, the rate is at most Beta distributed. Of groups it is a mean
    of their rates, none of which exceeds the largest of their bounds; where the budget
    is infinite nothing violates. None if it is so everywhere.
    """
    parts, bounds = _parts(certificate), []
    for part in parts:
        rank = Marginal().rank(part.sample_size, part.alpha)
        if rank is not None:
            shape = part.sample_size + 1 - rank, rank
            bounds.append(float(beta_law.ppf(1 - delta / len(parts), *shape)))
    return max(bounds, default=None)


def _parts(certificate: Certificate) -> list[Certificate]:
    return [each for _, each in certificate.groups] or [certificate]
