"""A rule of any kind at its calibration points, as a search asks about it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..calibration.envelope import Rows, Stopped
from ..calibration.levels import Given
from ..calibration.search import Looks, Search
from ..checks import Array, is_whole, require_positive
from ..errors import InvalidParameter, SolvesFailed
from ..parallel import each
from ..progress import Bar
from .behaviour import Behaviour, Look
from .memory import Memory, Place
from .rows import row_of

#: Kept looks that are taken again when a calibration is resumed.
PROBES = 5


@dataclass(eq=False)
class Allowance:
    """What a calibration may cost.

    Attributes
    ----------
    max_calls : decisions that may be computed, or None
    max_seconds : seconds that may pass, or None
    calls : decisions computed so far
    spent : why it was stopped, in words; "" if it was not
    """

    max_calls: int | None = None
    max_seconds: float | None = None
    calls: int = 0
    spent: str = ""
    begun: float = field(default_factory=time.monotonic, repr=False)

    def require(self, more: int = 0) -> None:
        """Raise `Stopped` where so many more decisions, or any, are too many."""
        passed = time.monotonic() - self.begun
        if self.max_calls is not None and self.calls + more > self.max_calls:
            self.spent = f"max_calls={self.max_calls} decisions"
        elif self.max_seconds is not None and passed > self.max_seconds:
            self.spent = f"max_seconds={self.max_seconds:g}"
        if self.spent:
            raise Stopped


def as_allowance(owner: str, max_calls: object, max_seconds: object) -> Allowance:
    """Limits that make sense, or one sentence why they do not."""
    if max_calls is not None and not is_whole(max_calls, least=1):
        raise InvalidParameter(
            f"{owner}(max_calls=...) must be a whole number of at least 1, or None, "
            f"got {max_calls!r}."
        )
    if max_seconds is not None:
        require_positive(owner, max_seconds=max_seconds)
    return Allowance(max_calls, max_seconds)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class RulePoints:
    """A rule at its calibration points, as a search asks about it.

    Attributes
    ----------
    behaviour : the rule
    X, Y : contexts and outcomes, N rows of anything
    size : N
    levels : grid
    memory : what decisions did already
    allowance : what more may be computed
    workers : how many, as joblib counts them
    bar : shows how far things are
    """

    behaviour: Behaviour
    X: Any
    Y: Any
    size: int
    levels: Given
    memory: Memory
    allowance: Allowance
    workers: int | None = None
    bar: Bar | None = None

    #: Nothing is assumed of the rule.
    has_sets: ClassVar[bool] = False
    #: So every decision is looked at.
    fails: ClassVar[None] = None
    #: A level at a time: there are enough points to share the work.
    wave: ClassVar[int] = 1

    @property
    def scores(self) -> Array:
        """Nothing is known to be safe: inf, shape (N,)."""
        return np.full(self.size, np.inf)

    @property
    def fallback_miss(self) -> Array:
        """No matter, as decisions are looked at everywhere: shape (N,)."""
        return np.full(self.size, -np.inf)

    @property
    def has_fallback(self) -> bool:
        """Whether something is done where there is no decision."""
        return self.behaviour.has_fallback

    @property
    def proves(self) -> None:
        """Of a rule nothing is proved that was not looked at."""
        return None

    def search(self) -> Search:
        """A search among the levels."""
        return Search(self, self.levels, endless=False)

    def look(self, levels: Array, rows: Rows) -> Looks:
        """What decisions do at levels (k,), each of one point (k,); or `Stopped`."""
        places = list(zip(levels.tolist(), rows.tolist(), strict=True))
        kept = self.memory.looks
        missing = [place for place in places if place not in kept]
        self._advance(len(places) - len(missing))
        if missing:
            self._take(missing)
        looks = [kept[place] for place in places]
        return Looks(
            np.array([look.miss for look in looks]),
            np.array([look.decided for look in looks], dtype=bool),
        )

    def _take(self, places: list[Place]) -> None:
        self.allowance.require(len(places))
        none_before = not self.memory.looks
        try:
            with closing(each(self._jobs(places), len(places), self.workers)) as looks:
                for place, look in zip(places, looks, strict=True):
                    self.memory.keep(place, look)
                    self.allowance.calls += 1
                    self._advance(1)
                    self.allowance.require()
        finally:
            self.memory.write()
        looked = [self.memory.looks[place] for place in places]
        if none_before and all(look.error for look in looked):
            raise InvalidParameter(
                f"{self.behaviour.owner}(decide, violates) failed at every context, at "
                f"level {places[0][0]:g}: {looked[0].error}. Try decide(X[0], level) "
                "and violates(decision, Y[0]) by themselves."
            )

    def _jobs(
        self, places: list[Place]
    ) -> Callable[[int], tuple[Callable[..., Look], tuple[Any, ...]]]:
        def job(number: int) -> tuple[Callable[..., Look], tuple[Any, ...]]:
            level, row = places[number]
            context, outcome = row_of(self.X, row), row_of(self.Y, row)
            return self.behaviour.look, (context, outcome, level)

        return job

    def recognise(self) -> None:
        """Take a few of the looks that a file has kept again; they must be the same.

        What a rule reads from elsewhere may have changed, and a rule that is not
        deterministic has no promise.
        """
        some = _telling(self.memory.looks)
        jobs = self._jobs(some)
        for number, place in enumerate(some):
            what, given = jobs(number)
            before, after = self.memory.looks[place], what(*given)
            self.allowance.calls += 1
            if not _alike(before, after):
                raise InvalidParameter(
                    f"{self.behaviour.owner}(resume=...) must be the file of a rule "
                    f"that does the same again, got another answer at row {place[1]}, "
                    f"level {place[0]:g}: a miss of {after.miss:g}, before "
                    f"{before.miss:g}. Name another file; a rule must be deterministic."
                )

    def warn_of_failures(self) -> None:
        """Tell of contexts at which the rule failed."""
        failed = [look for look in self.memory.looks.values() if look.error]
        if failed:
            warnings.warn(
                f"{self.behaviour.owner}: the rule failed in {len(failed)} of "
                f"{len(self.memory.looks)} calls, which count as violations. The "
                f"first: {failed[0].error}",
                SolvesFailed,
                stacklevel=4,
            )

    def _advance(self, more: int) -> None:
        if self.bar is not None:
            self.bar.advance(more)


def _telling(looks: dict[Place, Look]) -> list[Place]:
    """Places to look at again: those just above a violation, where little changes all.

    Others, from all over, where there are few.
    """
    broken: dict[int, float] = {}
    for (level, row), look in looks.items():
        if look.miss > 0:
            broken[row] = max(level, broken.get(row, level))
    nearest: dict[int, float] = {}
    for level, row in looks:
        if row in broken and level > broken[row]:
            nearest[row] = min(level, nearest.get(row, level))
    close = sorted((level, row) for row, level in nearest.items())
    some = [close[k] for k in _spread(len(close), PROBES)]
    others = sorted(set(looks) - set(some))
    return some + [others[k] for k in _spread(len(others), PROBES - len(some))]


def _spread(size: int, most: int) -> list[int]:
    """Numbers from all over."""
    picks = np.linspace(0, size - 1, min(size, most)).astype(int)
    return sorted(set(map(int, picks)))


def _alike(before: Look, after: Look) -> bool:
    same = before.decided == after.decided and bool(before.error) == bool(after.error)
    close = np.isclose(before.miss, after.miss, rtol=1e-6, atol=1e-9)
    return same and (before.miss > 0) == (after.miss > 0) and bool(close)
