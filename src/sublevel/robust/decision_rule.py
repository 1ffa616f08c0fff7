"""What the decisions of a policy depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..checks import Array
from .keys import UncertainKey


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """What the decisions of a policy depend on.

    Attributes
    ----------
    how : engine and solver
    ordinary : name and value of each ordinary parameter
    keys : the uncertain keys, with the sources before any calibration
    """

    how: tuple[object, object]
    ordinary: list[tuple[str, Array | None]]
    keys: Sequence[UncertainKey]
