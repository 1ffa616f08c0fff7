"""Cross-fitted scores for small data: every row is scored by a model that never saw it.

The sets of all folds are protected against together (their union), which is what makes
the promise hold without a separate calibration sample (Barber et al. 2021, CV+).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .errors import InvalidParameter
from .fitting import split_folds, train
from .guarantees import CVPlus
from .predictions import (
    ModelBlocks,
    column_names,
    count_rows,
    is_fitted,
    is_torch_module,
    take_rows,
)
from .scorer import Scored, Scorer, require_as_many_rows

_OWNER = "LossSet.calibrate"


def require_crossable(model: Any, X: Any, Y: Any, promise: CVPlus) -> None:
    """Refuse, before anything is trained, what CV+ cannot use."""
    require_as_many_rows(X, Y, _OWNER)
    promise.check(count_rows(X))
    if count_rows(X) < 2:
        raise InvalidParameter("CVPlus needs at least 2 rows of X and Y, got 1.")
    parts = model.parts if isinstance(model, ModelBlocks) else [model]
    for part in parts:
        if is_fitted(part):
            raise _refusal(part)


def score_crossed(
    full: Scorer, model: Any, loss: Any, X: Any, Y: Any, promise: CVPlus
) -> Scored:
    """A scorer a fold, and the score of every row by the fold that held it out.

    Parameters
    ----------
    full : Scorer trained on all rows: it knows every class
    model, loss : to be trained and learned anew for each fold
    """
    n = count_rows(X)
    outcomes = full.say(take_rows(X, [0]))[1]
    scorers, scores = [], np.empty(n)
    for rows, held in split_folds(n, promise.n_splits or n):
        part = train(model, loss, take_rows(X, rows), take_rows(Y, rows))
        part = replace(part, outcomes=outcomes)
        scores[held] = part.score(take_rows(X, held), take_rows(Y, held), _OWNER)
        scorers.append(part)
    return Scored(tuple(scorers), scores, outcomes.names(column_names(Y)))


def _refusal(model: Any) -> InvalidParameter:
    trainable = hasattr(model, "fit") and not is_torch_module(model)
    name = getattr(model, "__name__", type(model).__name__)
    if trainable:
        got = f"a fitted {name}. Give an unfitted one, e.g. sklearn.base.clone(model)"
    else:
        got = f"{name}, which cannot be trained here. Hold rows back to calibrate on"
    return InvalidParameter(
        "CVPlus trains the model once a fold: LossSet(model=...) must be an unfitted "
        f"estimator, got {got}."
    )
