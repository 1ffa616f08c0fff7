"""Progress on a terminal: cells done, time left, failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tqdm import tqdm

from .runner import Listener, Outcome
from .settings import Cell

#: The share of the work that is done, cells, and time by what cells take.
FORMAT = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}, {remaining} left]"


class Progress:
    """What is done and how long the rest will take.

    Cells of a problem that has been run take as long as those did, for what they weigh;
    those of others as all that were run. What was there already says nothing about the
    pace.

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
        # By problem: what the cells weigh that are left and those that were run, and
        # the seconds these took.
        self._left: defaultdict[str, float] = defaultdict(float)
        self._weighed: defaultdict[str, float] = defaultdict(float)
        self._took: defaultdict[str, float] = defaultdict(float)
        for cell in cells:
            self._left[cell.setting.problem] += _weight(cell)
        self.last = ""

    def add(self, outcome: Outcome) -> None:
        """Take note of a cell that is finished, or was found finished."""
        cell = self.cells[outcome.number]
        problem = cell.setting.problem
        self.done += 1
        self.failed += outcome.failure is not None
        self._left[problem] -= _weight(cell)
        if outcome.seconds:
            self._weighed[problem] += _weight(cell)
            self._took[problem] += outcome.seconds
        self.last = cell.setting.name

    @property
    def run(self) -> float:
        """Seconds that the cells took that were run, one after another."""
        return sum(self._took.values())

    @property
    def total(self) -> float:
        """These, and the seconds that the rest will take; weights until one was run."""
        if not self._weighed:
            return sum(self._left.values())
        of_all = self.run / sum(self._weighed.values())
        pace = {each: self._took[each] / self._weighed[each] for each in self._weighed}
        rest = (
            weight * pace.get(problem, of_all) for problem, weight in self._left.items()
        )
        return self.run + sum(rest)

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
