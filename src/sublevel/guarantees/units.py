"""Rows that belong together: hours of a day, days of a week, visits of a customer.

What is exchangeable is then the unit, not the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..checks import Array, briefly
from ..errors import InvalidParameter
from ..folds import UNITS, column_of, label_units, number_labels, times_of
from ..predictions import Table, is_frame

#: A word of `UNITS`, the name or position of a column, or a function of X.
Unit: TypeAlias = str | int | Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Which unit each row is in.

    Attributes
    ----------
    number : shape (n,), from 0 on
    count : how many units there are
    """

    number: npt.NDArray[np.intp]
    count: int

    @property
    def shares(self) -> Array:
        """What one row is of its unit, shape (n,)."""
        return np.asarray(1 / np.bincount(self.number, minlength=self.count))[
            self.number
        ]

    def largest(self, scores: Array) -> Array:
        """The largest score of each unit, shape (count,)."""
        most = np.full(self.count, -np.inf)
        np.maximum.at(most, self.number, scores)
        return most


def require_unit(owner: str, unit: object) -> None:
    """A unit is read by a word, a column or a function."""
    column = isinstance(unit, str | int) and not isinstance(unit, bool)
    if not (column or callable(unit)):
        raise InvalidParameter(
            f"{owner}(unit=...) must be one of {tuple(UNITS)}, a column of X, or a "
            f"function of X, got {briefly(unit)}."
        )


def read_units(owner: str, unit: Unit, X: Table | None, n: int) -> UnitRows:
    """The unit of each of the n rows of X."""
    if X is None:
        raise InvalidParameter(
            f"{owner}(unit=...) must be given the contexts, got X=None. Pass X, one "
            "row for each score."
        )
    labels: Any
    if isinstance(unit, str) and unit in UNITS:
        labels = label_units(owner, times_of(X), unit)
    elif isinstance(unit, str):
        labels = column_of(owner, "unit", X, unit)
    elif isinstance(unit, int):
        labels = X.iloc[:, unit] if is_frame(X) else np.asarray(X)[:, unit]
    else:
        labels = unit(X)
    number = number_labels(owner, "unit", labels, n)
    return UnitRows(number, int(number.max()) + 1)


def in_words(unit: Unit) -> tuple[str, str]:
    """One unit, and several.

    Examples
    --------
    >>> in_words("days"), in_words(0)
    (('day', 'days'), ('unit', 'units'))
    """
    if isinstance(unit, str) and unit in UNITS:
        return unit.removesuffix("s"), unit
    return "unit", "units"


def alike(unit: Unit, alike: str = "exchangeable") -> tuple[str, ...]:
    """What is assumed of units, and not of rows, a sentence each."""
    one, several = in_words(unit)
    return (
        f"The {several} calibrated on and the new one are {alike}, with all their "
        f"rows; nothing is assumed of rows within a {one}.",
        "The calibration outcomes had no part in choosing model, loss or set.",
    )
