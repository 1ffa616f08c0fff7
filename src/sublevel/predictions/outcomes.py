"""Outcomes as users have them (numbers, labels, DataFrames) and as vectors.

A regression block takes as many columns of Y as it predicts; a classification block
takes one column of labels and becomes a one-hot vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter, UnseenClass


@dataclass(frozen=True, eq=False)
class Numbers:
    """A block of `width` numeric components."""

    width: int

    @property
    def columns(self) -> int:
        """Columns of Y the block takes."""
        return self.width

    def encode(self, columns: list[Any], owner: str) -> Array:
        """The columns as floats, shape (n, width)."""
        stacked = []
        for column in columns:
            try:
                stacked.append(np.asarray(column, dtype=float))
            except (TypeError, ValueError) as error:
                raise InvalidParameter(
                    f"{owner}: Y must be numeric here, got {column[0]!r}. For labels "
                    "use a classifier with loss='cross_entropy'."
                ) from error
        return np.stack(stacked, axis=1)

    def names(self, columns: list[str]) -> list[str]:
        """Names of the components."""
        return columns


@dataclass(frozen=True, eq=False)
class Labels:
    """A block that is one of `classes`, encoded one-hot."""

    classes: np.ndarray[Any, Any]
    columns: int = 1

    @property
    def width(self) -> int:
        """Components of the one-hot vector."""
        return len(self.classes)

    def encode(self, columns: list[Any], owner: str) -> Array:
        """One-hot rows, shape (n, number of classes)."""
        position = {label: k for k, label in enumerate(self.classes.tolist())}
        labels = np.asarray(columns[0]).tolist()
        codes = np.array([position.get(label, -1) for label in labels], dtype=int)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise UnseenClass(
                f"{owner}: Y has class {labels[row]!r} in row {row}, which the model "
                f"has never seen; it knows {self.classes.tolist()}. Train the model "
                "on every class, or drop these rows."
            )
        return np.asarray(np.eye(self.width)[codes])

    def names(self, columns: list[str]) -> list[str]:
        """Names of the components: column=class."""
        return [f"{columns[0]}={label}" for label in self.classes.tolist()]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """How the columns of Y map to the outcome vector.

    Examples
    --------
    >>> outcomes = Outcomes((Numbers(1), Labels(np.array(["low", "high"]))))
    >>> outcomes.encode([[1.5, "high"], [2.5, "low"]])
    array([[1.5, 0. , 1. ],
           [2.5, 1. , 0. ]])
    """

    blocks: tuple[Numbers | Labels, ...]

    @property
    def columns(self) -> int:
        """Columns of Y."""
        return sum(block.columns for block in self.blocks)

    @property
    def width(self) -> int:
        """Components of the outcome vector."""
        return sum(block.width for block in self.blocks)

    def encode(self, Y: Any, owner: str = "Y") -> Array:
        """Outcome vectors of shape (n, width) from Y of shape (n,) or (n, columns)."""
        columns = split_columns(Y)
        if len(columns) != self.columns:
            raise InvalidParameter(
                f"{owner}: Y must have {self.columns} column(s), as the model "
                f"predicts, got {len(columns)}."
            )
        parts, start = [], 0
        for block in self.blocks:
            mine = columns[start : start + block.columns]
            parts.append(block.encode(mine, owner))
            start += block.columns
        vectors = np.concatenate(parts, axis=1)
        if np.isnan(vectors).any():
            row = int(np.argmax(np.isnan(vectors).any(axis=1)))
            raise InvalidParameter(
                f"{owner}: Y must be free of NaN, got NaN in row {row}. Drop or "
                "impute it before calibration."
            )
        return vectors

    def names(self, column_names: list[str]) -> tuple[str, ...]:
        """Names of the components of the outcome vector."""
        found, start = [], 0
        for block in self.blocks:
            found += block.names(column_names[start : start + block.columns])
            start += block.columns
        return tuple(found)


def split_columns(Y: Any) -> list[Any]:
    """The columns of Y, each an array of shape (n,) that keeps its own type."""
    if hasattr(Y, "iloc") and getattr(Y, "ndim", 1) == 2:
        return [Y.iloc[:, k].to_numpy() for k in range(Y.shape[1])]
    # A list of rows that mix numbers and words must not become an array of words.
    mixed = isinstance(Y, list) and len(Y) > 0 and isinstance(Y[0], list | tuple)
    array = np.array(Y, dtype=object) if mixed else np.asarray(Y)
    if array.ndim == 1:
        return [array]
    if array.ndim == 2:
        return [array[:, k] for k in range(array.shape[1])]
    raise InvalidParameter(
        f"Y must be of shape (n,) or (n, m), got shape {array.shape}."
    )


def column_names(Y: Any) -> list[str]:
    """Names of Y's columns: its own where it has any, y0, y1, ... otherwise."""
    if hasattr(Y, "columns"):
        return [str(name) for name in Y.columns]
    if getattr(Y, "name", None) is not None:
        return [str(Y.name)]
    return [f"y{k}" for k in range(len(split_columns(Y)))]
