"""What a broken contract raises."""

from typing import Any


class ContractBroken(AssertionError):
    """A promise of the interface does not hold; the message says which."""


def require(holds: Any, promise: str) -> None:
    """Raise ContractBroken unless a promise holds."""
    if not holds:
        raise ContractBroken(f"Broken promise: {promise}.")
