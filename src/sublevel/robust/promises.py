"""What a policy promises: of its decisions, or else of the sets of each key."""

from __future__ import annotations

from collections.abc import Sequence

from ..calibration.certificates import with_sentence
from ..caller import warn_caller
from ..errors import CertificateVoid
from ..guarantees import Certificate
from ..tables import number_in_short
from .decision_rule import DecisionRule
from .decisions import Promise, in_short
from .keys import UncertainKey, promise_of
from .probes import Riders
from .recognition import Recognition
from .settled import Settled

#: What is assumed where predictions come from elsewhere, and the caller trusts them.
VOUCHED = "The predictions are those of the model that was calibrated, as vouched for."


def certificates_of(
    settled: Settled | None, keys: Sequence[UncertainKey]
) -> list[Certificate | None]:
    """What is promised of decisions, or else of the sets of each key."""
    if settled is not None:
        return [settled.certificate]
    return [key.certificate for key in keys]


def promised_alpha(certificates: Sequence[Certificate | None]) -> float | None:
    """The violation level that is promised; None if nothing is.

    Of several certificates, which hold each on its own, the sum of their levels.
    """
    levels = [
        None if each is None or each.heuristic else each.alpha for each in certificates
    ]
    given = [level for level in levels if level is not None]
    return min(1.0, sum(given)) if len(given) == len(levels) > 0 else None


def vouched(promise: Promise) -> Promise:
    """The promise, with what the caller vouches for among its assumptions."""
    if isinstance(promise, Certificate):
        return with_sentence(promise, VOUCHED)
    if isinstance(promise, dict):
        return {k: c and with_sentence(c, VOUCHED) for k, c in promise.items()}
    return None


def is_void(
    recognition: Recognition | None, rule: DecisionRule, riders: Riders | None
) -> bool:
    """Whether the decision rule is not the one calibrated; then with a warning.

    Parameters
    ----------
    recognition : what decisions depended on; None where nothing is promised
    rule : what they depend on
    riders : probes that were asked along with contexts, or None
    """
    changed = None if recognition is None else recognition.changed(rule, riders)
    if changed is not None:
        warn_caller(
            f"The policy's certificate is void: {changed} since it was calibrated. "
            "Calibrate it again; data that vary from context to context belong to X.",
            CertificateVoid,
        )
    return changed is not None


def promise_in_words(settled: Settled | None, keys: tuple[UncertainKey, ...]) -> str:
    """What is promised, and at which budget; or what is missing for a promise."""
    if settled is not None:
        shown = ", ".join(f"{budget:.4g}" for budget in settled.budgets)
        return f"Promise: {in_short(settled.certificate)}; budget {shown}."
    promise = promise_of(keys)
    if promise is None:
        return "Nothing is promised: call Policy.calibrate(X, Y, alpha)."
    return f"Of the sets is promised: {in_short(promise)}; of decisions no more."


def promise_facts(
    settled: Settled | None, keys: tuple[UncertainKey, ...]
) -> list[tuple[str, str]]:
    """The same as rows of a table."""
    if settled is None:
        return [("promise", in_short(promise_of(keys)))]
    return [
        ("budget", number_in_short(settled.budget)),
        ("promise", in_short(settled.certificate)),
    ]
