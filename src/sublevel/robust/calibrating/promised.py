"""The certificate of a policy's own calibration."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isinf
from typing import Any

from ...guarantees import PAC, Certificate, Marginal

EVENT = "the decision breaks a constraint or costs more than certified"
#: What "risk" controls in place of a probability.
MISS = "the worst miss of a promise, relative and capped at 1,"

_REFERENCES = {
    "envelope": "Order statistics of envelope scores; Lei et al. (2018), Theorem 2.2",
    "learn-then-test": "Angelopoulos et al. (2025), fixed sequence testing",
    "risk": "Angelopoulos et al. (2024), Theorem 1",
}
_ALIKE = "The calibration contexts and outcomes and the new ones are "
EXCHANGEABLE = f"{_ALIKE}exchangeable."
INDEPENDENT = f"{_ALIKE}independent and identically distributed."
RULE = "The decision rule stays as calibrated: model, problem, solver, fallback."
UNSEEN = "They had no part in choosing model, loss, problem or grid."
UNDECIDED = "Where no decision exists none is taken, unless a fallback is declared."


def promise_of(delta: float | None) -> Any:
    """Who says how many calibration points may violate."""
    return Marginal() if delta is None else PAC(delta)


def decision_certificate(
    level: float, alpha: float, delta: float | None, size: int, method: str, acts: bool
) -> Certificate:
    """What a level promises of decisions.

    Parameters
    ----------
    size : number of calibration points
    acts : whether a fallback acts where no robust decision exists; at an infinite
        budget that is everywhere, and nothing is promised of it
    """
    needed, risk = promise_of(delta).minimum_sample_size(alpha), method == "risk"
    note = "" if not isinf(level) else _why_infinite(size, needed, alpha, method, acts)
    return Certificate(
        guarantee="DecisionAware",
        alpha=1.0 if isinf(level) and acts else alpha,
        confidence=None if delta is None else 1 - delta,
        budget=level,
        sample_size=size,
        minimum_sample_size=needed,
        rank=None,
        random="The calibration sample and the new outcome with its context.",
        assumptions=(
            EXCHANGEABLE if delta is None else INDEPENDENT,
            UNSEEN,
            RULE,
            UNDECIDED,
        ),
        reference=_REFERENCES[method],
        note=note,
        beta_law=False,
        event=MISS if risk else EVENT,
        measure="is in expectation" if risk else "with probability",
    )


def with_exceptions(found: Certificate, broken: tuple[str, ...]) -> Certificate:
    """The same, saying which certain constraints the declared fallback breaks."""
    if not broken:
        return found
    named = "; ".join(broken)
    said = f"The fallback, as declared, breaks {named}: that is not counted."
    return replace(found, assumptions=(*found.assumptions, said))


def given_certificate(budgets: tuple[float, ...]) -> Certificate:
    """What budgets that were given, not calibrated, promise: nothing."""
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
        reference="Policy.at",
        heuristic=True,
        note="The budget was given, not calibrated. Calibrate the policy on data.",
        beta_law=False,
        event=EVENT,
        holds="as nothing is known of a budget that was given",
    )


def _why_infinite(size: int, needed: int, alpha: float, method: str, acts: bool) -> str:
    if size < needed:
        return (
            f"Policy.calibrate(alpha={alpha:g}) needs at least {needed} calibration "
            f"points for a finite budget, got {size}. Add calibration data or raise "
            "alpha."
        )
    if acts:
        return (
            "Not certifiable: the fallback violates too often, and at large budgets it "
            "is all that is left. Give a fallback that keeps the constraints, or a "
            "grid of budgets to choose from."
        )
    if method == "envelope":
        return (
            "Not certifiable: too many outcomes lie outside sets that no budget "
            "enlarges, a set value or declared signs. Enlarge that set or raise alpha."
        )
    return (
        "Not certifiable: decisions at the largest budget of the grid violate too "
        "often. Give larger budgets, or raise alpha."
    )
