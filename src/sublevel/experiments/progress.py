"""Progress on a terminal: cells done, time left, failures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from .runner import Listener, Outcome
from .settings import Cell


@contextmanager
def progress(cells: Sequence[Cell]) -> Iterator[Listener]:
    """A listener that shows a bar with rich, lines of text without it."""
    try:
        from rich.console import Console
    except ImportError:
        yield _Lines(cells)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(cells)
        return
    with _bar(console) as bar:
        task = bar.add_task("cells", total=len(cells), failed=0)
        failed = 0

        def tell(outcome: Outcome) -> None:
            nonlocal failed
            failed += outcome.failure is not None
            what = cells[outcome.number].setting.name
            bar.update(task, advance=1, failed=failed, description=what)

        yield tell


def _bar(console: Any) -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failed]} failed"),
        console=console,
    )


class _Lines:
    """One line a cell, for files and pipes."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells, self.start = cells, perf_counter()
        self.done = self.kept = self.failed = 0

    def __call__(self, outcome: Outcome) -> None:
        self.done += 1
        self.kept += outcome.seconds == 0.0
        self.failed += outcome.failure is not None
        fresh, left = self.done - self.kept, len(self.cells) - self.done
        each = (perf_counter() - self.start) / max(fresh, 1)
        rest = f"about {each * left / 60:.1f} min left" if fresh else "kept"
        name = self.cells[outcome.number].name
        sys.stderr.write(
            f"[{self.done}/{len(self.cells)}] {name}: {rest}, {self.failed} failed\n"
        )
