"""The paper's experiments as data, a runner that can be killed, and its tables.

`EXPERIMENTS` says what is run, `run_all` runs it, `collect` gathers every fact that a
report prints.
"""

from .collecting import collect
from .needed import require_packages
from .runner import open_folder, require_all, run_all
from .settings import ALPHAS, EXPERIMENTS, EXTENTS, Cell, cells_of, problems_of

__all__ = [
    "ALPHAS",
    "EXPERIMENTS",
    "EXTENTS",
    "Cell",
    "cells_of",
    "collect",
    "open_folder",
    "problems_of",
    "require_all",
    "require_packages",
    "run_all",
]
