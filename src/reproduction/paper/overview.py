"""The minute's worth: which method to use, what was reproduced, what was broken."""

from __future__ import annotations

from typing import Any

from ..report import Entry, Table, count, named
from .families import FAMILIES, Family

LEVELS = (0.1, 0.05, 0.01)


def overview(facts: dict[str, Any]) -> list[Table]:
    """Two tables over all problems."""
    return [_methods(facts), _reproduced(facts)]


def delivered(level: float) -> str:
    """The column of what was delivered where a level was asked."""
    return f"delivered, asked {level:.0%}"


def lead(facts: dict[str, Any]) -> str:
    """The answer in a sentence."""
    ours, paper = FAMILIES[0].rows(facts), FAMILIES[2].rows(facts)
    given = ", ".join(f"{level:.0%}" for level in LEVELS)
    got = ", ".join(_rate(ours, level).text for level in LEVELS)
    text = (
        f"Use the decision-aware calibration: asked for at most {given} of violations, "
        f"it delivered {got}."
    )
    factors = [row["factor"] for row in _noisy(facts)]
    if factors:
        text += (
            f" Its radii are {min(factors):.1f} to {max(factors):.1f} times smaller "
            "than the paper's where outcomes are noisy; the paper's delivered "
            f"{', '.join(_rate(paper, level).text for level in LEVELS)}: more "
            "caution than was asked for, at a cost."
        )
    return text


def _noisy(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Radii of settings where outcomes are noisy."""
    rows = [row for problem in facts["problems"] for row in problem["headroom"]]
    return [row for row in rows if row["noisy"]]


def broken(facts: dict[str, Any]) -> list[str]:
    """One sentence for each method and problem whose claim did not hold."""
    worst: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for problem in facts["problems"]:
        for row in problem["promises"]:
            if row["verdict"] == "broken":
                key = (row["method"], problem["title"])
                worst.setdefault(key, []).append(row)
    return [_broken(*key, rows) for key, rows in worst.items()]


def _broken(method: str, title: str, rows: list[dict[str, Any]]) -> str:
    most = max(rows, key=lambda row: row["violation"] / row["alpha"])
    cases = "1 case" if len(rows) == 1 else f"{len(rows)} cases"
    return (
        f"{method} broke its claim in {cases} of the {title.lower()}: at worst "
        f"{most['violation']:.1%} instead of {most['alpha']:.0%} ({most['setting']})."
    )


def _methods(facts: dict[str, Any]) -> Table:
    rows, fared = [], []
    for family in FAMILIES:
        mine = family.rows(facts)
        if mine:
            rows.append(_family(family, mine))
            bad = any(row["verdict"] == "broken" for row in mine)
            none = mine[0]["promise"] == "none"
            fared.append("" if none else "bad" if bad else "good")
    columns = (
        "method",
        "use it",
        "promise",
        *map(delivered, LEVELS),
        "claim",
    )
    note = (
        "Delivered: how often the cost was above the certified one on fresh instances, "
        "mean over all settings; it should be near the level asked, and not above. "
        "Proved: a theorem holds here. Claimed: a formula says so."
    )
    return Table("Which method to use", note, columns, rows, fared)


def _family(family: Family, mine: list[dict[str, Any]]) -> list[Entry]:
    kept = sum(row["verdict"] == "kept" for row in mine)
    none = mine[0]["promise"] == "none"
    claim = "none made" if none else f"kept in {kept} of {len(mine)}"
    return [
        Entry(family.title, family.title),
        Entry(family.use, family.use),
        Entry(mine[0]["promise"], mine[0]["promise"]),
        *(_rate(mine, level) for level in LEVELS),
        Entry(claim, len(mine) - kept, judged=True),
    ]


def _rate(mine: list[dict[str, Any]], level: float) -> Entry:
    rates = [row["violation"] for row in mine if row["alpha"] == level]
    rate = sum(rates) / len(rates)
    return Entry(f"{rate:.1%}" if rate >= 0.0005 or rate == 0 else "< 0.1%", rate)


_REPRODUCED = (
    "problem",
    "published numbers",
    "reproduced",
    "same order",
    "differ",
    "not reproducible",
    "statements that hold",
    "our radius, times smaller",
)
_REPRODUCED_NOTE = (
    "Same order: only that is expected of these numbers. Not reproducible: no plain "
    "reading of the paper gives them; reasons are in the tables. Our radius is the "
    "decision-aware one against the paper's at the same level, where outcomes are "
    "noisy."
)


def _reproduced(facts: dict[str, Any]) -> Table:
    rows, fared = [], []
    for problem in facts["problems"]:
        verdicts = [row["verdict"] for row in problem["cells"]]
        off = sum(verdict in ("differs", "other order") for verdict in verdicts)
        ruled = [row["verdict"] for row in problem["orderings"]]
        statements = f"{ruled.count('true')} of {len(ruled)}" if ruled else "not run"
        rows.append(
            [
                *named(problem["title"]),
                count(len(verdicts)),
                count(verdicts.count("reproduced")),
                count(verdicts.count("same order")),
                Entry(str(off), off, judged=True),
                count(verdicts.count("not reproducible")),
                Entry(statements, ruled.count("true")),
                _smaller(problem),
            ]
        )
        fared.append("partly" if off else "good")
    title = "What was reproduced"
    return Table(title, _REPRODUCED_NOTE, _REPRODUCED, rows, fared)


def _smaller(problem: dict[str, Any]) -> Entry:
    factors = [row["factor"] for row in _noisy({"problems": [problem]})]
    if not factors:
        return Entry("", "")
    return Entry(f"{min(factors):.1f} to {max(factors):.1f}", min(factors))
