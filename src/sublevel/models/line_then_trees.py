"""The default mean and the default variance: a line, then trees on what it leaves.

Trees alone need many splits to draw a slope, a line alone misses every bend; both
together need no choice by the user. How many trees, and whether any, is decided out of
fold: the folds' ensembles grow side by side until their joint held-out loss turns up.
Few rows, pure noise or a truly linear target end with none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from ..checks import Array
from ..predictions import take_rows
from .families import Family, Gamma, Squared
from .folds import Folds
from .learners import Learned
from .lines import Line, learn_line

#: With fewer rows a tree has too few to split: the line stands alone.
FEWEST_ROWS = 80
FIRST_TREES, MOST_TREES = 32, 256


@dataclass(frozen=True, eq=False)
class LineAndTrees:
    """A fitted line and the trees fitted to what it leaves, if any."""

    family: Family
    line: Line
    trees: Any

    def predict(self, X: Any) -> Array:
        """Predictions of shape (n,)."""
        found = self.line.predict(X)
        return found if self.trees is None else self.family.join(
            found, self.trees.predict(X)
        )


@dataclass(frozen=True, eq=False)
class LineThenTrees:
    """Learns a line, then as many trees as help out of fold.

    Parameters
    ----------
    family : the loss
    trees : dict, what HistGradientBoostingRegressor is told
    sees_mean : bool, whether it wants the predicted mean as a further column

    Examples
    --------
    >>> X = np.linspace(-1, 1, 200).reshape(-1, 1)
    >>> folds = [(np.arange(200) % 2 == k, np.arange(200) % 2 != k) for k in (0, 1)]
    >>> bent = default_mean(0).learn(X, np.abs(X[:, 0]), None, folds)
    >>> bool(np.abs(bent.out_of_fold - np.abs(X[:, 0])).mean() < 0.03)
    True
    """

    family: Family
    trees: dict[str, Any] = field(default_factory=dict)
    sees_mean: bool = False
    takes_weight: bool = True

    def learn(self, X: Any, y: Array, weight: Array | None, folds: Folds) -> Learned:
        """Line, then trees on what the out-of-fold line leaves."""
        line = learn_line(self.family, X, y, weight, folds)
        left = self.family.leave(y, line.out_of_fold)
        found = self._grow(X, left, weight, folds)
        if found is None:
            return Learned(LineAndTrees(self.family, line.model, None), line.out_of_fold)
        count, held_out = found
        trees = self._ensemble(max_iter=count).fit(X, left, sample_weight=weight)
        joined = self.family.join(line.out_of_fold, held_out)
        return Learned(LineAndTrees(self.family, line.model, trees), joined)

    def _grow(
        self, X: Any, left: Array, weight: Array | None, folds: Folds
    ) -> tuple[int, Array] | None:
        """How many trees are best, and their out-of-fold predictions; None for none."""
        if len(left) < FEWEST_ROWS:
            return None
        parts, count = [self._ensemble(warm_start=True) for _ in folds], FIRST_TREES
        nothing = self.family.leave(left, left)
        while True:
            stages = _stages(parts, count, X, left, weight, folds)
            losses = [
                np.average(self.family.loss(left, p), weights=weight)
                for p in (nothing, *stages)
            ]
            best = int(np.argmin(losses))
            if best < 0.7 * count or count >= MOST_TREES:
                return (best, stages[best - 1]) if best else None
            count *= 2

    def _ensemble(self, **more: Any) -> Any:
        return HistGradientBoostingRegressor(
            loss=self.family.boosting, early_stopping=False, **self.trees, **more
        )


def default_mean(random_state: Any) -> LineThenTrees:
    """What stands for mean=None."""
    trees = {"max_leaf_nodes": 15, "min_samples_leaf": 10, "l2_regularization": 1.0}
    return LineThenTrees(Squared(), {**trees, "random_state": random_state})


def default_variance(random_state: Any) -> LineThenTrees:
    """What stands for variance=None: smaller trees, for squares are noisy.

    The penalty keeps a leaf of tiny squares from sending the log-variance, by one
    Newton step, to where no data are.
    """
    trees = {"max_leaf_nodes": 8, "min_samples_leaf": 20, "l2_regularization": 5.0}
    settings = {**trees, "random_state": random_state}
    return LineThenTrees(Gamma(), settings, sees_mean=True)


def _stages(
    parts: list[Any], count: int, X: Any, y: Array, weight: Array | None, folds: Folds
) -> Array:
    """Out-of-fold predictions after 1, 2, ... trees, shape (count, n)."""
    stages = np.empty((count, len(y)))
    for part, (train, held) in zip(parts, folds, strict=True):
        rows = None if weight is None else weight[train]
        part.set_params(max_iter=count)
        part.fit(take_rows(X, train), y[train], sample_weight=rows)
        stages[:, held] = list(part.staged_predict(take_rows(X, held)))
    return stages
