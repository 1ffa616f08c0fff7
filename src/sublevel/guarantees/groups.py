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
    found = groups(X) if callable(groups) else _column(owner, groups, X)
    labels = _as_labels(owner, found)
    if labels.shape != (n,):
        raise InvalidParameter(
            f"{owner}(groups=...) must give one label for each of the {n} rows, got "
            f"shape {labels.shape}."
        )
    if labels.dtype == object:
        _require_hashable(owner, labels)
    return labels


def split_by_label(owner: str, labels: Labels) -> dict[Any, np.ndarray[Any, Any]]:
    """The rows of each group, in the order of the sorted labels."""
    missing = _find_missing(labels)
    if missing is not None:
        raise _not_comparable(owner, f"{labels[missing]} at row {missing}")
    try:
        distinct, inverse = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise _not_comparable(owner, str(error)) from error
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse))[:-1]
    return dict(zip(distinct.tolist(), np.split(order, ends), strict=True))


def _as_labels(owner: str, found: Any) -> Labels:
    """Labels as an array in which no label has become another kind.

    NumPy would turn the list ["a", nan] into the names "a" and "nan".
    """
    if isinstance(found, np.ma.MaskedArray) and np.ma.getmaskarray(found).any():
        raise _not_comparable(owner, "a masked array with labels masked")
    try:
        labels = np.asarray(found)
        if labels.dtype.kind in "US" and not isinstance(found, np.ndarray):
            labels = np.asarray(found, dtype=object)
    except ValueError as error:
        raise InvalidParameter(
            f"{owner}(groups=...) must give one label for each row, got rows of "
            f"different lengths: {error}."
        ) from error
    return labels


def _require_hashable(owner: str, labels: Labels) -> None:
    """Each group's budget is looked up by its label."""
    for row, label in enumerate(labels):
        try:
            hash(label)
        except TypeError as error:
            raise InvalidParameter(
                f"{owner}(groups=...) must give hashable labels such as names or "
                f"numbers, got a {type(label).__name__} at row {row}. Turn it into a "
                f"name or a number."
            ) from error


def _find_missing(labels: Labels) -> int | None:
    """The first row whose label is None, NaN, NaT or pandas.NA; None if there is none.

    Labels of kind object must be hashable.
    """
    if labels.dtype == object:
        return next((row for row, each in enumerate(labels) if _is_missing(each)), None)
    rows = np.flatnonzero(labels != labels)
    return int(rows[0]) if rows.size else None


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself.
        return True


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
