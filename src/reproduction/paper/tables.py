"""The tables of a report about one problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..report import Entry, Table, digits, named, number, rate

#: Tables of more rows are opened by who wants them.
_LONG = 12
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
    "false": "open",
    "too close to tell": "open",
    "not reproducible": "open",
}


def tables(problem: dict[str, Any]) -> list[Table]:
    """All tables about a problem, in reading order."""
    made = [
        *([_statements(problem)] if problem["orderings"] else []),
        _held(problem),
        *([_flows(problem)] if problem["flows"] else []),
        *(_published(problem, name) for name in _names(problem)),
        *([_radii(problem)] if problem["headroom"] else []),
        _promises(problem),
    ]
    return [replace(table, folded=len(table.rows) > _LONG) for table in made]


def _names(problem: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["table"] for row in problem["cells"]))


def _published(problem: dict[str, Any], name: str) -> Table:
    columns = ["setting", "method", "alpha", "published", "ours", "spread", "verdict"]
    mine = [row for row in problem["cells"] if row["table"] == name]
    note = f"Ours is the mean over {mine[0]['seeds']} seeds, the spread their standard "
    note += "deviation."
    rows = [_cell(row) for row in mine]
    if name == "Radii" and problem["headroom"]:
        columns[-1:-1] = ["decision-aware", "its violation"]
        note += " Beside it the decision-aware radius at the same level, and how often "
        note += "it was violated on fresh instances."
        for entries, row in zip(rows, mine, strict=True):
            entries[-1:-1] = _beside(problem, row)
    fared = [_FARED[row["verdict"]] for row in mine]
    return Table(f"{name}: published and ours", note, columns, rows, fared)


def _cell(row: dict[str, Any]) -> list[Entry]:
    verdict = row["verdict"]
    text = f"{verdict}: {row['reason']}" if row["reason"] else verdict
    return [
        *named(row["setting"], row["method"]),
        number(row["alpha"]),
        number(row["published"]),
        number(row["ours"]),
        Entry(f"± {digits(row['sd'])}", row["sd"]),
        Entry(text, verdict, judged=True),
    ]


def _beside(problem: dict[str, Any], row: dict[str, Any]) -> list[Entry]:
    """The decision-aware radius for a published one, and what it realised."""
    loss = row["method"].split(",")[0]
    for other in problem["headroom"]:
        place = (other["setting"], other["loss"], other["alpha"])
        if place == (row["setting"], loss, row["alpha"]):
            return [number(other["aware"]), rate(other["aware_violation"])]
    return [number(None), number(None)]


def _statements(problem: dict[str, Any]) -> Table:
    rows = [
        [
            Entry(row["statement"], row["statement"]),
            Entry(row["verdict"], row["verdict"], judged=True),
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


_HELD = (
    "method",
    "promise",
    "outcome",
    "violation / alpha, mean",
    "largest",
    "objective",
    "regret",
)
_HELD_NOTE = (
    "Violation / alpha: at most 1 is what was asked, on average over calibration "
    "samples; a mean over few seeds may come out a little higher and still agree. "
    "Objective and regret are means over settings and levels; lower is better."
)


def _held(problem: dict[str, Any]) -> Table:
    """One row a method: promise, how often it was kept, and what it costs."""
    rows, fared = [], []
    for method in dict.fromkeys(row["method"] for row in problem["promises"]):
        mine = [row for row in problem["promises"] if row["method"] == method]
        broken = sum(row["verdict"] == "broken" for row in mine)
        none = mine[0]["promise"] == "none"
        shares = [row["violation"] / row["alpha"] for row in mine]
        text = "no promise" if none else f"kept in {len(mine) - broken} of {len(mine)}"
        rows.append(
            [
                *named(method, mine[0]["promise"]),
                Entry(text, broken, judged=True),
                *(
                    Entry(f"{s:.2f}", s)
                    for s in (sum(shares) / len(shares), max(shares))
                ),
                number(_mean(mine, "objective")),
                number(_mean(mine, "regret")),
            ]
        )
        fared.append("" if none else "bad" if broken else "good")
    return Table("Which method keeps its promise", _HELD_NOTE, _HELD, rows, fared)


_RADII = (
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
_RADII_NOTE = (
    "Means over seeds. The paper's radius rests on 100 test instances; on the "
    "population it is computed from all fresh ones. Theorem 3.1 and the "
    "decision-aware radius use a calibration sample of their own. All in units of the "
    "mean predicted spread."
)


def _radii(problem: dict[str, Any]) -> Table:
    keys = ("alpha", "paper", "population", "proved", "aware", "factor")
    rows = []
    for row in problem["headroom"]:
        asked = "" if row["asked"] is None else f"at least {row['asked']:g}: "
        rows.append(
            [
                *named(row["setting"], row["loss"]),
                *(number(row[key]) for key in keys),
                rate(row["paper_violation"]),
                rate(row["aware_violation"]),
                Entry(f"{asked}{row['verdict']}", row["verdict"], judged=True),
            ]
        )
    fared = [_FARED.get(row["verdict"], "") for row in problem["headroom"]]
    title = "The same promise with a smaller radius"
    return Table(title, _RADII_NOTE, _RADII, rows, fared)


_PROMISES = (
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
_PROMISES_NOTE = (
    "Realised violation with its standard error; a promise counts as broken beyond "
    "three of them. Objective and regret with their deviation over seeds."
)


def _promises(problem: dict[str, Any]) -> Table:
    rows = []
    for row in problem["promises"]:
        realised = f"{row['violation']:.4f} ± {row['error']:.4f}"
        rows.append(
            [
                *named(row["setting"], row["method"], row["promise"]),
                number(row["alpha"]),
                Entry(realised, row["violation"]),
                Entry(row["verdict"], row["verdict"], judged=True),
                number(row["radius"]),
                _spread(row, "objective"),
                _spread(row, "regret"),
            ]
        )
    fared = [_FARED.get(row["verdict"], "") for row in problem["promises"]]
    title = "Every method, setting and level"
    return Table(title, _PROMISES_NOTE, _PROMISES, rows, fared)


def _flows(problem: dict[str, Any]) -> Table:
    rows = [
        [
            *named(row["setting"], row["loss"]),
            number(row["integer"]),
            number(row["relaxed"]),
            Entry(f"{row['split']:.0%}", row["split"]),
        ]
        for row in problem["flows"]
    ]
    columns = ("setting", "loss", "worst cost, path", "worst cost, flow", "flows split")
    note = (
        "A flow may split to spread its risk, and then is no path. At the paper's "
        "radius and level 0.1, on a few test instances a seed."
    )
    return Table("Paths and flows", note, columns, rows, [""] * len(rows))


def _spread(row: dict[str, Any], name: str) -> Entry:
    text = f"{digits(row[name])} ± {digits(row[f'{name}_sd'])}"
    return Entry(text, row[name])


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(sum(row[name] for row in rows) / len(rows))
