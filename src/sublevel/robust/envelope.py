"""Decision-aware calibration: the smallest level at which decisions keep their word.

Each calibration point has an envelope score: the lowest level of the grid from which
on, all the way up, the decision taken does not violate. It is a fixed function of the
point, so its order statistics promise what those of any score do, and it never exceeds
the point's own loss (rounded up to the grid), as a decision robust over a set that
holds the outcome cannot violate. Nothing is assumed of how violations vary with the
level.

The level wanted is an order statistic of the envelope scores. Going down the grid, the
points that have violated at some level so far are those whose score lies above; once
they are more than allowed, the last level was the answer, and lower ones need no solve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..checks import Array

#: Asked for the violations at a level of some calibration points: bools, (len(rows),).
Violates = Callable[[float, Any], Any]


def envelope_level(
    scores: Array,
    levels: Iterable[float],
    violates: Violates,
    allowed: int,
    safe_inside: bool = True,
) -> float:
    """The order statistic of the envelope scores with `allowed` scores above it.

    Parameters
    ----------
    scores : array of shape (N,), loss of each outcome
    levels : grid, from the top down; chosen without looking at the scores, though it
        may end early
    violates : whether decisions at a level violate, for some of the points
    allowed : how many of the N points may lie above the level
    safe_inside : bool, default True
        A decision at a level at or above a point's loss cannot violate, and need not
        be computed. False where a fallback may.

    Returns
    -------
    float : inf where no level of the grid can be certified

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 3.0])
    >>> kept = np.array([0.5, 1.5, 0.5])  # decisions violate below these levels
    >>> violates = lambda level, rows: level < kept[rows]
    >>> envelope_level(scores, [4.0, 3.0, 2.0, 1.0, 0.4], violates, allowed=1)
    1.0
    """
    beyond: Any = None
    last = np.inf
    for level in levels:
        if beyond is None:
            beyond = scores > level
            if safe_inside and beyond.sum() > allowed:
                # Above the grid the envelope score is the loss itself.
                return float(np.sort(scores)[len(scores) - allowed - 1])
            beyond = beyond if safe_inside else np.zeros(len(scores), dtype=bool)
        open_ = ~beyond & (scores > level) if safe_inside else ~beyond
        rows = np.flatnonzero(open_)
        if rows.size:
            beyond[rows] = violates(level, rows)
        if beyond.sum() > allowed:
            return last
        last = float(level)
    return last


def pass_in_sequence(
    levels: Iterable[float],
    counts: Callable[[float], int],
    allowed: int,
) -> float:
    """Learn-then-Test: the lowest level reached before a test fails.

    Levels are tested from the top down; a level passes if at most `allowed` points
    violate there. The order is fixed in advance, so a false pass needs the first bad
    level to pass, and no price is paid for testing many (Angelopoulos et al. 2025).
    """
    last = np.inf
    for level in levels:
        if counts(level) > allowed:
            break
        last = float(level)
    return last


def risk_level(
    levels: Iterable[float], losses: Callable[[float], Array], alpha: float
) -> float:
    """Conformal risk control: the lowest level whose mean envelope loss is small.

    A loss in [0, 1] at a level is replaced by the largest at this level and above,
    which falls as the level grows; the level returned keeps its expectation at most
    alpha at a new point exchangeable with the N at hand.
    """
    last, worst = np.inf, None
    for level in levels:
        now = losses(level)
        worst = now if worst is None else np.maximum(worst, now)
        size = len(worst)
        if (worst.sum() + 1) / (size + 1) > alpha:
            break
        last = float(level)
    return last
