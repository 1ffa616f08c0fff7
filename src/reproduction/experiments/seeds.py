"""Random numbers that depend on the cell, the seed and the purpose, on nothing else."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from .settings import Cell


def generator(cell: Cell, seed: int, purpose: int) -> np.random.Generator:
    """A generator that no other cell, seed or purpose has.

    Examples
    --------
    >>> from reproduction.experiments.settings import EXPERIMENTS, EXTENTS, Cell
    >>> cell = Cell(EXPERIMENTS["portfolio"].settings[0], (0, 1), EXTENTS["quick"])
    >>> first, again = (generator(cell, 0, 0).integers(100) for _ in range(2))
    >>> bool(first == again)
    True
    """
    name = crc32(cell.setting.name.encode())
    return np.random.default_rng([cell.extent.root, name, seed, purpose])
