"""What decisions were taken over, which can say why they are as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ...errors import InvalidParameter

if TYPE_CHECKING:
    from ..explaining.decision_explanation import DecisionExplanation
    from .decisions import Decisions


class Background(Protocol):
    """What decisions were taken over: it can say why they are as they are."""

    def explain(
        self, decisions: Decisions, context: int, again: bool | None
    ) -> DecisionExplanation: ...


def unexplained() -> InvalidParameter:
    """The error where there is no background."""
    return InvalidParameter(
        "Decision.explain() needs the policy that decided, and this decision came "
        "without it: from a file or another process. Decide again with the policy."
    )
