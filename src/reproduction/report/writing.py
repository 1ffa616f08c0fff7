"""A page and its facts as files: report.html, report.md, report.json, and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from sublevel.errors import MissingExtra

from ..files import write_whole
from .page import Page, Section
from .table import Table
from .tones import TONES

#: Rows of facts, the same columns in each.
Rows = list[dict[str, Any]]


def write(
    page: Page, facts: Any, folder: Path, rows: Mapping[str, Rows] | None = None
) -> list[Path]:
    """Write the page, and what it was made of.

    Parameters
    ----------
    page : what is read
    facts : plain data behind it
    folder : made if it is not there
    rows : by name of a CSV file; left out where there are none

    Returns
    -------
    list of the files written, the HTML page first
    """
    texts = {
        "report.html": _html(page),
        "report.md": _markdown(page),
        "report.json": json.dumps(facts, indent=1, allow_nan=False) + "\n",
    }
    texts |= {f"{name}.csv": _csv(some) for name, some in (rows or {}).items() if some}
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


def _csv(rows: Rows) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _html(page: Page) -> str:
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise MissingExtra(
            "The report needs jinja2, which is not installed. Install it with "
            "`pip install 'sublevel[report]'`. What is finished is kept."
        ) from error
    source = files(__package__).joinpath("page.html.j2").read_text("utf-8")
    template = Environment(autoescape=True, trim_blocks=True).from_string(source)
    return template.render(page=page, tones=TONES)


def _markdown(page: Page) -> str:
    parts = [f"# {page.title}", page.introduction]
    for section in page.sections:
        parts += _section(section)
    return "\n\n".join(part for part in [*parts, page.note] if part) + "\n"


def _section(section: Section) -> list[str]:
    return [
        f"## {section.title}",
        section.lead,
        *section.paragraphs,
        *(_table(table) for table in section.tables),
        "\n".join(f"- **{line}**" for line in section.alarms),
        "\n".join(f"- **{term}**: {text}" for term, text in section.terms.items()),
    ]


def _table(table: Table) -> str:
    rows = [list(table.columns), ["---"] * len(table.columns)]
    rows += [[entry.text.replace("|", "\\|") for entry in row] for row in table.rows]
    body = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"### {table.title}\n\n{body}\n\n{table.note}"
