"""Envelope scores, and sequences of tests: levels read off what decisions do.

Each calibration point has an envelope score: the lowest level of the grid from which
on, all the way up, the decision taken does not violate. It is a fixed function of the
point, so its order statistics promise what those of any score do, and it never exceeds
the point's own loss (rounded up to the grid), as a decision robust over a set that
holds the outcome cannot violate. Nothing is assumed of how violations vary with the
level.

The level wanted is an order statistic of the envelope scores, or what another guarantee
makes of them. Going down the grid, the points that have violated at some level so far
are those whose score lies above; once what lies below cannot matter, lower levels need
no solve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from ..checks import Array

Rows = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
#: Asked about decisions at levels (n,), each of one point: row numbers (n,).
Ask = Callable[[Array, Rows], Flags]
#: Given the scores so far and the level that no score is looked for below: whether to
#: stop.
Enough = Callable[[Array, float], bool]
#: How many waves go together while the end of a search is far.
AT_MOST = 4


class Stopped(Exception):
    """No more decisions may be computed; what was seen at higher levels counts.

    A level higher than necessary promises what a lower one does, so a search may end
    early at any time, whatever made it end.
    """


def envelope_scores(
    scores: Array,
    levels: Iterable[float],
    violates: Ask,
    enough: Enough,
    safe: Flags | bool = True,
    lost: Flags | bool = False,
    open_top: bool = True,
    wave: int = 1,
    beyond: int | None = None,
) -> Array:
    """The envelope score of every point, as far down as needed.

    Parameters
    ----------
    scores : array of shape (N,), loss of each outcome
    levels : grid, from the top down; chosen without looking at the scores, though it
        may end early
    violates : whether decisions at levels violate, at points
    enough : given the scores so far, and the lowest of them that may still be lowered,
        whether to stop
    safe : booleans (N,)
        Points at which a decision at or above the loss cannot violate, so that it
        need not be computed.
    lost : booleans (N,)
        Points that may violate at any level, however high: their score is inf.
    open_top : bool
        Levels above the grid may be the answer: there the score is the loss itself.
        All points must be safe. Otherwise points that violate at the top have score
        inf.
    wave : int
        Decisions asked for at once, before looking whether that was enough.
    beyond : int, optional
        How many scores may lie above the answer, if that alone settles it. While the
        end is far, more decisions are then asked for at once.

    Returns
    -------
    array of shape (N,) : scores below the last level looked at are that level; inf
        where a search was stopped before any

    Examples
    --------
    >>> kept = np.array([0.5, 1.5, 0.5])  # decisions violate below these levels
    >>> violates = lambda level, rows: level < kept[rows]
    >>> losses, grid = np.array([1.0, 2.0, 3.0]), [4.0, 3.0, 2.0, 1.0, 0.4]
    >>> envelope_scores(losses, grid, violates, enough=lambda scores, floor: False)
    array([1., 2., 1.])
    """
    downwards = iter(levels)
    top = next(downwards)
    above = lost | ((scores > top) & open_top)
    envelope = np.where(lost, np.inf, np.where(above, scores, top))
    if enough(envelope, top):
        return envelope
    last, pace = np.inf, _Pace(wave)
    for some in _waves(chain([top], downwards), scores, above, safe, pace):
        before = int(np.sum(above))
        levels_there, rows_there = zip(*some, strict=True)
        at = np.repeat(np.array(levels_there, float), list(map(len, rows_there)))
        points = np.concatenate(rows_there)
        try:
            bad = violates(at, points) if points.size else np.zeros(0, dtype=bool)
        except Stopped:
            envelope[~above] = last
            return envelope
        for level, rows in some:
            here, bad = bad[: len(rows)], bad[len(rows) :]
            fresh = rows[here]
            fresh = fresh[~above[fresh]]
            envelope[fresh], above[fresh] = last, True
            envelope[~above] = last = level
            if enough(envelope, level):
                return envelope
        if beyond is not None and wave > 1:
            violated = int(np.sum(above))
            pace.follow(len(points), violated - before, beyond + 1 - violated)
    return envelope


class _Pace:
    """How many decisions are asked for at once.

    Attributes
    ----------
    wave : that number
    """

    def __init__(self, wave: int) -> None:
        self._least = self.wave = wave

    def follow(self, asked: int, violated: int, left: int) -> None:
        """Ask for half of what is left, if violations go on as in the last wave."""
        ahead = left * asked / max(violated, 1) / 2
        self.wave = int(np.clip(ahead, self._least, AT_MOST * self._least))


def _waves(
    levels: Iterable[float],
    scores: Array,
    above: Flags,
    safe: Flags | bool,
    pace: _Pace,
) -> Iterator[list[tuple[float, Rows]]]:
    """Levels with the points that may violate there, some levels at a time.

    `above` changes between the waves: points that have violated are not asked again.
    """
    some, size = [], 0
    for level in levels:
        rows = np.flatnonzero(~above & ((scores > level) | ~np.asarray(safe)))
        some.append((level, rows))
        size += rows.size
        if size >= pace.wave:
            yield some
            some, size = [], 0
    if some:
        yield some


def pass_in_sequence(levels: Iterable[float], passes: Callable[[float], bool]) -> float:
    """Fixed-sequence testing: the last level before a test fails; inf if there is none.

    Levels are tested from the top down. The order is fixed in advance, so a false pass
    needs the first bad level to pass, and no price is paid for testing many
    (Angelopoulos et al. 2025).
    """
    last = np.inf
    for level in levels:
        try:
            passed = passes(level)
        except Stopped:
            break
        if not passed:
            break
        last = float(level)
    return last


def risk_level(
    levels: Iterable[float],
    losses: Callable[[float], Array],
    alpha: float,
    worst: Array | float = 0.0,
) -> float:
    """Conformal risk control: the lowest level whose mean envelope loss is small.

    A loss in [0, 1] at a level is replaced by the largest at this level and above,
    which falls as the level grows; the level returned keeps its expectation at most
    alpha at a new point exchangeable with the N at hand. `worst` are the losses above
    every grid.
    """
    last = np.inf
    for level in levels:
        try:
            worst = np.maximum(worst, losses(level))
        except Stopped:
            break
        if (worst.sum() + 1) / (worst.size + 1) > alpha:
            break
        last = float(level)
    return last
