"""The report in a few lines, for a terminal."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from .overview import broken, lead, overview
from .table import Table

WIDTH = 80


def digest(facts: dict[str, Any]) -> list[str]:
    """Which method to use, what was reproduced, what was broken."""
    methods, reproduced = overview(facts)
    said = [
        "",
        fill(lead(facts), WIDTH),
        "",
        "How often the cost was above the certified one, by the level asked:",
        *_lines(methods, {0: "", 2: "promise", 3: "10%", 4: "5%", 5: "1%", 6: "claim"}),
        "",
        "Published numbers:",
        *_lines(reproduced, dict(enumerate(["", "numbers", *reproduced.columns[2:6]]))),
    ]
    found = broken(facts)
    return said + ([""] if found else []) + [fill(line, WIDTH) for line in found]


def _lines(table: Table, heads: dict[int, str]) -> list[str]:
    """Some columns of a table, by number and heading, set out for reading."""
    rows = [list(heads.values())]
    rows += [[row[column].text for column in heads] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
