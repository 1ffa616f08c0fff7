"""What decisions turn out to be worth once their outcomes are known."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import Array
from .statuses import Flags


@dataclass(frozen=True, eq=False)
class Realised:
    """What n decisions turn out to be worth once their outcomes are known.

    Attributes
    ----------
    decided : shape (n,), whether there is a decision to act on
    violated : shape (n,), whether a promise was missed, or a decision that exists could
        not be computed; False where there is none
    objective : shape (n,), the objective at the outcome; nan without a decision
    miss : shape (n,), the largest miss relative to its row's size; -inf where nothing
        is missed, inf where a decision could not be computed
    """

    decided: Flags
    violated: Flags
    objective: Array
    miss: Array
