"""What a closed form gives: x, the row's multiplier, and where the norm pulls."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import Array
from ..program import Indices


@dataclass(frozen=True)
class FormPoint:
    """Solutions of m contexts, nan where there is none.

    Attributes
    ----------
    x : shape (n, m)
    multiplier : shape (m,), what one unit of the coupling row's level is worth
    pull : shape (n, m) or (n, 1): price times weights times this is the slope of the
        penalty by x
    """

    x: Array
    multiplier: Array
    pull: Array

    def put(self, contexts: Indices, part: FormPoint) -> None:
        """Solutions of some contexts in place of those that were there."""
        self.x[:, contexts], self.pull[:, contexts] = part.x, part.pull
        self.multiplier[contexts] = part.multiplier
