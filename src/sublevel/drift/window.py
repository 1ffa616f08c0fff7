"""The latest of what came."""

from __future__ import annotations

import numpy as np

from ..checks import Array, briefly, is_whole
from ..errors import InvalidParameter


def require_window(owner: str, window: object) -> int | None:
    """How many are kept: a whole number, or None for all."""
    if window is None:
        return None
    if not (isinstance(window, int | np.integer) and is_whole(window, least=1)):
        raise InvalidParameter(
            f"{owner}(window=...) must be a whole number of at least 1, or None for "
            f"all, got {briefly(window)}."
        )
    return int(window)


def latest(values: Array, window: int | None) -> Array:
    """The last ones, in the order in which they came.

    Examples
    --------
    >>> latest(np.arange(5.0), 2)
    array([3., 4.])
    """
    return values if window is None else values[-window:]
