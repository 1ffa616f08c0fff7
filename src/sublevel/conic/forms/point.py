"""What a closed form gives: x, the row's multiplier, and where the norm pulls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def in_company(contexts: Indices) -> Indices:
    """Some contexts, one that is alone twice.

    A sum over one column alone would be added up in another order.

    Examples
    --------
    >>> in_company(np.array([4])), in_company(np.array([1, 4]))
    (array([4, 4]), array([1, 4]))
    """
    return np.repeat(contexts, 2) if len(contexts) == 1 else contexts
