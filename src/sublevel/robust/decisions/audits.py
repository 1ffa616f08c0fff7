"""The audits of many decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ...conic.program import Indices


@dataclass(frozen=True, eq=False)
class Audits:
    """The audits of n decisions, as arrays.

    Attributes
    ----------
    objective : shape (n,), worst value of the objective over the sets
    gap : shape (n,), how far that is from what the solver promised, relative
    violations : shape (n, number of uncertain constraints)
    binding : shape (n,), the constraint with the least room, -1 if none is uncertain
    passed : shape (n,), whether every miss is small against what its row compares
    own_oracles : names of the parameters whose worst cases are the word of the user's
        own oracle, which nothing else confirms
    slack : shape (n, rows of the uncertain constraints), in the user's units
    """

    objective: Array
    gap: Array
    violations: Array
    binding: Indices
    passed: npt.NDArray[np.bool_]
    own_oracles: tuple[str, ...]
    slack: Array

    def __repr__(self) -> str:
        return f"Audits({int(self.passed.sum())} of {len(self.passed)} passed)"
