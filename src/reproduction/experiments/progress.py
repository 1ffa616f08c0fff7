"""Progress on a terminal: cells done, time left, failures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from .runner import Listener, Outcome
from .settings import Cell


class Progress:
    """What is done and how long the rest will take, from what cells weigh.

    Examples
    --------
    >>> from reproduction.experiments.settings import EXTENTS, cells_of
    >>> shown = Progress(list(cells_of(("newsvendor",), EXTENTS["quick"])))
    >>> shown.add(Outcome(0, 0.0))
    >>> shown.line()
    'newsvendor-n-2000-noise-0: 1 of 5 cells, 0 failed'
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells, self.start = cells, perf_counter()
        self.done = self.failed = 0
        self.run = 0.0
        self.left = sum(cell.setting.weight * len(cell.seeds) for cell in cells)
        self.last = ""

    def add(self, outcome: Outcome) -> None:
        """Take note of a cell that is finished, or was found finished."""
        cell = self.cells[outcome.number]
        weight = cell.setting.weight * len(cell.seeds)
        self.done += 1
        self.failed += outcome.failure is not None
        self.left -= weight
        self.run += weight if outcome.seconds else 0.0
        self.last = cell.setting.name

    @property
    def minutes_left(self) -> float | None:
        """None until a cell was run."""
        if not self.run:
            return None
        return (perf_counter() - self.start) / self.run * self.left / 60

    def line(self) -> str:
        """All of it in a line."""
        rest, minutes = "", self.minutes_left
        if minutes is not None:
            rest = (
                f", about {minutes:.0f} min left" if minutes >= 1 else ", < 1 min left"
            )
        count = f"{self.done} of {len(self.cells)} cells"
        return f"{self.last}: {count}, {self.failed} failed{rest}"


@contextmanager
def progress(cells: Sequence[Cell]) -> Iterator[Listener]:
    """A listener that keeps one line up to date, or writes a line a cell to a file."""
    shown, live = Progress(cells), sys.stderr.isatty()

    def tell(outcome: Outcome) -> None:
        shown.add(outcome)
        # Back to the start of the line, and clear what was there.
        sys.stderr.write(f"\r\x1b[K{shown.line()}" if live else f"{shown.line()}\n")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        if live:
            sys.stderr.write("\n")
