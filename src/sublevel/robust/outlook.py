"""How far a search for a level is, and how long it will take.

Nobody knows how many decisions a search will ask for. It ends when a share alpha of the
points violate, so the decisions left are about those of each point found so far, times
the points still to be found. The bar is that of the whole search; its end moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..checks import Array
from ..progress import Bar
from .saddle_cuts import Rows


class Outlook:
    """What a search has done so far, and its bar while there is one.

    Examples
    --------
    >>> outlook = Outlook()
    >>> outlook.wanted, outlook.done = 10.0, 60
    >>> outlook.violating = {0, 5, 7}
    >>> outlook.expected(round_size=20)  # 60 for 3 points: 140 more for 7
    200
    """

    def __init__(self) -> None:
        self.bar: Bar | None = None
        self.wanted = 0.0
        self.done = self.total = 0
        self.violating: set[int] = set()

    @contextmanager
    def shown(self, wanted: float, progress: bool) -> Iterator[None]:
        """A bar, if there is to be one, until about so many points violate."""
        self.wanted = wanted
        if not progress:
            yield
            return
        try:
            with Bar(0, "decisions") as self.bar:
                yield
                # What was expected and did not come is not left.
                self.bar.expect(self.done - self.total)
        finally:
            self.bar = None

    def expected(self, round_size: int) -> int:
        """Decisions of the whole search, with a round that is about to begin."""
        share = self.wanted / max(len(self.violating), 1)
        ahead = self.done * max(share - 1, 0.0) if self.violating else 0.0
        return self.done + max(round_size, round(ahead))

    def begin(self, size: int) -> None:
        """A round of so many decisions begins."""
        if self.bar is not None:
            total = self.expected(size)
            self.bar.expect(total - self.total)
            self.total = total

    def learn(self, rows: Rows, miss: Array) -> None:
        """What decisions of points (k,) did."""
        self.done += len(rows)
        self.violating.update(rows[np.asarray(miss) > 0].tolist())
