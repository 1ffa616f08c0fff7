"""What the columns of decisions are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .arrays import DecisionArrays
from .named import Named


@dataclass(frozen=True)
class Layout:
    """What the columns of decisions are.

    Attributes
    ----------
    variables : the model's variables, their entries one after another
    keys : uncertain parameters, those that share a set together
    constraints : number of uncertain constraints
    rows : number of their rows
    """

    variables: tuple[Named, ...]
    keys: tuple[tuple[Named, ...], ...]
    constraints: int
    rows: int

    @cached_property
    def sizes(self) -> tuple[int, tuple[int, ...]]:
        """Entries of the variables, and of each key."""
        return sum(v.size for v in self.variables), tuple(
            sum(p.size for p in key) for key in self.keys
        )

    def room(self, status: npt.ArrayLike) -> DecisionArrays:
        """Room for the decisions of contexts with these statuses."""
        status = np.array(status, dtype="<U20")
        n, (width, dims) = len(status), self.sizes
        outcomes = []
        for dim in dims:
            outcomes.append(np.full((n, dim), np.nan))
        return DecisionArrays(
            status,
            np.full((n, width), np.nan),
            np.full(n, np.nan),
            np.full(n, np.nan),
            np.full(n, np.nan),
            np.full((n, self.rows), np.nan),
            np.full((n, self.constraints), np.nan),
            np.full(n, -1),
            tuple(outcomes),
            np.zeros(n, dtype=int),
        )
