"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, rows: Iterable[Sequence[str]]) -> str:
    """A title and rows of a name and what it is.

    Examples
    --------
    >>> html_table("Box", [("dim", "2")])
    '<table><caption>Box</caption><tr><th>dim</th><td>2</td></tr></table>'
    """
    lines = [f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in rows]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"
