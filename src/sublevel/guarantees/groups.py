"""Reading the group of each context: from a function, a column name or a position."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..errors import InvalidParameter

Labels: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Groups: TypeAlias = Callable[[Any], Any] | str | int


def read_labels(owner: str, groups: Groups, X: Any, n: int) -> Labels:
    """The group of each of the n rows of X, shape (n,)."""
    if X is None:
        raise InvalidParameter(
            f"{owner}(groups=...) must be given the contexts, got X=None. "
            f"Pass X, one row for each score."
        )
    labels = np.asarray(groups(X) if callable(groups) else _column(owner, groups, X))
    if labels.shape != (n,):
        raise InvalidParameter(
            f"{owner}(groups=...) must give one label for each of the {n} rows, got "
            f"shape {labels.shape}."
        )
    return labels


def split_by_label(owner: str, labels: Labels) -> dict[Any, np.ndarray[Any, Any]]:
    """The rows of each group, in the order of the sorted labels."""
    try:
        distinct, inverse = np.unique(labels, return_inverse=True)
        missing = bool(np.any(distinct != distinct))
    except TypeError as error:
        raise _not_comparable(owner, str(error)) from error
    if missing:
        raise _not_comparable(owner, "a label is NaN")
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse))[:-1]
    return dict(zip(distinct.tolist(), np.split(order, ends), strict=True))


def _column(owner: str, column: str | int, X: Any) -> Any:
    try:
        if isinstance(column, str):
            return X[column]
        return X.iloc[:, column] if hasattr(X, "iloc") else np.asarray(X)[:, column]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{owner}(groups={column!r}) must be a column of X: a name for a table, a "
            f"position for an array, got X of type {type(X).__name__} and shape "
            f"{np.shape(X)}."
        ) from error


def _not_comparable(owner: str, reason: str) -> InvalidParameter:
    return InvalidParameter(
        f"{owner}(groups=...) must give labels of one kind, none missing, got "
        f"{reason}. Give missing labels a name of their own."
    )
