"""One data set for two purposes that must not see each other's rows."""

from __future__ import annotations

from typing import Any

from ..checks import as_generator, require_level
from ..errors import InvalidParameter
from ..predictions import count_rows


def split_rows(owner: Any, X: Any, share: float, random_state: Any) -> tuple[Any, Any]:
    """Rows to learn from and rows set aside, in random order.

    Parameters
    ----------
    owner : who asks, for messages
    share : part of the rows set aside, strictly between 0 and 1
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> learn, aside = split_rows(None, np.zeros((10, 1)), 0.3, 0)
    >>> len(learn), len(aside), sorted([*learn, *aside]) == list(range(10))
    (7, 3, True)
    """
    name = type(owner).__name__
    require_level(name, share=share)
    n = count_rows(X)
    order = as_generator(name, random_state).permutation(n)
    aside = round(share * n)
    if not 0 < aside < n:
        raise InvalidParameter(
            f"{name}.fit(X, Y) needs rows for both parts, got {n} rows at "
            f"share={share}."
        )
    return order[aside:], order[:aside]
