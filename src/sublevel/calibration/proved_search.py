"""The search for a level where some decisions are known without being computed.

What is found is what `envelope_scores` finds by asking about every level: a point is
looked at, or proved to be kept, at each level between the answer and its own score. The
order is another. A proof needs decisions on both sides, so levels are looked at in
strides, and what is left open in between is asked for afterwards, together with the
next stride. Levels below one that too many points violate at are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from ..checks import Array
from .envelope import Ask, Enough, Flags, Rows, Stopped

#: Levels of a stride, and strides that may be begun before something is looked at.
STRIDE, AT_ONCE = 8, 8


class ProvedSearch:
    """Envelope scores of points some of whose decisions are proved to be kept.

    Parameters
    ----------
    scores, levels, violates, safe, lost, open_top, wave, beyond : as for
        `envelope_scores`
    proves : whether decisions at levels are proved to be kept, at points, by those
        that were asked about so far

    Examples
    --------
    >>> kept = np.array([0.5, 1.5, 0.5])  # decisions violate below these levels
    >>> violates = lambda level, rows: level < kept[rows]
    >>> proves = lambda level, rows: level > 2.5
    >>> losses, grid = np.array([1.0, 2.0, 3.0]), [4.0, 3.0, 2.0, 1.0, 0.4]
    >>> search = ProvedSearch(losses, grid, violates, proves)
    >>> search.envelope(enough=lambda scores, floor: False)
    array([1., 2., 1.])
    """

    def __init__(
        self,
        scores: Array,
        levels: Iterable[float],
        violates: Ask,
        proves: Ask,
        safe: Flags | bool = True,
        lost: Flags | bool = False,
        open_top: bool = True,
        wave: int = 1,
        beyond: int | None = None,
    ) -> None:
        self._scores, self._downwards = scores, iter(levels)
        self._violates, self._proves = violates, proves
        # Half a wave is enough: what its decisions prove is not asked for any more.
        self._safe, self._wave, self._beyond = safe, (wave + 1) // 2, beyond
        self._lost, self._open_top = lost, open_top
        self._levels: list[float] = []
        n = len(scores)
        #: Where it is not known whether a decision violates, and where one was looked
        #: at; a row a level.
        self._open, self._looked = np.zeros((2, 0, n), dtype=bool)
        #: The number of the highest level each point is seen to violate at.
        self._worst = np.full(n, np.iinfo(np.intp).max)
        #: In how many rounds a point was left open.
        self._rounds = np.zeros(n, dtype=int)

    def envelope(self, enough: Enough) -> Array:
        """The envelope score of every point, as far down as needed, shape (N,)."""
        self._stride(1)
        if not self._levels:
            return np.where(self._lost, np.inf, self._scores)
        top = self._levels[0]
        above = self._lost | ((self._scores > top) & self._open_top)
        envelope = np.where(self._lost, np.inf, np.where(above, self._scores, top))
        self._worst[above] = -1
        self._open[:, above] = False
        if enough(envelope, top):
            return envelope
        done, last = 0, np.inf
        while True:
            settled = self._settled()
            for number in range(done, settled):
                fresh = self._worst == number
                envelope[fresh], above = last, self._worst <= number
                envelope[~above] = last = self._levels[number]
                if enough(envelope, last):
                    return envelope
            done = settled
            asked = self._choose()
            if not asked[0].size:
                # Levels that were opened to choose from may be settled by themselves.
                if len(self._levels) > done or self._stride(1):
                    continue
                return envelope
            try:
                self._look(*asked)
            except Stopped:
                envelope[~(self._worst < done)] = last
                return envelope

    def _settled(self) -> int:
        """How many levels, from the top, have no point left open."""
        waiting = self._open.any(axis=1)
        return int(np.argmax(waiting)) if waiting.any() else len(self._levels)

    def _limit(self) -> int:
        """How many levels, from the top, may still matter."""
        count = len(self._levels)
        if self._beyond is None:
            return count
        numbers = np.sort(np.minimum(self._worst, count))
        at = numbers[self._beyond] + 1 if self._beyond < len(numbers) else count
        return int(min(at, count))

    def _choose(self) -> tuple[Rows, Rows]:
        """Numbers of levels, and points, to look at next."""
        limit = self._limit()
        chosen = self._gaps(limit)
        more = limit == len(self._levels)
        for _ in range(AT_ONCE):
            if not more or np.count_nonzero(chosen) >= self._wave:
                break
            start = len(self._levels)
            more = bool(self._stride(STRIDE))
            chosen = np.pad(chosen, ((0, len(self._levels) - start), (0, 0)))
            chosen[start:] |= _lowest(self._open[start:])
        numbers, points = np.nonzero(chosen)
        return numbers, points

    def _gaps(self, limit: int) -> Flags:
        """What is left open so far: where each gap begins, and the end of the last.

        The first of a gap is next to a decision above it, and proves most. A point
        that stays open is asked about twice as many levels in each round.
        """
        still = self._open.copy()
        still[limit:] = False
        waiting = still.any(axis=0)
        self._rounds = np.where(waiting, self._rounds + 1, 0)
        most = 2.0 ** np.maximum(self._rounds - 2, 0)
        chosen, place = np.zeros_like(still), np.zeros(still.shape[1])
        for number, here in enumerate(still):
            place = np.where(here, place + 1, 0)
            chosen[number] = here & (place <= most)
        lowest = _lowest(still)
        under = np.flip(np.logical_or.accumulate(np.flip(self._looked, 0), 0), 0)
        return np.asarray(chosen | (lowest & ~under))

    def _stride(self, count: int) -> int:
        """Open more levels; how many there were."""
        more = list(islice(self._downwards, count))
        if not more:
            return 0
        start, self._levels = len(self._levels), self._levels + more
        reaches = self._scores > np.array(more)[:, None]
        fresh = (reaches | ~np.asarray(self._safe)) & (self._worst >= start)
        self._open = np.vstack([self._open, fresh])
        self._looked = np.vstack([self._looked, np.zeros_like(fresh)])
        self._prove(start, np.ones(len(self._scores), dtype=bool))
        return len(more)

    def _look(self, numbers: Rows, points: Rows) -> None:
        at = np.array(self._levels)[numbers]
        bad = self._violates(at, points)
        self._looked[numbers, points], self._open[numbers, points] = True, False
        np.minimum.at(self._worst, points[bad], numbers[bad])
        self._open &= np.arange(len(self._levels))[:, None] < self._worst
        touched = np.zeros(len(self._scores), dtype=bool)
        touched[points] = True
        self._prove(0, touched)

    def _prove(self, start: int, among: Flags) -> None:
        """Close what decisions looked at so far prove, from a level on, at points."""
        numbers, points = np.nonzero(self._open[start:] & among)
        if points.size:
            at = np.array(self._levels[start:])[numbers]
            kept = self._proves(at, points)
            self._open[start:][numbers[kept], points[kept]] = False


def _lowest(flags: Flags) -> Flags:
    """The last flag of each column alone."""
    below = np.cumsum(flags[::-1], axis=0)[::-1]
    return np.asarray(flags & (below == 1))
