"""The figures of the demonstration: sets on two days, coverage, violations."""

from __future__ import annotations

from typing import Any

from ..report import Figure, Series, linear, listed, panel

CALM, PROMOTED, COVERED = "#1f6fb4", "#d95f02", "#0b3c66"
BAND, ASKED, REFUTED = "#ddd", "#888", "#b00020"


def figures(facts: dict[str, Any]) -> list[Figure]:
    """Three figures, a panel for each model or guarantee."""
    return [_sets(facts["outlines"]), _coverage(facts["curves"]), _violations(facts)]


def _sets(outlines: list[dict[str, Any]]) -> Figure:
    """A panel for each model: its sets on both days, in the same units."""
    across, up = (
        linear(name, [value for one in outlines for value in one[name]])
        for name in ("bread", "drinks")
    )
    panels = []
    for title in dict.fromkeys(map(_name, outlines)):
        series = [_outline(one) for one in outlines if _name(one) == title]
        panels.append(panel(title, across, up, series))
    return Figure(
        "Sets on two days: drinks against bread",
        "A set that follows the predicted spread is small on a calm day and large on a "
        "day of strong promotion; the others are as large on both.",
        [("no promotion", CALM), ("strong promotion", PROMOTED)],
        panels,
    )


def _outline(one: dict[str, Any]) -> Series:
    points = list(zip(one["bread"], one["drinks"], strict=True))
    color = PROMOTED if one["promotion"] > 0.5 else CALM
    return Series(color, [*points, points[0]])


def _coverage(curves: list[dict[str, Any]]) -> Figure:
    """A panel for each model that predicts numbers."""
    return Figure(
        "Promised and realised coverage, one calibration draw",
        "A draw scatters around the diagonal, within the grey band. Sets of labels are "
        "left out: they always keep a label, so they never cover less than the "
        "likeliest label does.",
        [("realised", COVERED), ("99 % of calibration draws", BAND)],
        [_curve(one) for one in curves if one["predicts"] != "busiest"],
    )


def _curve(one: dict[str, Any]) -> str:
    promised = one["promised"]
    lower = list(zip(promised, one["band_low"], strict=True))
    upper = list(zip(promised, one["band_high"], strict=True))
    points = list(zip(promised, one["coverage"], strict=True))
    tips = [f"{_name(one)}: promised {p:.1%}, realised {c:.1%}" for p, c in points]
    heights = [*one["band_low"], *one["band_high"], *one["coverage"]]
    return panel(
        _name(one),
        linear("promised coverage", promised),
        linear("realised coverage", heights),
        [Series(COVERED, points, tips)],
        diagonal=True,
        band=[*lower, *upper[::-1]],
    )


def _violations(facts: dict[str, Any]) -> Figure:
    """A panel for each guarantee, a row for each model."""
    rows = facts["rows"]
    across = linear("violation on test days", [0.0, *(row["high"] for row in rows)])
    names = list(dict.fromkeys(map(_name, rows)))
    line = [(facts["alpha"], 0.5), (facts["alpha"], 0.5 - len(names))]
    panels = []
    for guarantee in dict.fromkeys(row["guarantee"] for row in rows):
        series = [Series(ASKED, line)]
        for row in rows:
            if row["guarantee"] == guarantee:
                series += _interval(row, -names.index(_name(row)))
        panels.append(panel(guarantee, across, listed("model", names), series))
    return Figure(
        "Violations on new days, with exact 95 % intervals",
        "At most the line was promised.",
        [("promised", ASKED), ("agrees, or in range", COVERED), ("refuted", REFUTED)],
        panels,
    )


def _interval(row: dict[str, Any], height: int) -> list[Series]:
    low, at, high = row["low"], row["violation"], row["high"]
    color = REFUTED if row["verdict"] == "refuted" else COVERED
    tip = f"{_name(row)}: {at:.1%} [{low:.1%}, {high:.1%}] ({row['verdict']})"
    return [
        Series(color, [(low, height), (high, height)]),
        Series(color, [(at, height)], [tip]),
    ]


def _name(one: dict[str, Any]) -> str:
    return f"{one['model']}, {one['loss']}"
