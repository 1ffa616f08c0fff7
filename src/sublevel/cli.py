"""The command line: `sublevel demo`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from .errors import MissingExtra

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
) -> None:
    """Calibrate several models; show what was promised and what happened."""
    from . import demo as demonstration

    start = time.perf_counter()
    facts = demonstration.collect(seed)
    demonstration.show(facts)
    paths = demonstration.write(facts, out)
    seconds = time.perf_counter() - start
    typer.echo(f"\nWrote {', '.join(map(str, paths))} in {seconds:.0f} s.")
