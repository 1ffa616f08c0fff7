"""How a policy solves its contexts, in words."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from ..conic.choice import Choice


@dataclass(frozen=True)
class Explanation:
    """How contexts are solved, and why so.

    Attributes
    ----------
    contexts : whether contexts share one compiled program
    solver : what solves them
    reason : why it does
    """

    contexts: str
    solver: str
    reason: str

    def __str__(self) -> str:
        return "\n".join(
            textwrap.fill(
                f"{name}: {text}", 80, subsequent_indent=" " * len(name) + "  "
            )
            for name, text in vars(self).items()
        )


def explanation(one_by_one: str | None, choice: Choice | None) -> Explanation:
    """From why contexts are decided one by one, or else the choice of a solver."""
    if one_by_one is not None:
        return Explanation(
            f"one by one, as {one_by_one}",
            "chosen at each context",
            "there is no program for all of them",
        )
    together = "together, in one compiled program"
    if choice is None:
        return Explanation(
            together, "chosen at the first context", "predictions tell its size"
        )
    return Explanation(together, choice.name, choice.reason)
