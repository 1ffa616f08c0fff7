"""Progress on a terminal: cells done, time left, failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tqdm import tqdm

from .runner import Listener, Outcome
from .settings import Cell

#: The share of the work that is done, cells, and time by what cells weigh.
FORMAT = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}, {remaining} left]"


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
        self.cells = cells
        self.done = self.failed = 0
        self.run = 0.0
        self.total = sum(_weight(cell) for cell in cells)
        self.last = ""

    def add(self, outcome: Outcome) -> None:
        """Take note of a cell that is finished, or was found finished."""
        cell = self.cells[outcome.number]
        self.done += 1
        self.failed += outcome.failure is not None
        if outcome.seconds:
            self.run += _weight(cell)
        else:
            # What was there already says nothing about the pace.
            self.total -= _weight(cell)
        self.last = cell.setting.name

    def line(self) -> str:
        """All of it but the time, in a line."""
        count = f"{self.done} of {len(self.cells)} cells"
        return f"{self.last}: {count}, {self.failed} failed"


def _weight(cell: Cell) -> float:
    return float(cell.setting.weight * len(cell.seeds))


@contextmanager
def progress(cells: Sequence[Cell]) -> Iterator[Listener]:
    """A listener that keeps a bar up to date."""
    shown = Progress(cells)
    # Cells differ by two orders: the pace is that of all so far, not of the last ones.
    with tqdm(total=shown.total, bar_format=FORMAT, smoothing=0, mininterval=0) as bar:

        def tell(outcome: Outcome) -> None:
            shown.add(outcome)
            bar.total, bar.n = shown.total, shown.run
            bar.set_description_str(shown.line())

        yield tell
