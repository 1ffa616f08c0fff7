"""Which method to use, in a few sentences that carry their numbers."""

from __future__ import annotations

from typing import Any


def advice(facts: dict[str, Any]) -> list[str]:
    """What was promised, what was delivered, and what follows."""
    rows = [row for problem in facts["problems"] for row in problem["promises"]]
    said = [_aware(rows), _proved(rows), _paper(rows), _unpromised(rows)]
    broken = sorted({row["method"] for row in rows if row["verdict"] == "broken"})
    if broken:
        said.append(
            f"Shown in red, because the violation measured exceeds what is claimed at "
            f"some setting: {'; '.join(broken)}."
        )
    return [line for line in said if line]


def _aware(rows: list[dict[str, Any]]) -> str:
    mine = _ending(rows, "decision-aware")
    return _with_ratio(
        mine,
        "One decision problem, decided the same way each time: use the decision-aware "
        "calibration. It has the smallest sets that keep the level asked for",
    )


def _proved(rows: list[dict[str, Any]]) -> str:
    mine = _ending(rows, "Th. 3.1")
    return _with_ratio(
        mine,
        "One set for many problems, or for a problem not yet known: use Theorem 3.1 on "
        "a calibration sample of its own. It is safe and cautious",
    )


def _paper(rows: list[dict[str, Any]]) -> str:
    mine = [row for row in rows if row["method"] in ("MSE, paper", "MSEV, paper")]
    return _with_ratio(
        mine,
        "The paper's own radius (inequality LLN of Theorem 3.2) is a heuristic that "
        "was larger than Theorem 3.1's here, so there is no reason to use it",
    )


def _unpromised(rows: list[dict[str, Any]]) -> str:
    names = ("Predict, then optimise", "SPO+")
    mine = [row for row in rows if row["method"] in names]
    if not mine:
        return ""
    rate = sum(row["violation"] for row in mine) / len(mine)
    return (
        "No level is needed, only a low cost on average: predicting and optimising "
        f"does well, and costs more than predicted {rate:.0%} of the time."
    )


def _ending(rows: list[dict[str, Any]], end: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["method"].endswith(end)]


def _with_ratio(mine: list[dict[str, Any]], text: str) -> str:
    if not mine:
        return ""
    ratio = sum(row["violation"] / row["alpha"] for row in mine) / len(mine)
    kept = sum(row["verdict"] == "kept" for row in mine)
    return (
        f"{text} (violation {ratio:.2f} of the level asked on average, kept in {kept} "
        f"of {len(mine)} cases)."
    )
