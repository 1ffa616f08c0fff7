"""A bar that shows how far things are."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Seconds between two drawings of the bar.
PAUSE = 0.2


class Bar:
    """How far things are and how long they will take, on standard error.

    Parameters
    ----------
    total : how many there are
    unit : what is counted
    """

    def __init__(self, total: int, unit: str = "contexts") -> None:
        self.total, self.done, self.unit = total, 0, unit
        self.begun, self.drawn = time.monotonic(), -PAUSE

    def __enter__(self) -> Bar:
        self._draw()
        return self

    def advance(self, more: int) -> None:
        """So many more are done."""
        self.done += more
        passed = time.monotonic() - self.begun
        if passed - self.drawn >= PAUSE or self.done == self.total:
            self._draw()

    def __exit__(self, *raised: Any) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()

    def _draw(self) -> None:
        self.drawn = time.monotonic() - self.begun
        filled = "#" * (20 * self.done // self.total)
        left = ""
        if self.done:
            wait = self.drawn / self.done * (self.total - self.done)
            left = (
                f", {wait:.0f} s left"
                if self.done < self.total
                else (f" in {self.drawn:.1f} s")
            )
        line = f"[{filled:<20}] {self.done}/{self.total} {self.unit}{left}"
        # Blanks wipe what a longer line left behind.
        sys.stderr.write(f"\r{line:<70}")
        sys.stderr.flush()
