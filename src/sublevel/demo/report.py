"""The facts as files: JSON, Markdown, and one self-contained HTML page."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import MissingExtra
from .console import COLUMNS, cells


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
    return "\n\n".join([title, facts["summary"], "\n".join(lines)]) + "\n"


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
        figure=_figure(facts),
    )


def _figure(facts: dict[str, Any]) -> str:
    """Three panels as inline SVG: two days' sets, coverage, violation by row."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "sublevel", "font.size": 8}):
        figure = Figure(figsize=(11, 3.6), layout="constrained")
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
        ("LinearRegression", "squared"): "C0",
        ("Mean and spread", "gaussian"): "C1",
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
    ax.legend(fontsize=6)


def _draw_curves(ax: Any, facts: dict[str, Any]) -> None:
    ax.axline((1, 1), slope=1, color="0.7", linewidth=1)
    for curve in facts["curves"]:
        ax.plot(curve["promised"], curve["coverage"], ".-", linewidth=0.7)
    ax.set(xlabel="promised coverage", ylabel="realised coverage")
    ax.set_title("All models, marginal promise")


def _draw_violations(ax: Any, facts: dict[str, Any]) -> None:
    for k, row in enumerate(reversed(facts["rows"])):
        color = "C0" if row["guarantee"] == "Marginal" else "C2"
        ax.plot([row["low"], row["high"]], [k, k], color=color)
        ax.plot(row["violation"], k, "o", color=color, markersize=3)
    names = [f"{r['model']}, {r['loss']}, {r['guarantee']}" for r in facts["rows"]]
    ax.set_yticks(range(len(names)), names[::-1], fontsize=5)
    ax.axvline(facts["alpha"], color="0.5", linewidth=1)
    ax.set(xlabel="violation on test days", title="Promise (line), what happened")
