"""What a broken contract raises."""


class ContractBroken(AssertionError):
    """A promise of the interface does not hold; the message says which."""


def require(holds: object, promise: str) -> None:
    """Raise ContractBroken unless a promise holds."""
    if not holds:
        raise ContractBroken(f"Broken promise: {promise}.")
