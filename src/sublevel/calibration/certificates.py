"""The certificate of a calibration of decisions."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isinf
from typing import TYPE_CHECKING

from ..guarantees import (
    PAC,
    Calibrated,
    Calibration,
    Certificate,
    GroupedCalibration,
)
from .given_decided import share_of_start
from .on_grid import OnGrid
from .wording import DECISIONS, Wording

if TYPE_CHECKING:
    from .request import Request

#: What "risk" controls in place of a probability.
MISS = "the worst miss of a promise, relative and capped at 1,"

_REFERENCES = {
    "envelope": "Order statistics of envelope scores; Lei et al. (2018), Theorem 2.2",
    "learn-then-test": "Angelopoulos et al. (2025), fixed sequence testing",
    "risk": "Angelopoulos et al. (2024), Theorem 1",
    "given_decided": "Angelopoulos et al. (2025), fixed sequences from several starts",
}
ABSTAINS = (
    "on average over the calibration draw, those included at which nothing can be "
    "certified: among certificates issued the rate may be higher (give delta)"
)


def decision_certificate(
    level: float,
    request: Request,
    size: int,
    acts: bool,
    may_abstain: bool,
    failing: int = 0,
) -> Certificate:
    """What a level promises of decisions.

    Parameters
    ----------
    size : number of calibration points
    acts : whether a fallback acts where no robust decision exists; at an infinite
        level that is everywhere, and nothing is promised of it
    may_abstain : whether another draw of the same size may have nothing to certify
    failing : points at which decisions could not be computed, though they exist
    """
    delta, alpha, words = request.delta, request.alpha, request.wording
    alike = (
        "exchangeable" if delta is None else "independent and identically distributed"
    )
    needed = _needed(request)
    method = "given_decided" if request.given_decided else request.method
    note = (
        "" if not isinf(level) else _why_infinite(size, needed, request, acts, failing)
    )
    return Certificate(
        guarantee="DecisionAware",
        alpha=1.0 if isinf(level) and acts else alpha,
        confidence=None if delta is None else 1 - delta,
        budget=level,
        sample_size=size,
        minimum_sample_size=needed,
        rank=None,
        random=words.random,
        assumptions=(
            f"{words.alike} {alike}.",
            words.unseen,
            words.rule,
            words.promises,
        ),
        reference=_REFERENCES[method],
        note=note,
        beta_law=False,
        event=_event(request, acts),
        measure="is in expectation" if method == "risk" else "with probability",
        holds=ABSTAINS if may_abstain and delta is None else "",
    )


def _needed(request: Request) -> int:
    """The fewest points, or decisions taken, that give a finite level."""
    order = request.order
    if request.given_decided and isinstance(order, PAC):
        order = share_of_start(order)
    return order.minimum_sample_size(request.alpha)


def _event(request: Request, acts: bool) -> str:
    if request.method == "risk":
        return MISS
    if request.given_decided:
        return request.wording.taken
    return request.wording.always if acts else request.wording.event


def about_decisions(
    at: OnGrid, words: Wording, acts: bool, may_abstain: bool
) -> Calibrated:
    """A guarantee's calibration, speaking of decisions: what is scored are envelopes.

    Parameters
    ----------
    words : what is promised of what
    acts, may_abstain : as for `decision_certificate`
    """

    def reworded(certificate: Certificate) -> Certificate:
        doubtful = may_abstain and certificate.confidence is None
        return replace(
            certificate,
            guarantee=f"DecisionAware, {certificate.guarantee}",
            assumptions=(*certificate.assumptions, words.rule, words.promises),
            reference=f"Envelope scores of decisions; {certificate.reference}",
            event=words.always if acts else words.event,
            holds=certificate.holds or (ABSTAINS if doubtful else ""),
            beta_law=False,
            groups=tuple((name, reworded(each)) for name, each in certificate.groups),
        )

    about = at.with_certificate(reworded(at.certificate))
    promise = about.certificate
    if isinstance(at.inner, Calibration):
        return Calibration(promise.budget, promise)
    if isinstance(at.inner, GroupedCalibration):
        # Rounding up keeps the order: the largest rounded is the largest, rounded.
        own = dict(promise.groups)
        budgets = {name: each.budget for name, each in own.items()}
        return GroupedCalibration(at.inner.groups, budgets, own, promise)
    return about


def with_sentence(certificate: Certificate, sentence: str) -> Certificate:
    """The same with one assumption more."""
    return replace(certificate, assumptions=(*certificate.assumptions, sentence))


def given_certificate(
    budgets: tuple[float, ...], words: Wording = DECISIONS, owner: str = "Policy.at"
) -> Certificate:
    """What budgets that were given, not calibrated, promise: nothing."""
    level = words.level
    return Certificate(
        guarantee="Given",
        alpha=1.0,
        confidence=None,
        budget=budgets[0] if len(budgets) == 1 else inf,
        sample_size=0,
        minimum_sample_size=0,
        rank=None,
        random="The new outcome with its context.",
        assumptions=("None: nothing is promised.",),
        reference=owner,
        heuristic=True,
        note=f"The {level} was given, not calibrated. Calibrate it on data.",
        beta_law=False,
        event=words.always,
        holds=f"as nothing is known of a {level} that was given",
    )


def _why_infinite(
    size: int, needed: int, request: Request, acts: bool, failing: int
) -> str:
    level = request.wording.level
    if size < needed:
        return (
            f"{request.owner}(alpha={request.alpha:g}) needs at least {needed} "
            f"calibration points for a finite {level}, got {size}. Add calibration "
            "data or raise alpha."
        )
    if request.given_decided:
        return (
            "Not certifiable: at no level are enough decisions taken and kept. Add "
            "calibration data, raise alpha or delta."
        )
    if failing:
        return (
            f"Not certifiable: decisions exist at {failing} of {size} calibration "
            "points and could not be computed there. Look at the scale of the data, "
            "or try another solver."
        )
    if acts and request.grid is None:
        return (
            "Not certifiable: the fallback violates too often, and at large budgets it "
            "is all that is left. Give a fallback that keeps the constraints, or a "
            "grid of budgets to choose from."
        )
    if request.method == "envelope" and request.wording is DECISIONS and not acts:
        return (
            "Not certifiable: too many outcomes lie outside sets that no budget "
            "enlarges, a set value or declared signs. Enlarge that set or raise alpha."
        )
    return (
        f"Not certifiable: decisions at the largest {level} of the grid violate too "
        f"often. Give larger {level}s, or raise alpha."
    )
