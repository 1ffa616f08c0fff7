"""Methods that differ only in their loss, as one: what a reader chooses between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_LOSSES = ("MSE", "MSEV", "Cross-entropy")


@dataclass(frozen=True)
class Family:
    """Methods with one idea, and when to use it."""

    title: str
    members: Sequence[str]
    use: str

    def rows(self, facts: dict[str, Any]) -> list[dict[str, Any]]:
        """What its members promised and kept, over all problems."""
        return [
            {**row, "title": problem["title"]}
            for problem in facts["problems"]
            for row in problem["promises"]
            if row["method"] in self.members
        ]


FAMILIES = (
    Family(
        "Decision-aware (ours)",
        [f"{loss}, decision-aware" for loss in _LOSSES],
        "Your first choice: one problem, decided the same way each time.",
    ),
    Family(
        "Theorem 3.1, fresh sample",
        [f"{loss}, Th. 3.1" for loss in _LOSSES],
        "One set for many problems, or for one not yet known. Safe and cautious.",
    ),
    Family(
        "The paper's radius",
        ["MSE, paper", "MSEV, paper"],
        "Not needed: a heuristic, and far more cautious than what is proved.",
    ),
    Family(
        "The paper's label budget",
        ["Cross-entropy, paper"],
        "Not needed: Theorem 3.1 on rows that training has seen. Take fresh ones.",
    ),
    Family(
        "Classical ellipsoid",
        ["Classical"],
        "Only without covariates, and where the tails are known to be light.",
    ),
    Family(
        "kNN ellipsoid",
        ["kNN"],
        "Only as a comparison: mean and spread of neighbours, the classical radius.",
    ),
    Family(
        "Phi-divergence",
        ["Phi-divergence"],
        "Where the mean cost under an unknown law matters, not the next outcome.",
    ),
    Family(
        "Predict, then calibrate",
        ["Predict, then calibrate"],
        "Where a quarter of a million instances make its theorem say something.",
    ),
    Family(
        "Predict, then optimise; SPO+",
        ["Predict, then optimise", "SPO+"],
        "Where only the average cost matters and no level has to be kept.",
    ),
)
