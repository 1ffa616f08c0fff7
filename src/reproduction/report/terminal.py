"""A table on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from .table import Table

RED, PLAIN = "\x1b[31m", "\x1b[0m"


def lines(table: Table, heads: Mapping[str, str]) -> list[str]:
    """Some columns of a table, under short headings; rows that fared badly in red.

    Parameters
    ----------
    table : the same that the pages show
    heads : from a column of the table to its heading here

    Examples
    --------
    >>> from reproduction.report import named
    >>> rows = [named("MSE", "2"), named("MSEV", "10")]
    >>> table = Table("Radii", "", ("method", "radius"), rows, ["", ""])
    >>> for line in lines(table, {"method": "", "radius": "r"}):
    ...     print(line)
          r
    --------
    MSE   2
    MSEV  10
    """
    at = [list(table.columns).index(column) for column in heads]
    rows = [list(heads.values())]
    rows += [[row[column].text for column in at] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head, *body = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    body = [
        f"{RED}{line}{PLAIN}" if fared == "bad" else line
        for line, fared in zip(body, table.fared, strict=True)
    ]
    return [head, "-" * (sum(widths) + 2 * len(widths) - 2), *body]
