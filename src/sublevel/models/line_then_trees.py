"""The default mean and the default variance: a line, then trees on what it leaves.

Trees alone need many splits to draw a slope, a line alone misses every bend; both
together need no choice by the user. How many trees, and whether any, is decided out of
fold: the folds' ensembles grow side by side until their joint held-out loss turns up.
Few rows, pure noise or a truly linear target end with none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from ..checks import Array
from .families import Family, Gamma, Squared
from .learners import Learned
from .lines import Line, learn_line
from .rows import Rows
from .snapping import snap

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
    line: Line
    trees: Any

    def predict(self, X: Any) -> Array:
        """Predictions of shape (n,)."""
        found = self.line.predict(X)
        if self.trees is None:
            return found
        return self.family.join(found, self.trees.predict(X))


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

    def _trees(self, rows: Rows, left: Array) -> tuple[Any, Array]:
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
            losses = [rows.mean(self.family.loss(left, found)) for found in stages]
            best = int(np.argmin(losses))
            if best < 0.7 * count or count >= MOST_TREES:
                return best, stages[best]
            count *= 2

    def _ensemble(self, **more: Any) -> Any:
        return HistGradientBoostingRegressor(
            loss=self.family.boosting, early_stopping=False, **self.settings, **more
        )


def default_mean(random_state: Any) -> LineThenTrees:
    """What stands for mean=None."""
    settings = {"learning_rate": 0.2, "random_state": random_state}
    return LineThenTrees(Squared(), {**SMALL_TREES, **settings})


def default_variance(random_state: Any) -> LineThenTrees:
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
