"""The decisions of many contexts as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import Indices
from ..judge.judgement import Judgement


@dataclass(frozen=True, eq=False)
class DecisionArrays:
    """The decisions of n contexts as arrays, nan where there is none.

    Attributes
    ----------
    status : strings of shape (n,)
    values : shape (n, entries of the variables)
    objective : shape (n,), its worst case
    bound : shape (n,), what no robust decision beats; nan where that is not known
    gap : shape (n,), between the objective and what the solver promised, relative
    slack : shape (n, rows), by how much each uncertain row misses at its worst
    violations : shape (n, constraints), the largest slack of each
    binding : shape (n,), the constraint with the least room, -1 if none is uncertain
    outcomes : for each key, shape (n, dim)
    rounds : shape (n,), rounds of cutting planes
    """

    status: npt.NDArray[np.str_]
    values: Array
    objective: Array
    bound: Array
    gap: Array
    slack: Array
    violations: Array
    binding: Indices
    outcomes: tuple[Array, ...]
    rounds: Indices

    def __len__(self) -> int:
        return len(self.status)

    def put(self, rows: Indices | slice, other: DecisionArrays) -> None:
        """Write the decisions of some contexts."""
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            mine[rows] = theirs

    def at(self, rows: Indices) -> DecisionArrays:
        """The decisions of some contexts."""
        return DecisionArrays(
            self.status[rows],
            self.values[rows],
            self.objective[rows],
            self.bound[rows],
            self.gap[rows],
            self.slack[rows],
            self.violations[rows],
            self.binding[rows],
            tuple(outcomes[rows] for outcomes in self.outcomes),
            self.rounds[rows],
        )

    def take(self, judged: Judgement, values: Array) -> None:
        """Write what the judge says of decisions, one a context, but for a bound."""
        self.values[:], self.objective[:] = values, judged.objective
        self.gap[:], self.slack[:] = judged.gap, judged.slack
        self.violations[:], self.binding[:] = judged.violations, judged.binding
        for mine, outcomes in zip(self.outcomes, judged.outcomes, strict=True):
            mine[:] = outcomes

    def arrays(self) -> list[npt.NDArray[Any]]:
        """All of them, those of the keys one after another."""
        return [
            self.status,
            self.values,
            self.objective,
            self.bound,
            self.gap,
            self.slack,
            self.violations,
            self.binding,
            *self.outcomes,
            self.rounds,
        ]
