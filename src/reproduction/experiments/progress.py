"""Progress on a terminal: cells done, time left, failures."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from .runner import Listener, Outcome
from .settings import Cell


class Progress:
    """What is done and how long the rest will take.

    Cells of a problem that has been run take as long as those did, for what they weigh;
    of others, as all that were run.

    Parameters
    ----------
    cells : the work
    jobs : how many are run at once; None if that is to be seen from the times

    Examples
    --------
    >>> from reproduction.experiments.settings import EXTENTS, cells_of
    >>> shown = Progress(list(cells_of(("newsvendor",), EXTENTS["quick"])))
    >>> shown.add(Outcome(0, 0.0))
    >>> shown.line()
    'newsvendor-n-2000-noise-0: 1 of 5 cells, 0 failed'
    """

    def __init__(self, cells: Sequence[Cell], jobs: int | None = None) -> None:
        self.cells, self.jobs, self.start = cells, jobs, perf_counter()
        self.done = self.failed = 0
        # Of each problem: what is left to run, what was run, and how long that took.
        self.left: Counter[str] = Counter()
        self.run: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        for cell in cells:
            self.left[cell.setting.problem] += _weight(cell)
        self.last = ""

    def add(self, outcome: Outcome) -> None:
        """Take note of a cell that is finished, or was found finished."""
        cell = self.cells[outcome.number]
        problem = cell.setting.problem
        self.done += 1
        self.failed += outcome.failure is not None
        self.left[problem] -= _weight(cell)
        if outcome.seconds:
            self.run[problem] += _weight(cell)
            self.seconds[problem] += outcome.seconds
        self.last = cell.setting.name

    @property
    def minutes_left(self) -> float | None:
        """None until a cell was run."""
        if not self.run:
            return None
        total = sum(self.seconds.values())
        rest = sum(
            weight * self.seconds[problem] / self.run[problem]
            if problem in self.run
            else weight * total / self.run.total()
            for problem, weight in self.left.items()
        )
        at_once = self.jobs or max(total / (perf_counter() - self.start), 1.0)
        return rest / max(min(at_once, len(self.cells) - self.done), 1) / 60

    def line(self) -> str:
        """All of it in a line."""
        rest, minutes = "", self.minutes_left
        if minutes is not None:
            rest = (
                f", about {minutes:.0f} min left" if minutes >= 1 else ", < 1 min left"
            )
        count = f"{self.done} of {len(self.cells)} cells"
        return f"{self.last}: {count}, {self.failed} failed{rest}"


def _weight(cell: Cell) -> int:
    """What a cell weighs, in thousandths, so that sums are exact."""
    return round(1000 * cell.setting.weight * len(cell.seeds))


@contextmanager
def progress(cells: Sequence[Cell], jobs: int | None = None) -> Iterator[Listener]:
    """A listener that keeps one line up to date, or writes a line a cell to a file."""
    shown, live = Progress(cells, jobs), sys.stderr.isatty()

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
