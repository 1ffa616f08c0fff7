"""What the judge says of decisions, and how much they may miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array
from ...conic.program import Indices
from .statuses import Flags

#: Relative miss at which a decision is solved for again, to more digits, and above
#: which it does not pass.
AIM, TOLERANCE = 1e-6, 1e-5


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the judge says of n decisions.

    Attributes
    ----------
    objective : shape (n,), the objective at its worst outcome
    slack : shape (n, rows), by how much each uncertain row misses at its worst, in the
        user's units, never negative
    violations : shape (n, uncertain constraints), the largest slack of each
    binding : shape (n,), the uncertain constraint with the least room; -1 without any
    miss : shape (n,), the largest miss relative to its row's size; nan if some worst
        outcome could not be believed
    gap : shape (n,), how far the objective is from what the solver promised, relative
    outcomes : for each key, shape (n, dim): the outcome worst for the objective, or for
        the binding constraint
    """

    objective: Array
    slack: Array
    violations: Array
    binding: Indices
    miss: Array
    gap: Array
    outcomes: list[Array]

    @property
    def passed(self) -> Flags:
        """Whether every miss is small, shape (n,)."""
        return np.asarray(self.miss <= TOLERANCE)

    @property
    def clean(self) -> Flags:
        """Whether no more digits are needed, shape (n,)."""
        return np.asarray(self.miss <= AIM)
