"""The best solution so far, and the integers that were tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....checks import Array
from .mixed_program import MixedProgram

#: A gap that is no more than rounding of what the objective adds up.
ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Candidate:
    """A solution: its integers, all of it, and what it is worth to minimise."""

    whole: Array
    x: Array
    value: float


#: The best solution with given integers, or None if there is none.
Pin = Callable[[Array], Candidate | None]


class Incumbent:
    """The best solution so far.

    Parameters
    ----------
    program : MixedProgram
    pin : the best solution with given integers
    gap : float, relative gap at which it is the best of all

    Attributes
    ----------
    best : Candidate or None
    """

    def __init__(self, program: MixedProgram, pin: Pin, gap: float) -> None:
        self._program, self._pin, self._gap = program, pin, gap
        self._tried: set[bytes] = set()
        self.best: Candidate | None = None

    def offer(self, candidate: Candidate) -> None:
        """Keep a solution if it is better."""
        if self.best is None or candidate.value < self.best.value:
            self.best = candidate

    def attempt(self, whole: Array) -> Candidate | None:
        """Solve for the rest with these integers; None where they do not fit, or were
        tried before.
        """
        mark = whole.tobytes()
        if mark in self._tried:
            return None
        self._tried.add(mark)
        candidate = self._pin(whole)
        if candidate is not None:
            self.offer(candidate)
        return candidate

    def slack(self, bound: float) -> float:
        """The gap that is left to the best solution at this bound."""
        if self.best is None:
            return 0.0
        size = self._gap * max(abs(self.best.value), abs(bound))
        return max(size, ROUNDING * self._program.size(self.best.x))

    def is_closed(self, bound: float) -> bool:
        """Whether the bound is near enough to the best solution."""
        return self.best is not None and self.best.value - bound <= self.slack(bound)
