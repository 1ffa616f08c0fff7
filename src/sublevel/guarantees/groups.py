"""Reading which groups each context is in: from functions or columns of X.

Labels put every context in one group. Flags, a column of booleans for each group, put
it in any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ..checks import Array, briefly
from ..errors import InvalidParameter
from ..predictions import Table, is_frame

Labels: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Rows: TypeAlias = npt.NDArray[np.intp]
#: A function of X, or the name or the position of a column.
Reader: TypeAlias = Callable[[Any], Any] | str | int
Groups: TypeAlias = Reader | Sequence[Reader] | Mapping[Hashable, Reader]


@dataclass(frozen=True, eq=False)
class Partition:
    """Every context is in one group: that of its label.

    Attributes
    ----------
    labels : shape (n,)
    """

    labels: Labels

    def rows(self, owner: str) -> dict[Hashable, Rows]:
        """The rows of each group, in the order of the sorted labels."""
        return split_by_label(owner, self.labels)

    def highest(self, budgets: Mapping[Hashable, float]) -> Array:
        """The budget of each row's group, shape (n,); inf for one without."""
        return np.array([budgets.get(label, inf) for label in self.labels.tolist()])

    @property
    def outside(self) -> int:
        """How many contexts are in no group."""
        return 0


@dataclass(frozen=True, eq=False)
class Overlapping:
    """A context is in any number of groups.

    Attributes
    ----------
    names : of the m groups
    flags : shape (n, m), whether each row is in each group
    """

    names: tuple[Hashable, ...]
    flags: npt.NDArray[np.bool_]

    def rows(self, owner: str) -> dict[Hashable, Rows]:
        """The rows of each group, in the order of the groups."""
        del owner
        columns = zip(self.names, self.flags.T, strict=True)
        return {name: np.flatnonzero(column) for name, column in columns}

    def highest(self, budgets: Mapping[Hashable, float]) -> Array:
        """The largest budget of each row's groups, shape (n,); inf where it has none.

        A context in no group has no promise but the trivial one.
        """
        levels = np.array([budgets.get(name, inf) for name in self.names])
        inside = np.where(self.flags, levels, -inf).max(axis=1)
        return np.where(self.flags.any(axis=1), inside, inf)

    @property
    def outside(self) -> int:
        """How many contexts are in no group."""
        return int(np.sum(~self.flags.any(axis=1)))


def require_groups(owner: str, groups: object, others: str = "") -> None:
    """Groups are read by a function or a column, or by several with their own names.

    `others` says what else the owner takes.
    """
    readable = _is_reader(groups)
    if isinstance(groups, list | tuple | Mapping):
        readers = groups.values() if isinstance(groups, Mapping) else groups
        each = list(readers)
        readable = bool(each) and all(_is_reader(reader) for reader in each)
        readable = readable and len(set(_names(groups))) == len(each)
    if not readable:
        raise InvalidParameter(
            f"{owner}(groups=...) must be {others}a function of X, a column name or a "
            "column position, or a list or dict of these, none twice, got "
            f"{briefly(groups)}."
        )


def read_membership(
    owner: str, groups: Groups, X: Table | None, n: int
) -> Partition | Overlapping:
    """Which groups each of the n rows of X is in."""
    if X is None:
        raise InvalidParameter(
            f"{owner}(groups=...) must be given the contexts, got X=None. "
            f"Pass X, one row for each score."
        )
    several = readers_by_name(groups)
    if several is not None:
        flags = [
            _flag(owner, name, _read(owner, reader, X), n)
            for name, reader in several.items()
        ]
        return Overlapping(tuple(several), np.stack(flags, axis=1))
    answer = _read(owner, cast(Reader, groups), X)
    table = _as_table(owner, answer, n)
    return Partition(_read_labels(owner, answer, n)) if table is None else table


def readers_by_name(groups: Groups) -> dict[Hashable, Reader] | None:
    """What tells of each group whether a context is in it; None if one tells all."""
    if isinstance(groups, Mapping):
        return dict(groups)
    if isinstance(groups, Sequence) and not isinstance(groups, str):
        return dict(zip(_names(groups), groups, strict=True))
    return None


def _read(owner: str, reader: Reader, X: Table | None) -> Any:
    return reader(X) if callable(reader) else _column(owner, reader, X)


def _is_reader(reader: object) -> bool:
    column = isinstance(reader, str | int) and not isinstance(reader, bool)
    return column or callable(reader)


def _names(
    groups: Mapping[Hashable, Reader] | Sequence[Reader],
) -> tuple[Hashable, ...]:
    """A dict's keys; of a list the columns, and functions' names or positions."""
    if isinstance(groups, Mapping):
        return tuple(groups)
    names = []
    for position, reader in enumerate(groups):
        own = getattr(reader, "__name__", "<lambda>") if callable(reader) else reader
        names.append(position if own == "<lambda>" else own)
    return tuple(names)


def _as_table(owner: str, answer: object, n: int) -> Overlapping | None:
    """A table of booleans, one column a group; None if it is none."""
    if is_frame(answer) and answer.ndim == 2:
        names = tuple(answer.columns.tolist())
        columns = [answer.iloc[:, k] for k in range(len(names))]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter(
                f"{owner}(groups=...) must give a table with a column for each group, "
                f"none twice, got columns {briefly(list(names))}."
            )
        flags = [
            _flag(owner, name, column, n)
            for name, column in zip(names, columns, strict=True)
        ]
        return Overlapping(names, np.stack(flags, axis=1))
    table = answer if isinstance(answer, np.ndarray) else None
    if table is None or table.ndim != 2 or table.dtype != bool or not table.shape[1]:
        return None
    if len(table) != n:
        raise InvalidParameter(
            f"{owner}(groups=...) must give a table with one row for each of the {n} "
            f"contexts, got shape {table.shape}."
        )
    return Overlapping(tuple(range(table.shape[1])), table)


def _flag(
    owner: str, name: Hashable, column: npt.ArrayLike, n: int
) -> npt.NDArray[np.bool_]:
    """Whether each row is in a group, shape (n,)."""
    flags = np.asarray(column)
    if flags.dtype == object and all(
        isinstance(v, bool | np.bool_) for v in flags.flat
    ):
        flags = flags.astype(bool)
    if flags.shape != (n,) or flags.dtype != bool:
        raise InvalidParameter(
            f"{owner}(groups=...) must give True or False for each of the {n} rows "
            f"where groups may overlap, got {flags.dtype} of shape {flags.shape} for "
            f"group {name!r}."
        )
    return flags


def _read_labels(owner: str, answer: object, n: int) -> Labels:
    """The label of each of the n rows, shape (n,)."""
    labels = _as_labels(owner, answer)
    if labels.shape != (n,):
        raise InvalidParameter(
            f"{owner}(groups=...) must give one label for each of the {n} rows, or a "
            f"table of booleans with a column for each group, got {labels.dtype} of "
            f"shape {labels.shape}."
        )
    if labels.dtype == object:
        _require_hashable(owner, labels)
    return labels


def split_by_label(owner: str, labels: Labels) -> dict[Hashable, Rows]:
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


def _as_labels(owner: str, answer: object) -> Labels:
    """Labels as an array in which no label has become another kind.

    NumPy would turn the list ["a", nan] into the names "a" and "nan".
    """
    if isinstance(answer, np.ma.MaskedArray) and np.ma.getmaskarray(answer).any():
        raise _not_comparable(owner, "a masked array with labels masked")
    try:
        labels = np.asarray(answer)
        if labels.dtype.kind in "US" and not isinstance(answer, np.ndarray):
            labels = np.asarray(answer, dtype=object)
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


def _is_missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself.
        return True


def _column(owner: str, column: str | int, X: Any) -> Any:
    try:
        if isinstance(column, str):
            return X[column]
        return X.iloc[:, column] if is_frame(X) else np.asarray(X)[:, column]
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
