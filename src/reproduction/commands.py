"""What the `sublevel` command does: `demo`, `reproduce` and `bench`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Annotated

import typer

import sublevel
from sublevel.errors import InvalidParameter, SublevelError

from .files import try_folder

app = typer.Typer(add_completion=False, no_args_is_help=True)
#: What measures, in the project's own folder: it is not installed.
BENCH = Path(__file__).parents[2] / "bench" / "run.py"
#: What a shell gets: the work failed; the words of the command were wrong, as typer has
#: it too; Ctrl-C.
FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sublevel {sublevel.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show it and exit."
        ),
    ] = False,
) -> None:
    """Calibrated uncertainty sets from any model and its loss."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path(
        "build/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the made-up data.")] = 0,
    problem: Annotated[
        str | None,
        typer.Option(help="One of newsvendor, portfolio, shortest-path."),
    ] = None,
) -> None:
    """Calibrate models; show what was promised, decided, and what happened."""
    from . import demo as demonstration

    start = time.perf_counter()
    with _one_sentence("Interrupted."):
        try_folder(out)
        paths = []
        if problem is None:
            paths = demonstration.show_sets(seed, out, typer.echo)
            typer.echo("\nFrom sets to decisions, on one problem of the paper.\n")
        problem, folder = problem or "portfolio", out / (problem or "portfolio")
        paths += demonstration.show_problem(problem, seed, folder, typer.echo)
    _wrote(paths, start)


@app.command()
def reproduce(
    problem: Annotated[
        str, typer.Argument(help="newsvendor, portfolio, shortest-path or all.")
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick/--full", help="3 seeds in minutes, or 20 in an hour."),
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    out: Annotated[
        Path, typer.Option(help="Folder for the report and the finished cells.")
    ] = Path("build/reproduce"),
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to use instead.")
    ] = None,
) -> None:
    """Run the paper's experiments again; show published numbers beside ours."""
    from . import experiments, paper
    from .experiments.progress import progress

    start = time.perf_counter()
    resumed = "What is finished is kept: the same command goes on from there."
    with _one_sentence(f"Interrupted. {resumed}"):
        extent = experiments.EXTENTS["quick" if quick else "full"]
        problems = experiments.problems_of(problem)
        experiments.require_packages(problems)
        cells = list(experiments.cells_of(problems, extent))
        folder = experiments.open_folder(out, extent)
        with progress(cells) as tell:
            failures = experiments.run_all(cells, folder, jobs, scheduler, tell)
        experiments.require_all(failures)
        facts = experiments.collect(cells, folder, extent)
        paths = paper.write(facts, out)
    for line in paper.digest(facts):
        typer.echo(line)
    _wrote(paths, start)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option(help="Few contexts: minutes.")] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for results.json and costs.svg.")
    ] = Path("build/bench"),
    compare: Annotated[
        Path | None, typer.Option(help="results.json of an earlier run.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Families of problems, as P1,storage.")
    ] = None,
) -> None:
    """Measure policies next to raw Clarabel, CVXPY and others, on this machine."""
    if not BENCH.exists():
        typer.echo(
            "sublevel bench must be run where the project's folder bench/ is, and that "
            "is not installed with the package. Clone the repository and say "
            "`make bench`.",
            err=True,
        )
        raise typer.Exit(FAILED)
    given = ["--out", str(out), *(["--quick"] if quick else [])]
    given += [] if compare is None else ["--compare", str(compare)]
    given += [] if only is None else ["--only", only]
    with _one_sentence("Interrupted."):
        try_folder(out)
        code = run_path(str(BENCH))["main"](given)
    raise typer.Exit(code)


@contextmanager
def _one_sentence(interrupted: str) -> Iterator[None]:
    """Say what went wrong and the way out, without a traceback."""
    try:
        yield
    except InvalidParameter as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(MISUSED) from error
    except SublevelError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(FAILED) from error
    except OSError as error:
        typer.echo(f"{error}. Give another folder with --out.", err=True)
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt as error:
        typer.echo(interrupted, err=True)
        raise typer.Exit(INTERRUPTED) from error


def _wrote(paths: list[Path], start: float) -> None:
    seconds = time.perf_counter() - start
    typer.echo(f"\nWrote {', '.join(map(str, paths))} in {seconds:.0f} s.")
