"""A page as plain data: sections of text, tables and figures, in reading order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .table import Table


@dataclass(frozen=True)
class Figure:
    """Panels with one legend.

    Attributes
    ----------
    legend : names, and their colours by the names of `TONES`
    panels : what is seen
    others : panels that are folded away, by their title
    """

    title: str
    caption: str
    legend: Sequence[tuple[str, str]]
    panels: Sequence[str]
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes
    ----------
    lead : the answer in a sentence
    paragraphs : what comes first otherwise
    tables, figures : what comes next
    alarms : sentences in red
    terms : words of the page, and what they mean
    boxed : whether it is the minute's worth, set apart from the rest
    folded : whether only its title is seen until it is opened
    """

    title: str
    lead: str = ""
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    alarms: Sequence[str] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
    boxed: bool = False
    folded: bool = False

    @property
    def anchor(self) -> str:
        """What links to the section.

        Examples
        --------
        >>> Section("Shortest path").anchor
        'shortest-path'
        """
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class Page:
    """A title, an introduction, sections, and a note at the foot."""

    title: str
    introduction: str
    sections: Sequence[Section]
    note: str
