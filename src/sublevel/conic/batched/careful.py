"""Contexts solved together once more, where a decision has too few digits."""

from __future__ import annotations

from ..program import ProgramData
from ..solver import AIM, Clarabel, Solutions
from .solver import Batched


class CarefulBatched:
    """The same contexts side by side, to as many digits as can be had.

    What is not certified goes to a careful Clarabel. A decision that the judge wants
    more digits of mostly needs an iteration or two more, at a tenth of the work of
    solving it alone.

    Parameters
    ----------
    first : what solved them before, whose ordering is used
    """

    def __init__(self, first: Batched) -> None:
        self._first = first

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        attempt = self._first.attempt(data, AIM)
        return self._first.completed(data, attempt, Clarabel(effort=1))
