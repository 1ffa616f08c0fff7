"""What a decision settles beside its variables: affine rules."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..model.reaction import Reaction


@runtime_checkable
class Rule(Protocol):
    """An affine rule, which settles once its variables have values."""

    def reaction(self, value: Any) -> Reaction: ...
