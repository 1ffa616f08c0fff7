"""The command line: `sublevel demo` and `sublevel reproduce`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from .errors import MissingExtra, SublevelError

try:
    import typer
except ImportError as error:
    raise MissingExtra(
        "The sublevel command needs typer, rich, jinja2 and matplotlib, which are not "
        "installed. Install them with `pip install 'sublevel[report]'`."
    ) from error

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Calibrated uncertainty sets from any model and its loss."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for report.html, report.md and report.json.")
    ] = Path("build/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the made-up data.")] = 0,
    problem: Annotated[
        str | None,
        typer.Option(
            help="newsvendor, portfolio or shortest-path: one of the paper's problems, "
            "from a fresh model to audited decisions."
        ),
    ] = None,
) -> None:
    """Calibrate several models; show what was promised and what happened."""
    from . import demo as demonstration

    start = time.perf_counter()
    with _said_in_one_sentence(out):
        if problem is None:
            facts = demonstration.collect(seed)
            demonstration.show(facts)
            paths = demonstration.write(facts, out)
        else:
            paths = demonstration.show_problem(problem, seed, out, typer.echo)
    _finished(paths, start)


@app.command()
def reproduce(
    problem: Annotated[
        str, typer.Argument(help="newsvendor, portfolio, shortest-path or all.")
    ],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="20 seeds a setting, or 3.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Worker processes; 0 for all cores.")] = 0,
    out: Annotated[
        Path, typer.Option(help="Folder for the report and for finished cells.")
    ] = Path("build/reproduce"),
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.")
    ] = None,
) -> None:
    """Run the paper's experiments; show its numbers beside ours."""
    from . import experiments, report
    from .experiments.progress import progress

    start = time.perf_counter()
    with _said_in_one_sentence(out):
        extent = experiments.EXTENTS["full" if full else "quick"]
        cells = list(experiments.cells_of(experiments.problems_of(problem), extent))
        folder = experiments.open_folder(out, extent)
        with progress(cells) as tell:
            failures = experiments.run_all(
                cells, folder, jobs or os.cpu_count() or 1, scheduler, tell
            )
        experiments.require_all(failures)
        facts = experiments.collect(cells, folder, extent)
        paths = report.write(facts, out)
    for one in facts["problems"]:
        typer.echo(f"{one['title']}: {' '.join(one['summary'])}")
    _finished(paths, start)


@contextmanager
def _said_in_one_sentence(out: Path) -> Iterator[None]:
    """Errors of the library and interruptions as one sentence, not a traceback."""
    try:
        yield
    except SublevelError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        typer.echo(
            f"Interrupted. What is finished is kept in {out}; the same command goes on "
            "from there.",
            err=True,
        )
        raise typer.Exit(130) from error


def _finished(paths: list[Path], start: float) -> None:
    seconds = time.perf_counter() - start
    typer.echo(f"\nWrote {', '.join(map(str, paths))} in {seconds:.0f} s.")
