"""Cross-fitted scores for small data: every row is scored by a model that never saw it.

The sets of all folds are protected against together (their union), which is what makes
the promise hold without a separate calibration sample (Barber et al. 2021, CV+).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import Array
from .fitting import fit_folds, out_of_fold
from .predictions import count_rows, outcomes_of, predict, take_rows


def cross_calibrate(
    model: Any, loss: Any, X: Any, Y: Any, guarantee: Any
) -> tuple[list[tuple[Any, Any]], Array]:
    """(model, loss) of every fold, and the out-of-fold score of every row."""
    n = count_rows(X)
    n_splits = guarantee.n_splits or n
    folds, scores = [], np.empty(n)
    for part, held in fit_folds(model, X, Y, n_splits):
        train = np.setdiff1d(np.arange(n), held)
        mine = _learn(model, part, loss, take_rows(X, train), take_rows(Y, train))
        said = predict(part, take_rows(X, held), mine.needs)
        mine.check(said)
        vectors = outcomes_of(part, said).encode(take_rows(Y, held), "LossSet")
        scores[held] = mine.score(said, vectors)
        folds.append((part, mine))
    return folds, scores


def _learn(model: Any, part: Any, loss: Any, X: Any, Y: Any) -> Any:
    """The loss with its open parameters set without the held-out fold."""
    if not loss.is_open:
        return loss
    said = out_of_fold(model, X, Y, loss.needs, part)
    return loss.learn(said, outcomes_of(part, said).encode(Y, "LossSet"))
