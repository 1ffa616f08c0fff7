"""What a decision settles beside its variables: affine rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ...checks import Array
from ..model.reaction import Reaction

if TYPE_CHECKING:
    import cvxpy as cp


@runtime_checkable
class Rule(Protocol):
    """An affine rule, which settles once its variables have values."""

    def reaction(self, value: Callable[[cp.Variable], Array]) -> Reaction: ...
