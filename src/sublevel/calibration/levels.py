"""Grids of levels that owe nothing to calibration data.

A level read off the calibration sample may only come from a grid fixed before the
sample was seen. The grids below are infinite and free of units; of each only a stretch
is looked at, which changes nothing: above it no decision can violate, and stopping
early gives a level higher than necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import asinh, ceil, isfinite, isinf, log, sinh

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly
from ..errors import InvalidParameter

#: Ratio of neighbouring levels where none are given.
RATIO = 1.05
#: How far below the typical loss the search for a level goes.
DEPTH = 1e-4


@dataclass(frozen=True)
class Geometric:
    """All powers of a ratio: for losses that are never negative, in any units."""

    ratio: float = RATIO

    def downwards(self, scores: Array) -> Iterator[float]:
        """From the first level that covers all finite scores, to far below them.

        Parameters
        ----------
        scores : array of shape (N,), not negative; inf is covered by no level
        """
        finite = scores[np.isfinite(scores) & (scores > 0)]
        if not finite.size:
            # Outcomes exactly as predicted, or outside at every level.
            yield 0.0
            return
        at = ceil(log(float(finite.max())) / log(self.ratio))
        while self.ratio**at < finite.max():
            at += 1  # the logarithm may be off in its last digit
        least = DEPTH * float(np.median(finite))
        while True:
            yield self.ratio**at
            if self.ratio**at <= least:
                return
            at -= 1

    def up(self, value: float) -> float:
        """The least level that is no less than a value; 0 and below as they are."""
        if value <= 0 or isinf(value):
            return value
        start = ceil(log(value) / log(self.ratio))
        return _least_from(value, start, lambda at: self.ratio**at)


@dataclass(frozen=True)
class Signed:
    """sinh of all multiples of a step: for losses of either sign.

    Far from zero neighbours differ by a ratio, near zero by the step, in units of an
    ordinary loss: log-likelihoods have none, and one nat is of ordinary size.
    """

    step: float = log(RATIO)
    unit: float = 1.0

    def downwards(self, scores: Array) -> Iterator[float]:
        """From the first level that covers all finite scores to well below the least.

        A decision meets many components along one direction only: it may keep its word
        far below every loss. The search ends as far below the least as the lower
        quarter of the losses lies above it.
        """
        finite = scores[np.isfinite(scores)]
        if not finite.size:
            yield 0.0
            return
        at = ceil(asinh(float(finite.max()) / self.unit) / self.step)
        while self._level(at) < finite.max():
            at += 1
        least, quarter = np.quantile(finite, [0.0, 0.25], method="lower")
        while True:
            yield self._level(at)
            if self._level(at) < 2 * least - quarter:
                return
            at -= 1

    def up(self, value: float) -> float:
        """The least level that is no less than a value."""
        if isinf(value):
            return value
        start = ceil(asinh(value / self.unit) / self.step)
        return _least_from(value, start, self._level)

    def _level(self, at: int) -> float:
        return self.unit * sinh(at * self.step)


@dataclass(frozen=True)
class Given:
    """Levels the user chose."""

    levels: tuple[float, ...]

    def downwards(self, scores: Array) -> Iterator[float]:
        """From the largest to the least."""
        del scores
        return iter(sorted(self.levels, reverse=True))

    def up(self, value: float) -> float:
        """The least level that is no less than a value; above all, the value itself."""
        return min((level for level in self.levels if level >= value), default=value)


@dataclass(frozen=True, eq=False)
class Everywhere:
    """All levels there are, for rules that change at finitely many only.

    Attributes
    ----------
    changes : every level at which the decision at some calibration context may change
        Between them nothing happens, so to look there is to look everywhere: what is
        read off owes nothing to them.
    """

    changes: Array

    def downwards(self, scores: Array) -> Iterator[float]:
        """The changes, from the first that covers all finite scores on."""
        finite = scores[np.isfinite(scores)]
        ordered = np.unique(self.changes)[::-1]
        top = finite.max() if finite.size else ordered[0]
        yield float(top)
        yield from ordered[ordered < top].tolist()

    def up(self, value: float) -> float:
        """The value itself: every level was looked at."""
        return value


@dataclass(frozen=True)
class Refined:
    """A grid that owes nothing to data, with more levels where an answer is expected.

    Attributes
    ----------
    inner : the grid
    more : levels of other data than the calibration's, ascending
    """

    inner: Geometric | Signed
    more: tuple[float, ...]

    def downwards(self, scores: Array) -> Iterator[float]:
        """As far as the grid goes, with the other levels in between."""
        above = np.inf
        for level in self.inner.downwards(scores):
            between = [value for value in self.more if level < value < above]
            # Nothing above the first level of the grid needs a look.
            yield from reversed(between if isfinite(above) else [])
            yield level
            above = level

    def up(self, value: float) -> float:
        """The least level that is no less than a value."""
        own = self.inner.up(value)
        return min((level for level in self.more if value <= level < own), default=own)


Levels = Geometric | Signed | Given | Everywhere | Refined

#: How many levels are put where an answer is expected.
MORE = 25


def refine(levels: Levels, scores: Array | None, alpha: float) -> Levels:
    """A grid with more levels among the largest scores of other data.

    Outcomes leave their sets with probability alpha at about the 1 - alpha quantile of
    the scores. There a step of the grid decides who is better, sets or decisions.

    Parameters
    ----------
    scores : of data that are not calibrated on, or None
    alpha : violation level

    Examples
    --------
    >>> grid = refine(Geometric(2.0), np.arange(1.0, 11.0), alpha=0.2)
    >>> grid.up(4.1), grid.up(9.0), grid.up(10.5)
    (6.4, 9.1, 16.0)
    """
    if scores is None or not isinstance(levels, Geometric | Signed):
        return levels
    finite = scores[np.isfinite(scores)]
    if not finite.size:
        return levels
    shares = np.linspace(max(0.0, 1 - 2 * alpha), 1.0, MORE)
    return Refined(levels, tuple(np.unique(np.quantile(finite, shares)).tolist()))


def levels_around(low: float, high: float, steps: int) -> Array:
    """Levels to search where an answer is expected, by data that are not calibrated on.

    Even steps in between. Outside steps grow with the distance, up to a million times
    the width; where all that is expected is positive, so are the levels.

    Examples
    --------
    >>> levels = levels_around(1.0, 2.0, steps=10)
    >>> levels[(levels > 1.45) & (levels < 1.75)].round(3).tolist()
    [1.5, 1.6, 1.7]
    >>> bool(levels.min() > 0), bool(levels.max() > 1e6)
    (True, True)
    """
    # Folds that agree tell no width: then it is that of a step of the default grid.
    width = max(high - low, (RATIO - 1) * abs(high), np.finfo(float).tiny)
    middle, step = (low + high) / 2, log(RATIO)
    outwards = np.sinh(
        np.arange(ceil(asinh(0.5) / step), ceil(asinh(1e6) / step) + 1) * step
    )
    between = np.linspace(-0.5, 0.5, steps + 1)
    levels = middle + width * np.concatenate([-outwards[::-1], between, outwards])
    return np.asarray(np.unique(levels[levels > 0] if low > 0 else levels))


def _least_from(value: float, start: int, level: Callable[[int], float]) -> float:
    """The least level that is no less than a value; the start may be a little off."""
    at = start
    while level(at) < value:
        at += 1
    while level(at - 1) >= value:
        at -= 1
    return level(at)


def given_levels(owner: str, name: str, values: npt.ArrayLike) -> Given:
    """Levels the user chose, each once.

    Examples
    --------
    >>> given_levels("calibrate", "grid", [2.0, 1.0, 2.0])
    Given(levels=(1.0, 2.0))
    """
    levels = as_numbers(owner, name, values)
    if levels.ndim != 1 or not levels.size or not np.isfinite(levels).all():
        raise InvalidParameter(
            f"{owner}({name}=...) must be a non-empty list of finite numbers, got "
            f"{briefly(values)}."
        )
    return Given(tuple(np.unique(levels).tolist()))


def as_levels(
    grid: npt.ArrayLike | None, signed: bool, owner: str, unit: float = 1.0
) -> Levels:
    """The grid asked for; by default one that needs no data.

    Parameters
    ----------
    grid : list of budgets, or None
    signed : whether losses may be negative
    owner : who complains
    unit : size of an ordinary loss, where they may be negative

    Examples
    --------
    >>> as_levels(None, signed=False, owner="calibrate")
    Geometric(ratio=1.05)
    >>> as_levels([2.0, 1.0], signed=False, owner="calibrate")
    Given(levels=(1.0, 2.0))
    """
    if grid is None:
        return Signed(unit=unit) if signed else Geometric()
    return given_levels(owner, "grid", grid)
