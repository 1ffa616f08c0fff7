"""Which contexts have a decision to act on, by their statuses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Statuses of contexts that have a decision to act on.
DECIDED = ("optimal", "stopped_early", "fallback")
#: Statuses of decisions that exist, but could not be computed: nothing was kept.
FAILED = ("solver_failed", "audit_failed")

Flags = npt.NDArray[np.bool_]


def is_decided(status: npt.ArrayLike) -> Flags:
    """Whether each context has a decision to act on, shape (n,).

    Examples
    --------
    >>> is_decided(["optimal", "fallback", "infeasible", "audit_failed"])
    array([ True,  True, False, False])
    """
    return np.isin(np.asarray(status), DECIDED)


def has_failed(status: npt.ArrayLike) -> Flags:
    """Whether a decision exists at each context that could not be computed, (n,)."""
    given = np.asarray(status)
    return np.asarray((given == FAILED[0]) | (given == FAILED[1]))
