"""The table of the demonstration: every promise with its outcome."""

from __future__ import annotations

from typing import Any

from ..report import Entry, Table, named, number, rate

COLUMNS = (
    "model",
    "loss",
    "guarantee",
    "promised",
    "outside, %",
    "promoted",
    "budget",
    "radius",
    "size",
    "labels",
    "verdict",
)
NOTE = (
    "Outside: share of new days on which the outcome left its set, with an exact 95 % "
    "interval for the test draw; promoted is the share of days of strong promotion. "
    "Size: half-width in standard deviations of the outcome (of the numbers, if there "
    "are labels too), or labels possible."
)
FARED = {"agrees": "good", "in range": "open", "refuted": "bad"}


def violations(facts: dict[str, Any]) -> Table:
    """A row for each model and guarantee."""
    return Table(
        "What was promised, and what happened",
        NOTE,
        COLUMNS,
        [_row(row) for row in facts["rows"]],
        [FARED[row["verdict"]] for row in facts["rows"]],
    )


def _row(row: dict[str, Any]) -> list[Entry]:
    share, low, high = (100 * row[key] for key in ("violation", "low", "high"))
    return [
        *named(row["model"], row["loss"], row["guarantee"]),
        Entry(f"<= {row['promised']:.3g}", row["promised"]),
        Entry(f"{share:4.1f} [{low:.1f}, {high:.1f}]", share),
        rate(row["promotion_days"]),
        number(row["budget"]),
        number(row["radius"]),
        _size(row),
        _labels(row),
        Entry(row["verdict"], row["verdict"], judged=True),
    ]


def _size(row: dict[str, Any]) -> Entry:
    """The half-width where there are numbers, else the labels possible."""
    width = row["half_width"]
    return _labels(row) if width is None else Entry(f"{width:.2f} sd", width)


def _labels(row: dict[str, Any]) -> Entry:
    """How many labels are possible."""
    labels = row["labels"]
    if labels is None:
        return number(None)
    return Entry(f"{labels:.1f} of {row['label_count']}", labels)
