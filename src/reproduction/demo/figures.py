"""The figures of the demonstration: sets on two days, coverage, violations."""

from __future__ import annotations

from typing import Any

from ..report import Figure, Series, linear, listed, panel

CALM, PROMOTED, COVERED = "blue", "orange", "deep-blue"
BAND, ASKED, REFUTED = "pale-grey", "grey", "red"
#: Losses whose sets are drawn: the same size on both days, another shape, one that
#: follows the predicted spread.
SHOWN = (
    ("Linear", "squared"),
    ("Random forest", "huber"),
    ("Mean + spread", "gaussian"),
)
#: How far the two guarantees of a model are drawn above and below its line.
APART = {"Marginal": 0.16, "PAC": -0.16}


def figures(facts: dict[str, Any]) -> list[Figure]:
    """Three figures: sets of some models, then all models in one panel each."""
    return [_sets(facts["outlines"]), _coverage(facts["curves"]), _violations(facts)]


def _sets(outlines: list[dict[str, Any]]) -> Figure:
    """A panel for each model shown: its sets on both days, in the same units."""
    some = [one for one in outlines if (one["model"], one["loss"]) in SHOWN]
    across, up = (
        linear(name, [value for one in some for value in one[name]])
        for name in ("bread", "drinks")
    )
    panels = []
    for title in dict.fromkeys(map(_name, some)):
        series = [_outline(one) for one in some if _name(one) == title]
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
    tone = PROMOTED if one["promotion"] > 0.5 else CALM
    return Series(tone, [*points, points[0]])


def _coverage(curves: list[dict[str, Any]]) -> Figure:
    """One panel for every model that predicts numbers."""
    some = [one for one in curves if one["predicts"] != "busiest"]
    # The band is that of the calibration sample's size, which all models share.
    promised = some[0]["promised"]
    lower, upper = (_above(some[0], edge) for edge in ("band_low", "band_high"))
    lines = [_curve(one) for one in some]
    points = [*lower, *upper, *(point for line in lines for point in line.points)]
    zero = Series(ASKED, [(promised[0], 0.0), (promised[-1], 0.0)])
    drawn = panel(
        "Coverage above promised, points",
        linear("promised coverage", promised),
        linear("realised above promised", [height for _, height in points]),
        [zero, *lines],
        band=[*lower, *upper[::-1]],
    )
    return Figure(
        "Coverage at every level, one calibration draw",
        f"{len(some)} models. A draw scatters around zero, within the grey band. Sets "
        "of labels are left out: they always keep a label, so they never cover less "
        "than the likeliest label does.",
        [("realised", COVERED), ("99 % of calibration draws", BAND)],
        [drawn],
    )


def _above(one: dict[str, Any], name: str) -> list[tuple[float, float]]:
    """A column less what was promised, in percentage points."""
    both = zip(one["promised"], one[name], strict=True)
    return [(promised, 100 * (value - promised)) for promised, value in both]


def _curve(one: dict[str, Any]) -> Series:
    both = zip(one["promised"], one["coverage"], strict=True)
    tips = [f"{_name(one)}: promised {p:.1%}, realised {c:.1%}" for p, c in both]
    return Series(COVERED, _above(one, "coverage"), tips)


def _violations(facts: dict[str, Any]) -> Figure:
    """One panel with a row for each model, on it a mark for each guarantee."""
    rows = facts["rows"]
    across = linear("violation on test days", [0.0, *(row["high"] for row in rows)])
    names = list(dict.fromkeys(map(_name, rows)))
    series = [
        Series(ASKED, [(facts["alpha"], 0.5), (facts["alpha"], 0.5 - len(names))])
    ]
    for row in rows:
        series += _interval(row, APART[row["guarantee"]] - names.index(_name(row)))
    return Figure(
        "Violations on new days, with exact 95 % intervals",
        "At most the line was promised. Above each other: on average (Marginal), and "
        "for this very sample with high confidence (PAC).",
        [
            ("promised", ASKED),
            ("Marginal", COVERED),
            ("PAC", CALM),
            ("refuted", REFUTED),
        ],
        [panel("Every model", across, listed("model", names), series)],
    )


def _interval(row: dict[str, Any], height: float) -> list[Series]:
    low, at, high = row["low"], row["violation"], row["high"]
    agreed = COVERED if row["guarantee"] == "Marginal" else CALM
    tone = REFUTED if row["verdict"] == "refuted" else agreed
    tip = f"{_name(row)}, {row['guarantee']}: {at:.1%} [{low:.1%}, {high:.1%}]"
    return [
        Series(tone, [(low, height), (high, height)]),
        Series(tone, [(at, height)], [f"{tip} ({row['verdict']})"]),
    ]


def _name(one: dict[str, Any]) -> str:
    return f"{one['model']}, {one['loss']}"
