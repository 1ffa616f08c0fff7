"""`python -m sublevel` is the `sublevel` command."""

from .cli import app

app()
