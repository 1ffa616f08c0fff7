"""Labels of rows: given, or a column of their table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import briefly
from ..errors import InvalidParameter
from ..predictions import index_of


def column_of(owner: str, argument: str, X: Any, name: str) -> Any:
    """A column of a table, by name."""
    columns = () if index_of(X) is None or np.ndim(X) != 2 else tuple(X.columns)
    if name not in columns:
        raise InvalidParameter(
            f"{owner}({argument}={name!r}) must be a column of X, got columns "
            f"{briefly(list(columns))}. Give the values themselves."
        )
    return X[name]


def number_labels(
    owner: str, argument: str, labels: Any, size: int
) -> npt.NDArray[np.intp]:
    """The labels as whole numbers, in the order of their first rows, shape (n,).

    Examples
    --------
    >>> number_labels("split", "groups", ["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    import pandas as pd

    values = pd.Index(labels) if np.ndim(labels) == 1 else None
    if values is None or len(values) != size:
        raise InvalidParameter(
            f"{owner}({argument}=...) must have one label for each of the {size} rows, "
            f"got {briefly(labels)}."
        )
    codes = pd.factorize(values)[0]
    if (codes < 0).any():
        raise InvalidParameter(
            f"{owner}({argument}=...) must have a label for each row, got none at row "
            f"{int(np.flatnonzero(codes < 0)[0])}."
        )
    return np.asarray(codes)
