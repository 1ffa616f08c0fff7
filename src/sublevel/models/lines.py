"""A penalised line on standardised columns, its penalty chosen out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from ..checks import Array
from ..predictions import count_rows
from .families import Family
from .learners import Learned
from .rows import Rows


@dataclass(frozen=True, eq=False)
class Columns:
    """The numeric columns of X, gaps filled by the mean, standardised."""

    imputer: Any
    scaler: Any

    @classmethod
    def of(cls, rows: Rows) -> Columns:
        """Means and spreads of the columns of X."""
        imputer = SimpleImputer(keep_empty_features=True).fit(numeric(rows.X))
        filled = imputer.transform(numeric(rows.X))
        return cls(imputer, StandardScaler().fit(filled, sample_weight=rows.weight))

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.scaler.transform(self.imputer.transform(numeric(X))))


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted linear model of the columns; without columns, a constant."""

    columns: Columns | None
    linear: Any

    def predict(self, X: Any) -> Array:
        """Predictions of shape (n,)."""
        if self.columns is None:
            return np.full(count_rows(X), self.linear)
        return np.asarray(self.linear.predict(self.columns(X)))


def learn_line(family: Family, rows: Rows, y: Array) -> Learned:
    """The line, or the constant, with the smallest out-of-fold loss.

    Examples
    --------
    >>> from sublevel.models.families import Squared
    >>> folds = [(range(6), [6, 7]), (range(2, 8), [0, 1, 2, 3, 4, 5])]
    >>> rows = Rows(np.arange(8.0).reshape(8, 1), folds=folds)
    >>> learn_line(Squared(), rows, 1 + 2 * np.arange(8.0)).model.predict([[10.0]])
    array([21.])
    """
    held_out = np.empty((1 + len(family.penalties), len(y)))
    for train, held in rows.folds:
        lines = _candidates(family, rows.take(train), y[train], family.penalties)
        seen = rows.take(held).X
        held_out[:, held] = [line.predict(seen) for line in lines]
    losses = [rows.mean(family.loss(y, found)) for found in held_out]
    best = int(np.argmin(losses))
    # The first candidate is the constant.
    line = _candidates(family, rows, y, family.penalties[best - 1 : best])[-1]
    return Learned(line, held_out[best])


def numeric(X: Any) -> Any:
    """The columns a line can use: of a DataFrame the numeric ones, else all.

    Examples
    --------
    >>> import pandas as pd
    >>> numeric(pd.DataFrame({"size": [1.0, 2.0], "kind": ["a", "b"]}))
    array([[1.],
           [2.]])
    """
    if not hasattr(X, "select_dtypes"):
        return X
    found = X.select_dtypes(["number", "bool"]).to_numpy(float, na_value=np.nan)
    return found if found.shape[1] else np.zeros((len(X), 1))


def _candidates(
    family: Family, rows: Rows, y: Array, penalties: tuple[float, ...]
) -> list[Line]:
    """The constant, then a line for each penalty."""
    constant = Line(None, float(rows.mean(y)))
    if not penalties:
        return [constant]
    columns = Columns.of(rows)
    design = columns(rows.X)
    lines = [family.line(design, y, rows.weight, penalty) for penalty in penalties]
    return [constant, *(Line(columns, line) for line in lines)]
