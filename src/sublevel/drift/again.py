"""A policy calibrated once more, as it was, on the latest rows with outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ..calibration.certificates import with_sentence
from ..errors import InvalidParameter
from ..guarantees import Certificate, Weighted
from ..predictions import Table, count_rows
from ..robust.labelled import Outcome
from ..robust.policy import Policy

AnyPolicy = TypeVar("AnyPolicy", bound=Policy)

_WAY_OUT = (
    "Give on_alarm a function of the latest X and Y that returns a calibrated policy, "
    "or 'fallback'."
)


def require_repeatable(owner: str, policy: Policy) -> None:
    """The latest rows must be able to carry the promise that is there now."""
    certificate, request = policy.certificate_, policy.request
    why = ""
    if request is None:
        why = "a level that was given, and nothing tells how it was calibrated"
    elif isinstance(request.guarantee, Weighted):
        why = (
            "one with weights: its density ratio leads from the rows calibrated on to "
            "new contexts, and the latest rows are new ones themselves"
        )
    elif certificate.scope:
        why = (
            f"one {certificate.scope}: the latest rows may begin and end within a unit"
        )
    if why:
        raise InvalidParameter(
            f"{owner}(on_alarm='recalibrate') must have a promise that the latest rows "
            f"can carry as it is, got {why}. {_WAY_OUT}"
        )


def calibrated_on_latest(policy: AnyPolicy, X: Table, Y: Outcome) -> AnyPolicy:
    """The policy, calibrated as it was, on the latest rows."""
    again = policy.calibrated_again(X, Y)
    certificate = of_latest(again.certificate_, count_rows(X))
    note = f"Calibrated on an alarm. {certificate.note}".strip()
    return again.under(replace(certificate, note=note))


def of_latest(certificate: Certificate, size: int) -> Certificate:
    """The same, saying that the calibration rows are the latest ones."""
    return with_sentence(
        certificate,
        f"The calibration rows are the latest {size} with outcomes; a new one is "
        "assumed to be like them, not like older ones.",
    )
