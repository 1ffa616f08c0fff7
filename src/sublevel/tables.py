"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def number_in_short(value: object) -> str:
    """A number to four digits; anything else, a budget by group say, as it is.

    Examples
    --------
    >>> number_in_short(2.526950195), number_in_short({"a": 1.0})
    ('2.527', "{'a': 1.0}")
    """
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def html_table(title: str, rows: Iterable[Sequence[str]]) -> str:
    """A title and rows of a name and what it is.

    Examples
    --------
    >>> html_table("Box", [("dim", "2")])
    '<table><caption>Box</caption><tr><th>dim</th><td>2</td></tr></table>'
    """
    lines = [f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in rows]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"
