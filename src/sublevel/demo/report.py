"""The facts as files: JSON, Markdown, and one self-contained HTML page."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import MissingExtra

COLUMNS = (
    "model",
    "loss",
    "guarantee",
    "promised",
    "realised [95 %]",
    "promoted",
    "budget",
    "radius",
    "size",
    "verdict",
)
COLUMN_NOTE = (
    "Realised violation has an exact 95 % interval for the test draw; promoted is the "
    "violation on days of strong promotion. Size: half-width in standard deviations of "
    "the outcome, and the number of labels possible."
)
#: Contenders whose coverage is drawn. Sets of labels are left out: they always keep a
#: label, so their curve is flat where the likeliest label alone covers enough.
CURVES = (
    ("Linear", "squared"),
    ("Random forest", "huber"),
    ("Mean + spread", "gaussian"),
    ("Forest + logit", "combined"),
)


def cells(row: dict[str, Any]) -> list[str]:
    """One row of the table, as text."""
    radius = "" if row["radius"] is None else f"{row['radius']:.3g}"
    return [
        row["model"],
        row["loss"],
        row["guarantee"],
        f"<= {row['promised']:.3g}",
        f"{row['violation']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
        f"{row['promotion_days']:.3f}",
        f"{row['budget']:.4g}",
        radius,
        _size(row),
        row["verdict"],
    ]


def _size(row: dict[str, Any]) -> str:
    """Half-width in standard deviations of the outcome, labels as a count."""
    parts = []
    if row["half_width"] is not None:
        parts.append(f"{row['half_width']:.2f} sd")
    if row["labels"] is not None:
        parts.append(f"{row['labels']:.2f} of {row['label_count']} labels")
    return ", ".join(parts)


def write(facts: dict[str, Any], folder: Path) -> list[Path]:
    """Write report.json, report.md and report.html; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "report.json": json.dumps(facts, indent=1, allow_nan=False) + "\n",
        "report.md": _markdown(facts),
        "report.html": _html(facts),
    }
    paths = []
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def _markdown(facts: dict[str, Any]) -> str:
    rule = ["---"] * len(COLUMNS)
    table = [list(COLUMNS), rule, *(cells(row) for row in facts["rows"])]
    lines = ["| " + " | ".join(row) + " |" for row in table]
    title = f"# Promised and realised violation, alpha = {facts['alpha']}"
    verdicts = "\n".join(f"- *{w}*: {text}" for w, text in facts["verdicts"].items())
    parts = [title, facts["summary"], "\n".join(lines), COLUMN_NOTE, verdicts]
    return "\n\n".join(parts) + "\n"


def _html(facts: dict[str, Any]) -> str:
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise MissingExtra(
            "The report needs jinja2 and matplotlib, which are not installed. Install "
            "them with `pip install 'sublevel[report]'`."
        ) from error
    source = files("sublevel.demo").joinpath("report.html.j2").read_text("utf-8")
    template = Environment(autoescape=True).from_string(source)
    return template.render(
        facts=facts,
        columns=COLUMNS,
        rows=[cells(row) for row in facts["rows"]],
        note=COLUMN_NOTE,
        figure=_figure(facts),
    )


def _figure(facts: dict[str, Any]) -> str:
    """Three panels as inline SVG: two days' sets, coverage, violation by row."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "sublevel", "font.size": 9}):
        figure = Figure(figsize=(12, 4.2), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        _draw_sets(left, facts)
        _draw_curves(middle, facts)
        _draw_violations(right, facts)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]


def _draw_sets(ax: Any, facts: dict[str, Any]) -> None:
    shown = {
        ("Linear", "squared"): "C0",
        ("Mean + spread", "gaussian"): "C1",
    }
    for outline in facts["outlines"]:
        color = shown.get((outline["model"], outline["loss"]))
        if color is None:
            continue
        style = "-" if outline["promotion"] > 0.5 else "--"
        closed = [outline[name] + outline[name][:1] for name in ("bread", "drinks")]
        label = f"{outline['loss']}, promotion {outline['promotion']:.1f}"
        ax.plot(*closed, style, color=color, label=label)
    ax.set(xlabel="bread", ylabel="drinks", title="A calm and a promotion day")
    ax.legend(loc="upper left", fontsize=8)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.35 * (high - low))  # room for the legend


def _draw_curves(ax: Any, facts: dict[str, Any]) -> None:
    curves = {(curve["model"], curve["loss"]): curve for curve in facts["curves"]}
    band = curves[CURVES[0]]
    ax.fill_between(
        band["promised"],
        band["band_low"],
        band["band_high"],
        color="0.9",
        linewidth=0,
        label="99 % of calibration draws",
    )
    ax.axline((1, 1), slope=1, color="0.7", linewidth=1)
    for name in CURVES:
        curve = curves[name]
        label = ", ".join(name)
        ax.plot(curve["promised"], curve["coverage"], ".-", linewidth=1, label=label)
    ax.set(xlabel="promised coverage", ylabel="realised coverage")
    ax.set_title("Marginal promise, one draw")
    ax.legend(loc="upper left", fontsize=8)


def _draw_violations(ax: Any, facts: dict[str, Any]) -> None:
    names = list(dict.fromkeys((row["model"], row["loss"]) for row in facts["rows"]))
    labels = set()
    for row in facts["rows"]:
        marginal = row["guarantee"] == "Marginal"
        color, shift = ("C0", -0.15) if marginal else ("C2", 0.15)
        height = names.index((row["model"], row["loss"])) + shift
        label = None if row["guarantee"] in labels else row["guarantee"]
        labels.add(row["guarantee"])
        ax.plot([row["low"], row["high"]], [height, height], color=color)
        ax.plot(row["violation"], height, "o", color=color, markersize=4, label=label)
    ax.set_yticks(range(len(names)), [", ".join(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.axvline(facts["alpha"], color="0.5", linewidth=1)
    ax.set(xlabel="violation on test days", title="At most the line was promised")
    ax.legend(fontsize=8)
