"""The tables of a report: text for the reader, values to sort by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One entry of a table: what is read, and what it is sorted by."""

    text: str
    value: Any


@dataclass(frozen=True)
class Table:
    """A table, and for each row how it fared: "good", "bad", "known" or ""."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[list[Entry]]
    fared: list[str]
    folded: bool = False


_FARED = {
    "reproduced": "good",
    "same order": "good",
    "kept": "good",
    "true": "good",
    "reached": "good",
    "differs": "bad",
    "other order": "bad",
    "broken": "bad",
    "missed": "bad",
    "false": "known",
    "not reproducible": "known",
}


def tables(problem: dict[str, Any]) -> list[Table]:
    """All tables about a problem, in reading order."""
    found = [_statements(problem)] if problem["orderings"] else []
    found += [_held(problem)]
    found += [_published(problem, name) for name in _names(problem)]
    if problem["headroom"]:
        found.append(_radii(problem))
    return [*found, _promises(problem)]


def _names(problem: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["table"] for row in problem["cells"]))


def _published(problem: dict[str, Any], name: str) -> Table:
    columns = ("setting", "method", "alpha", "published", "ours", "spread", "verdict")
    rows, fared = [], []
    for row in problem["cells"]:
        if row["table"] != name:
            continue
        verdict = row["verdict"]
        said = f"{verdict}: {row['reason']}" if row["reason"] else verdict
        rows.append(
            [
                *_named(row["setting"], row["method"]),
                _number(row["alpha"]),
                _number(row["published"]),
                _number(row["ours"]),
                Entry(f"± {_text(row['sd'])}", row["sd"]),
                Entry(said, verdict),
            ]
        )
        fared.append(_FARED[verdict])
    note = f"Ours is the mean over {problem['cells'][0]['seeds']} seeds, the spread "
    note += "their standard deviation."
    return Table(f"{name}: published and ours", note, columns, rows, fared)


def _statements(problem: dict[str, Any]) -> Table:
    rows = [
        [
            Entry(row["statement"], row["statement"]),
            Entry(row["verdict"], row["verdict"]),
            Entry(row["evidence"], row["evidence"]),
        ]
        for row in problem["orderings"]
    ]
    fared = [_FARED[row["verdict"]] for row in problem["orderings"]]
    note = "What the paper concludes, compared setting by setting and level by level."
    return Table(
        "The paper's statements",
        note,
        ("statement", "verdict", "evidence"),
        rows,
        fared,
    )


def _held(problem: dict[str, Any]) -> Table:
    """One row a method: promise, how often it was kept, and what it costs."""
    rows, fared = [], []
    for method in dict.fromkeys(row["method"] for row in problem["promises"]):
        mine = [row for row in problem["promises"] if row["method"] == method]
        broken = sum(row["verdict"] == "broken" for row in mine)
        none = mine[0]["promise"] == "none"
        worst = max(row["violation"] / row["alpha"] for row in mine)
        said = "no promise" if none else f"kept in {len(mine) - broken} of {len(mine)}"
        rows.append(
            [
                *_named(method, mine[0]["promise"]),
                Entry(said, broken),
                Entry(f"{worst:.2f}", worst),
                _number(_mean(mine, "objective")),
                _number(_mean(mine, "regret")),
            ]
        )
        fared.append("" if none else "bad" if broken else "good")
    columns = (
        "method",
        "promise",
        "outcome",
        "worst violation / alpha",
        "objective",
        "regret",
    )
    note = (
        "Proved: a theorem holds here. Claimed: a formula says so. Worst violation / "
        "alpha: at most 1 is what was asked. Objective and regret are means over "
        "settings and levels; lower is better."
    )
    return Table("Which method keeps its word", note, columns, rows, fared)


def _radii(problem: dict[str, Any]) -> Table:
    keys = ("paper", "population", "proved", "aware", "factor")
    rows, fared = [], []
    for row in problem["headroom"]:
        asked = "" if row["asked"] is None else f"at least {row['asked']:g}: "
        rows.append(
            [
                *_named(row["setting"], row["loss"]),
                _number(row["alpha"]),
                *(_number(row[key]) for key in keys),
                Entry(f"{row['paper_violation']:.4f}", row["paper_violation"]),
                Entry(f"{row['aware_violation']:.4f}", row["aware_violation"]),
                Entry(f"{asked}{row['verdict']}", row["verdict"]),
            ]
        )
        fared.append(_FARED.get(row["verdict"], ""))
    columns = (
        "setting",
        "loss",
        "alpha",
        "paper's radius",
        "on the population",
        "Theorem 3.1",
        "decision-aware",
        "times smaller",
        "violation, paper",
        "violation, decision-aware",
        "asked",
    )
    note = (
        "The paper's radius rests on 100 test instances; on the population it is "
        "computed from all fresh ones. Theorem 3.1 and the decision-aware radius use a "
        "calibration sample of their own. All in units of the mean predicted spread."
    )
    return Table("The same promise with a smaller radius", note, columns, rows, fared)


def _promises(problem: dict[str, Any]) -> Table:
    rows, fared = [], []
    for row in problem["promises"]:
        rows.append(
            [
                *_named(row["setting"], row["method"], row["promise"]),
                _number(row["alpha"]),
                Entry(f"{row['violation']:.4f} ± {row['error']:.4f}", row["violation"]),
                Entry(row["verdict"], row["verdict"]),
                _number(row["radius"]),
                Entry(_spread(row, "objective"), row["objective"]),
                Entry(_spread(row, "regret"), row["regret"]),
            ]
        )
        fared.append(_FARED.get(row["verdict"], ""))
    columns = (
        "setting",
        "method",
        "promise",
        "promised",
        "realised",
        "verdict",
        "radius",
        "objective",
        "regret",
    )
    note = (
        "Realised violation with its standard error; a promise counts as broken beyond "
        "three of them. Objective and regret with their deviation over seeds."
    )
    title = "Every method, setting and level"
    return Table(title, note, columns, rows, fared, folded=True)


def _named(*texts: str) -> list[Entry]:
    return [Entry(text, text) for text in texts]


def _number(value: float | None) -> Entry:
    return Entry("" if value is None else _text(value), value)


def _text(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _spread(row: dict[str, Any], name: str) -> str:
    return f"{_text(row[name])} ± {_text(row[f'{name}_sd'])}"


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(sum(row[name] for row in rows) / len(rows))
