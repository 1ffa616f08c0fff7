"""All parts of a split, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..tables import html_table
from .fold import Fold


@dataclass(frozen=True, eq=False, repr=False)
class Folds:
    """What `split` returns.

    Attributes
    ----------
    train, tune, calibrate, test : the parts; those not asked for have no rows
    left_out : positions of rows in none of them, shape (k,): gaps, and what was not
        asked for
    order : "random" or "time"
    unit : what was kept whole

    Examples
    --------
    >>> import numpy as np, sublevel as sl
    >>> sl.split(np.eye(12), np.arange(12.0), order="time", gap=1)
    Folds(in time order, 1 left out between parts)
      train         5 rows
      calibrate     2 rows
      test          3 rows
      left out      2 rows
    """

    train: Fold
    tune: Fold
    calibrate: Fold
    test: Fold
    left_out: npt.NDArray[np.intp]
    order: str
    unit: str
    gap: str = ""

    def __iter__(self) -> Iterator[Fold]:
        return iter((self.train, self.tune, self.calibrate, self.test))

    def __repr__(self) -> str:
        facts = [f"  {name:<10}{text}" for name, text in self._facts()]
        return "\n".join([self._title(), *facts])

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._facts())

    def _title(self) -> str:
        whole = "" if self.unit == "rows" else f", whole {self.unit}"
        how = "in time order" if self.order == "time" else "at random"
        between = f", {self.gap} left out between parts" if self.gap else ""
        return f"Folds({how}{whole}{between})"

    def _facts(self) -> list[tuple[str, str]]:
        facts = [(fold.name, self._size(fold)) for fold in self if fold.size]
        if len(self.left_out):
            facts.append(("left out", f"{len(self.left_out):>5} rows"))
        return facts

    def _size(self, fold: Fold) -> str:
        units = "" if self.unit == "rows" else f"{fold.units:>6} {self.unit}"
        when = f"  {fold.stretch}" if fold.stretch else ""
        return f"{fold.size:>5} rows{units}{when}"
