"""Rows set apart for one purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .times import stretch_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """Rows set apart for one purpose; unpacks to X and Y.

    Attributes
    ----------
    name : what the rows are for
    X, Y : the rows, of the type they came in
    rows : their positions in the tables that were split, shape (n,)
    units : how many days, weeks, groups or rows were kept whole
    times : the times of the rows, or None

    Examples
    --------
    >>> import numpy as np, sublevel as sl
    >>> folds = sl.split(np.eye(8), np.arange(8.0), order="time")
    >>> X_cal, Y_cal = folds.calibrate
    >>> Y_cal, folds.test.rows
    (array([4., 5.]), array([6, 7]))
    >>> folds.test.Y
    array([6., 7.])
    """

    name: str
    X: Any
    Y: Any
    rows: npt.NDArray[np.intp]
    units: int
    times: pd.DatetimeIndex | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.Y))

    def __getitem__(self, position: int) -> Any:
        return (self.X, self.Y)[position]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def stretch(self) -> str:
        """From when to when, in words; empty without times or rows."""
        if self.times is None or not self.size:
            return ""
        return stretch_of(self.times)

    def __repr__(self) -> str:
        when = f", {self.stretch}" if self.stretch else ""
        return f"Fold({self.name}: {self.size} rows{when})"
