"""Outcomes as users have them (numbers, labels, DataFrames) and as vectors.

A regression block takes as many columns of Y as it predicts; a classification block
takes one column of labels and becomes a one-hot vector.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers
from ..errors import InvalidParameter, UnseenClass
from .tables import Column, Table, frame_columns, split_columns


@dataclass(frozen=True, eq=False)
class Numbers:
    """A block of `width` numeric components."""

    width: int

    @property
    def columns(self) -> int:
        """Columns of Y the block takes."""
        return self.width

    def encode(self, columns: list[Column], owner: str) -> Array:
        """The columns as floats, shape (n, width)."""
        numbers = []
        for column in columns:
            numbers.append(numbers_of(column, owner))
        vectors = np.stack(numbers, axis=1)
        missing = np.isnan(vectors).any(axis=1)
        if missing.any():
            raise _missing(owner, "NaN", int(np.argmax(missing)))
        return vectors

    def names(self, columns: Sequence[str]) -> list[str]:
        """Names of the components."""
        return list(columns)


@dataclass(frozen=True, eq=False)
class Labels:
    """A block that is one of `classes`, encoded one-hot."""

    classes: Column
    columns: int = 1

    @property
    def width(self) -> int:
        """Components of the one-hot vector."""
        return len(self.classes)

    def encode(self, columns: list[Column], owner: str) -> Array:
        """One-hot rows, shape (n, number of classes)."""
        # True is 1 to Python: a label is itself only if it is of the same kind.
        position = {
            (isinstance(label, bool), label): k
            for k, label in enumerate(self.classes.tolist())
        }
        labels = np.asarray(columns[0]).tolist()
        codes = np.array([_code(position, label) for label in labels], dtype=int)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            self._refuse(labels[row], row, owner)
        return np.asarray(np.eye(self.width)[codes])

    def names(self, columns: Sequence[str]) -> list[str]:
        """Names of the components: column=class."""
        return [f"{columns[0]}={label}" for label in self.classes.tolist()]

    def _refuse(self, label: str | float, row: int, owner: str) -> None:
        import pandas as pd

        if pd.isna(label):
            raise _missing(owner, f"the missing label {label!r}", row)
        raise UnseenClass(
            f"{owner}: Y has class {label!r} in row {row}, which the model has never "
            f"seen; it knows {self.classes.tolist()}. Train the model on every class "
            "that can occur; without the rows of other classes the promise would speak "
            "only of the classes known."
        )


Block: TypeAlias = Numbers | Labels


@dataclass(frozen=True, eq=False)
class Outcomes:
    """How the columns of Y map to the outcome vector.

    Parameters
    ----------
    blocks : numbers and labels, in the order of Y's columns
    column_names : names Y's columns have if Y is a DataFrame; None if they have none

    Examples
    --------
    >>> outcomes = Outcomes((Numbers(1), Labels(np.array(["low", "high"]))))
    >>> outcomes.encode([[1.5, "high"], [2.5, "low"]])
    array([[1.5, 0. , 1. ],
           [2.5, 1. , 0. ]])
    """

    blocks: tuple[Block, ...]
    column_names: tuple[str, ...] | None = None

    @property
    def columns(self) -> int:
        """Columns of Y."""
        return sum(block.columns for block in self.blocks)

    @property
    def width(self) -> int:
        """Components of the outcome vector."""
        return sum(block.width for block in self.blocks)

    def encode(self, Y: Table, owner: str = "Y") -> Array:
        """Outcome vectors of shape (n, width) from Y of shape (n,) or (n, columns)."""
        columns, count = split_columns(Y), 0
        for block in self.blocks:
            count += block.columns
        if len(columns) != count:
            raise InvalidParameter(
                f"{owner}: Y must have {count} column(s), as the model "
                f"predicts, got {len(columns)}."
            )
        own = self.column_names
        given = None if own is None else frame_columns(Y)
        if own is not None and given is not None and given != own:
            # Columns in another order would be taken for each other.
            raise InvalidParameter(
                f"{owner}: Y must have the columns {list(own)} in this order, as in "
                f"training or calibration, got {list(given)}. Say Y[{list(own)}]."
            )
        parts, start = [], 0
        for block in self.blocks:
            mine = columns[start : start + block.columns]
            parts.append(block.encode(mine, owner))
            start += block.columns
        return np.concatenate(parts, axis=1)

    def names(self, column_names: Sequence[str] | None = None) -> tuple[str, ...]:
        """Names of the components of the outcome vector; columns are y0, y1, ... where
        they have no names.
        """
        names: list[str] = []
        start = 0
        for block in self.blocks:
            stop = start + block.columns
            if column_names is None:
                own: Sequence[str] = list(map("y{}".format, range(start, stop)))
            else:
                own = column_names[start:stop]
            names += block.names(own)
            start = stop
        return tuple(names)


def _code(position: dict[tuple[bool, Hashable], int], label: Hashable) -> int:
    """Which class a label is; -1 for none of them."""
    try:
        return position.get((isinstance(label, bool), label), -1)
    except TypeError:
        return -1


def numbers_of(column: npt.ArrayLike, owner: str) -> Array:
    """A column of Y as floats, NaN where an outcome is missing.

    Examples
    --------
    >>> numbers_of([1, 2], "LossSet.fit")
    array([1., 2.])
    """
    array = np.asarray(column)
    if array.dtype.kind == "O":
        import pandas as pd

        # Missing values of pandas (NA, NaT) are no floats.
        array = np.where(pd.isna(array), np.nan, array)
    try:
        return as_numbers(owner, "Y", array)
    except InvalidParameter as error:
        if array.dtype.kind not in "OUSb":
            raise
        raise InvalidParameter(
            f"{error} For labels use a classifier with loss='cross_entropy'."
        ) from error


def _missing(owner: str, what: str, row: int) -> InvalidParameter:
    return InvalidParameter(
        f"{owner}: Y must be free of missing outcomes, got {what} in row {row}. Find "
        "the outcome; without the rows that miss theirs the promise would speak only "
        "of rows whose outcome is observed."
    )
