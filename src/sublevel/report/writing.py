"""Facts to files: report.html, report.md, report.json and one CSV a kind of row."""

from __future__ import annotations

import csv
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import MissingExtra
from ..experiments.store import write_whole
from .figures import figures
from .overview import broken, lead, overview
from .table import Table
from .tables import tables

#: Kinds of rows, each a CSV file.
KINDS = ("cells", "promises", "headroom", "orderings", "flows")
NOTHING_BROKEN = "No method broke its claim."


def write(facts: dict[str, Any], folder: Path) -> list[Path]:
    """Write every page; the same facts in each.

    Parameters
    ----------
    facts : as `sublevel.experiments.collect` gives them
    folder : made if it is not there

    Returns
    -------
    list of the files written, the HTML page first
    """
    texts = {
        "report.html": _html(facts),
        "report.md": _markdown(facts),
        "report.json": json.dumps(facts, indent=1, allow_nan=False) + "\n",
    }
    for kind in KINDS:
        rows = [row for problem in facts["problems"] for row in _rows(problem, kind)]
        if rows:
            texts[f"{kind}.csv"] = _csv(rows)
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


def _rows(problem: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [{"problem": problem["problem"], **row} for row in problem[kind]]


def _csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _html(facts: dict[str, Any]) -> str:
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise MissingExtra(
            "The report needs jinja2, which is not installed. Install it with "
            "`pip install 'sublevel[report]'`. Finished cells are kept."
        ) from error
    source = files("sublevel.report").joinpath("report.html.j2").read_text("utf-8")
    template = Environment(autoescape=True, trim_blocks=True).from_string(source)
    parts = [(p, tables(p), figures(p)) for p in facts["problems"]]
    return template.render(
        facts=facts,
        parts=parts,
        lead=lead(facts),
        overview=overview(facts),
        broken=broken(facts),
    )


def _markdown(facts: dict[str, Any]) -> str:
    extent = facts["extent"]
    lines = [
        "# The paper's experiments, published and ours",
        f"{facts['source']}. {extent['seeds']} seeds a setting ({extent['name']}), "
        f"root seed {extent['root']}.",
        "## In a minute",
        lead(facts),
        *(_markdown_table(table) for table in overview(facts)),
        "\n".join(f"- **{line}**" for line in broken(facts)) or NOTHING_BROKEN,
    ]
    for problem in facts["problems"]:
        lines += [f"## {problem['title']}", " ".join(problem["summary"])]
        lines += [_markdown_table(table) for table in tables(problem)]
    lines += ["## What each promise assumes", _assumptions(facts)]
    meanings = facts["meanings"].items()
    lines += [
        "## Verdicts",
        "\n".join(f"- *{word}*: {text}" for word, text in meanings),
    ]
    said = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return "\n\n".join([*lines, f"Versions: {said}."]) + "\n"


def _markdown_table(table: Table) -> str:
    rows = [list(table.columns), ["---"] * len(table.columns)]
    rows += [[entry.text.replace("|", "\\|") for entry in row] for row in table.rows]
    body = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"### {table.title}\n\n{body}\n\n{table.note}"


def _assumptions(facts: dict[str, Any]) -> str:
    return "\n".join(
        f"- **{name}** ({said['promise']}): {said['assumes']}"
        for name, said in facts["assumptions"].items()
    )
