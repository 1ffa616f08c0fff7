"""The default mean and the default variance: a line, then trees on what it leaves.

Trees alone need many splits to draw a slope, a line alone misses every bend; both
together need no choice by the user. How many trees, and whether any, is decided out of
fold: the folds' ensembles grow side by side until their joint held-out loss turns up.
Few rows, pure noise or a truly linear target end with none. The penalty of the line is
chosen out of fold too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ..checks import Array
from ..predictions import Table, count_rows
from .families import Family, Gamma, Squared
from .learners import Learned, snap
from .rows import Predictor, Rows, Seed, is_frame


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

    def __call__(self, X: Table) -> Array:
        return np.asarray(self.scaler.transform(self.imputer.transform(numeric(X))))


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted linear model of the columns; without columns, a constant."""

    columns: Columns | None
    linear: Any

    def predict(self, X: Table) -> Array:
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
    losses = [rows.mean(family.loss(y, predicted)) for predicted in held_out]
    best = int(np.argmin(losses))
    # The first candidate is the constant.
    line = _candidates(family, rows, y, family.penalties[best - 1 : best])[-1]
    return Learned(line, held_out[best])


def numeric(X: Table) -> Table:
    """The columns a line can use: of a DataFrame the numeric ones, else all.

    Examples
    --------
    >>> import pandas as pd
    >>> numeric(pd.DataFrame({"size": [1.0, 2.0], "kind": ["a", "b"]}))
    array([[1.],
           [2.]])
    """
    if not is_frame(X):
        return X
    columns = X.select_dtypes(["number", "bool"]).to_numpy(float, na_value=np.nan)
    return columns if columns.shape[1] else np.zeros((count_rows(X), 1))


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


#: With fewer rows a tree has too few to split: the line stands alone.
FEWEST_ROWS = 80
#: With fewer rows one thread grows a tree as fast as several, and on a busy machine far
#: faster: several wait for each other after every split.
MANY_ROWS = 20_000
FIRST_TREES, MOST_TREES = 32, 256
#: The penalty also keeps a leaf of tiny squares from sending the log-variance, by one
#: Newton step, to where no data are.
SMALL_TREES = {"max_leaf_nodes": 8, "min_samples_leaf": 20, "l2_regularization": 5.0}


@dataclass(frozen=True, eq=False)
class LineAndTrees:
    """A fitted line and the trees fitted to what it leaves, if any."""

    family: Family
    line: Predictor
    trees: Predictor | None

    def predict(self, X: Table) -> Array:
        """Predictions of shape (n,)."""
        straight = np.asarray(self.line.predict(X))
        if self.trees is None:
            return straight
        return self.family.join(straight, np.asarray(self.trees.predict(X)))


@dataclass(frozen=True, eq=False)
class LineThenTrees:
    """Learns a line, then as many trees as help out of fold.

    Parameters
    ----------
    family : the loss
    settings : dict, what HistGradientBoostingRegressor is told
    sees_mean : bool, whether it wants the predicted mean as a further column

    Examples
    --------
    >>> row = np.arange(200)
    >>> folds = [(row[row % 2 == k], row[row % 2 != k]) for k in (0, 1)]
    >>> rows = Rows(row[:, None] / 100 - 1, folds=folds)
    >>> bent = default_mean(0).learn(rows, np.abs(rows.X[:, 0]))
    >>> bent.model.predict([[-0.5], [0.0], [0.5]]).round(1)
    array([0.5, 0. , 0.5])
    """

    family: Family
    settings: dict[str, Any]
    sees_mean: bool = False
    takes_weight: bool = True

    def learn(self, rows: Rows, y: Array) -> Learned:
        """Line, then trees on what the out-of-fold line leaves."""
        line = learn_line(self.family, rows, y)
        left = self.family.leave(y, line.out_of_fold)
        threads = 1 if len(y) < MANY_ROWS else None
        with threadpool_limits(threads, user_api="openmp"):
            trees, held_out = self._trees(replace(rows, X=snap(rows.X)), left)
        model = LineAndTrees(self.family, line.model, trees)
        return Learned(model, self.family.join(line.out_of_fold, held_out))

    def _trees(self, rows: Rows, left: Array) -> tuple[Predictor | None, Array]:
        """Trees on all rows, or None, and what they predict out of fold."""
        count, held_out = self._grow(rows, left)
        if not count:
            return None, held_out
        trees = self._ensemble(max_iter=count)
        return trees.fit(rows.X, left, sample_weight=rows.weight), held_out

    def _grow(self, rows: Rows, left: Array) -> tuple[int, Array]:
        """How many trees are best, and their out-of-fold predictions."""
        nothing = self.family.leave(left, left)
        parts, count = (
            [self._ensemble(warm_start=True) for _ in rows.folds],
            FIRST_TREES,
        )
        if len(left) < FEWEST_ROWS:
            return 0, nothing
        while True:
            stages = [nothing, *_stages(parts, count, rows, left)]
            losses = [
                rows.mean(self.family.loss(left, predicted)) for predicted in stages
            ]
            best = int(np.argmin(losses))
            if best < 0.7 * count or count >= MOST_TREES:
                return best, stages[best]
            count *= 2

    def _ensemble(self, **more: object) -> Any:
        return HistGradientBoostingRegressor(
            loss=self.family.boosting, early_stopping=False, **self.settings, **more
        )


def default_mean(random_state: Seed) -> LineThenTrees:
    """What stands for mean=None."""
    settings = {"learning_rate": 0.2, "random_state": random_state}
    return LineThenTrees(Squared(), {**SMALL_TREES, **settings})


def default_variance(random_state: Seed) -> LineThenTrees:
    """What stands for variance=None: smaller steps, for squares are noisy."""
    settings = {"learning_rate": 0.1, "random_state": random_state}
    return LineThenTrees(Gamma(), {**SMALL_TREES, **settings}, sees_mean=True)


def _stages(parts: list[Any], count: int, rows: Rows, y: Array) -> Array:
    """Out-of-fold predictions after 1, 2, ... trees, shape (count, n)."""
    stages = np.empty((count, len(y)))
    for part, (train, held) in zip(parts, rows.folds, strict=True):
        seen = rows.take(train)
        part.set_params(max_iter=count)
        part.fit(seen.X, y[train], sample_weight=seen.weight)
        stages[:, held] = list(part.staged_predict(rows.take(held).X))
    return stages
