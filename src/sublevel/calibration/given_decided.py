"""Levels at which the decisions that are taken keep their word.

At a level, k violations are seen among the n decisions that are taken there. If they
violated with probability above alpha, so few would be seen with probability at most

    P(Bin(n, alpha) <= k),

given how many are taken. Levels are tested from the top down, as long as tests pass. At
the very top hardly any decision may be taken, and the first test would fail; so there
are several starts, fixed in advance, that share the confidence deficit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil

import numpy as np

from ..guarantees import PAC
from .envelope import pass_in_sequence

#: Sequences of tests.
STARTS = 16
#: Share of the calibration points that choose the grid where none is given.
SCOUTS = 0.1


def count_scouts(size: int) -> int:
    """How many points choose the grid, and are not counted, where none is given."""
    return ceil(SCOUTS * size)


def share_of_start(promise: PAC, starts: int = STARTS) -> PAC:
    """What each sequence of tests is held to."""
    return replace(promise, delta=promise.delta / starts)


def lowest_level(
    grid: list[float],
    count: Callable[[float], tuple[int, int]],
    alpha: float,
    promise: PAC,
) -> float:
    """The lowest level reached from any of the starts; inf if all fail at once.

    Parameters
    ----------
    grid : levels from the top down, chosen without the points that are counted
    count : violations among the decisions taken at a level, and their number
    alpha : violation level
    promise : with its confidence deficit

    Examples
    --------
    >>> seen = {3.0: (0, 4), 2.0: (0, 90), 1.0: (9, 100)}
    >>> lowest_level([3.0, 2.0, 1.0], lambda level: seen[level], 0.1, PAC(0.05))
    2.0
    """
    starts = np.unique(np.linspace(0, len(grid) - 1, STARTS).astype(int)).tolist()
    share = share_of_start(promise, len(starts))
    counts: dict[float, tuple[int, int]] = {}

    def passes(level: float) -> bool:
        if level not in counts:
            counts[level] = count(level)
        broken, taken = counts[level]
        rank = share.rank(taken, alpha)
        return rank is not None and broken <= taken - rank

    return min(pass_in_sequence(grid[start:], passes) for start in starts)
