"""A penalised line on standardised columns, its penalty chosen out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from ..checks import Array
from ..predictions import count_rows, take_rows
from .families import Family
from .folds import Folds
from .learners import Learned


@dataclass(frozen=True, eq=False)
class Columns:
    """The numeric columns of X, gaps filled by the mean, standardised."""

    imputer: Any
    scaler: Any

    @classmethod
    def of(cls, X: Any, weight: Array | None) -> Columns:
        """Means and spreads of the columns of X."""
        imputer = SimpleImputer(keep_empty_features=True).fit(numeric(X))
        filled = imputer.transform(numeric(X))
        return cls(imputer, StandardScaler().fit(filled, sample_weight=weight))

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.scaler.transform(self.imputer.transform(numeric(X))))


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted linear model, or a constant.

    Parameters
    ----------
    columns : Columns, or None for a constant
    linear : fitted linear model, or the constant
    """

    columns: Columns | None
    linear: Any

    def predict(self, X: Any) -> Array:
        """Predictions of shape (n,)."""
        if self.columns is None:
            return np.full(count_rows(X), self.linear)
        return np.asarray(self.linear.predict(self.columns(X)))


def learn_line(
    family: Family, X: Any, y: Array, weight: Array | None, folds: Folds
) -> Learned:
    """The line, or the constant, with the smallest out-of-fold loss.

    Examples
    --------
    >>> from sublevel.models.families import Squared
    >>> X, folds = np.arange(8.0).reshape(8, 1), [(range(6), [6, 7]), (range(2, 8), [0, 1])]
    >>> learn_line(Squared(), X, 1 + 2 * X[:, 0], None, folds).model.predict([[10.0]])
    array([21.])
    """
    penalties = (None, *family.penalties)
    held_out = np.empty((len(penalties), len(y)))
    for train, held in folds:
        part = None if weight is None else weight[train]
        lines = _fit(family, penalties, take_rows(X, train), y[train], part)
        seen = take_rows(X, held)
        held_out[:, held] = [line.predict(seen) for line in lines]
    losses = [
        np.average(family.loss(y, p), weights=weight) for p in held_out
    ]
    best = int(np.argmin(losses))
    line = _fit(family, (penalties[best],), X, y, weight)[0]
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
    found = X.select_dtypes(["number", "bool"])
    values = found.to_numpy(dtype=float, na_value=np.nan)
    return values if values.shape[1] else np.zeros((len(X), 1))


def _fit(
    family: Family, penalties: Any, X: Any, y: Array, weight: Array | None
) -> list[Line]:
    """A line for each penalty; None stands for the constant."""
    constant = Line(None, float(np.average(y, weights=weight)))
    wanted = [penalty for penalty in penalties if penalty is not None]
    if not wanted:
        return [constant]
    columns = Columns.of(X, weight)
    design = columns(X)
    total = len(y) if weight is None else float(np.sum(weight))
    lines = [
        Line(columns, family.line(penalty, total).fit(design, y, sample_weight=weight))
        for penalty in wanted
    ]
    return [constant, *lines] if None in penalties else lines
