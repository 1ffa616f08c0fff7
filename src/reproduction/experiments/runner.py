"""Run cells in parallel, keep what is finished, go on where a run was cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from sublevel.errors import CellsFailed, InvalidParameter, MissingExtra, SublevelError

from ..files import try_folder
from . import newsvendor, regression
from .settings import Cell, Extent
from .store import Store, checksum


@dataclass(frozen=True)
class Outcome:
    """What became of one cell: its number, and why it failed, if it did."""

    number: int
    seconds: float
    failure: str | None = None


#: Told after every cell.
Listener = Callable[[Outcome], None]


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    """The facts of a cell; on one thread, so that the sums round alike everywhere."""
    run = newsvendor.run if cell.setting.problem == "newsvendor" else regression.run
    with threadpool_limits(1):
        return run(cell)


def run_all(
    cells: Sequence[Cell],
    folder: Path,
    jobs: int = 2,
    scheduler: str | None = None,
    tell: Listener = lambda outcome: None,
) -> list[str]:
    """Run the cells that are not finished; return what failed, in words.

    Parameters
    ----------
    cells : the work
    folder : where finished cells are kept
    jobs : worker processes
    scheduler : str, optional
        Address of a Dask scheduler whose workers are used instead. Cells are kept by
        this process, so workers need no common disk.
    tell : called after every cell, those that were there already included
    """
    store, failures = Store(folder), []
    open_cells = []
    for number, cell in enumerate(cells):
        if store.load(cell) is None:
            open_cells.append((number, cell))
        else:
            tell(Outcome(number, 0.0))
    with _backend(scheduler):
        workers = Parallel(
            n_jobs=None if scheduler else jobs, return_as="generator_unordered"
        )
        tasks = (delayed(_attempt)(number, cell) for number, cell in open_cells)
        for outcome, facts in workers(tasks):
            if outcome.failure is None:
                store.save(cells[outcome.number], facts)
            else:
                failures.append(f"{cells[outcome.number].name}: {outcome.failure}")
            tell(outcome)
    return failures


def _attempt(number: int, cell: Cell) -> tuple[Outcome, Any]:
    """A cell's facts, or why there are none: one failure is one cell's."""
    start = perf_counter()
    try:
        facts = run_cell(cell)
        checksum(facts)  # a number that is none is this cell's failure, too
    except MissingExtra:
        raise
    except Exception as error:
        kind = "" if isinstance(error, SublevelError) else f"{type(error).__name__}: "
        return Outcome(number, perf_counter() - start, f"{kind}{error}"), None
    return Outcome(number, perf_counter() - start), facts


@contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    """Where the workers are: on this machine, or with a Dask scheduler."""
    if scheduler is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtra(
            "A Dask scheduler needs dask and distributed, which are not installed. "
            "Install them with `pip install 'sublevel[dask]'`."
        ) from error
    try:
        client = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            f"reproduce(scheduler=...) must be the address of a running Dask "
            f"scheduler, got {scheduler!r}: {error}. Start one with `dask scheduler`."
        ) from error
    with client, parallel_config("dask"):
        yield


def open_folder(out: Path, extent: Extent) -> Path:
    """The folder of finished cells; made and tried out before hours of work."""
    folder = out / f"cells-{extent.name}"
    try_folder(folder)
    return folder


def require_all(failures: Sequence[str]) -> None:
    """Raise if cells failed, naming them."""
    if failures:
        raise CellsFailed(
            f"{len(failures)} cells failed: {'; '.join(failures)}. The others are "
            "kept; the same command tries these again."
        )
