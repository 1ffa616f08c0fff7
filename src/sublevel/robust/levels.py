"""Grids of levels that owe nothing to calibration data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter

#: Ratio of neighbouring levels where none are given.
RATIO = 1.05
#: Step of neighbouring levels of a loss that may be negative.
STEP = 0.1
#: How far below the typical loss the search for a level goes.
DEPTH = 1e-4


@dataclass(frozen=True)
class Geometric:
    """All powers of the ratio: fixed before any data are seen, in any units."""

    ratio: float = RATIO

    def downwards(self, scores: Array) -> Iterator[float]:
        """From the first level that covers all scores to far below the middle one.

        Both ends only leave out levels: at the top none can violate, at the bottom a
        higher level than necessary is returned.
        """
        top, middle = float(np.max(scores)), float(np.median(scores))
        if top <= 0:
            yield 0.0
            return
        at = ceil(log(top) / log(self.ratio))
        while True:
            level = self.ratio**at
            yield level
            if level <= DEPTH * max(middle, 1e-300):
                return
            at -= 1


@dataclass(frozen=True)
class Arithmetic:
    """All multiples of the step."""

    step: float = STEP

    def downwards(self, scores: Array) -> Iterator[float]:
        """From the first level that covers all scores to below the least one."""
        at = ceil(float(np.max(scores)) / self.step)
        least = float(np.min(scores))
        while True:
            yield at * self.step
            if at * self.step < least:
                return
            at -= 1


@dataclass(frozen=True)
class Given:
    """Levels the user chose."""

    levels: tuple[float, ...]

    def downwards(self, scores: Array) -> Iterator[float]:
        """From the largest to the least."""
        del scores
        return iter(sorted(self.levels, reverse=True))


Levels = Geometric | Arithmetic | Given


def as_levels(grid: Any, positive: bool) -> Levels:
    """The grid asked for; by default one that needs no data."""
    if grid is None:
        return Geometric() if positive else Arithmetic()
    found = np.asarray(grid, dtype=float)
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise InvalidParameter(
            "Policy.calibrate(grid=...) must be a non-empty list of finite budgets, "
            f"got {grid!r}."
        )
    return Given(tuple(np.unique(found).tolist()))
