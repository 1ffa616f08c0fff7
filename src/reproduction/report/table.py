"""A table as plain data: text for the reader, values to sort by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One entry of a table: what is read, what it is sorted by, if it is a verdict."""

    text: str
    value: Any
    judged: bool = False


@dataclass(frozen=True)
class Table:
    """A table, and how each row fared: "good", "bad", "partly", "open" or ""."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[list[Entry]]
    fared: list[str]
    folded: bool = False

    @property
    def short_names(self) -> bool:
        """Whether the first column is narrow enough to stay while others scroll."""
        return all(len(row[0].text) <= 30 for row in self.rows)


def named(*texts: str) -> list[Entry]:
    """Entries that are read and sorted as they are."""
    return [Entry(text, text) for text in texts]


def number(value: float | None) -> Entry:
    """A number to four digits; nothing for None.

    Examples
    --------
    >>> number(0.123456).text, number(0.000012).text, number(None).text
    ('0.1235', '1.2e-05', '')
    """
    return Entry("" if value is None else digits(value), value)


def rate(value: float) -> Entry:
    """A violation rate, to four places."""
    return Entry(f"{value:.4f}", value)


def count(value: int) -> Entry:
    """A whole number."""
    return Entry(str(value), value)


def digits(value: float) -> str:
    """Four digits, or a power of ten where these would all be zeros."""
    return f"{value:.4g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"
