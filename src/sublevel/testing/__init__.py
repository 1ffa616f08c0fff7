"""Contracts that third parties can run on their own losses, sets, guarantees, policies.

Each check raises ContractBroken, an AssertionError, with the first promise that does
not hold.
"""

from .contract import ContractBroken
from .policies import check_policy
from .sets_and_losses import check_guarantee, check_loss, check_set, example_prediction

__all__ = [
    "ContractBroken",
    "check_guarantee",
    "check_loss",
    "check_policy",
    "check_set",
    "example_prediction",
]
