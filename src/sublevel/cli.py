"""The `sublevel` command. What it does is in the package `reproduction`."""

from __future__ import annotations

import sys

from . import __version__

#: What may be missing, and what to say then.
MISSING = {
    "reproduction": (
        "The sublevel command needs the package reproduction, which comes with "
        "sublevel and is not here. Install both with "
        "`pip install --force-reinstall 'sublevel[report,torch]'`."
    ),
    "typer": (
        "The sublevel command needs typer, which is not installed. Install it with "
        "`pip install 'sublevel[report,torch]'`."
    ),
}


def app() -> None:
    """Run the command, or say in a sentence what to install for it."""
    try:
        from reproduction.commands import app as command
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in MISSING:
            raise
        if sys.argv[1:] == ["--version"]:  # needs nothing
            sys.stdout.write(f"sublevel {__version__}\n")
            return
        sys.exit(MISSING[package])
    command(prog_name="sublevel")
