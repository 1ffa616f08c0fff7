"""Training the user's model, and setting what its loss leaves open."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.base import clone

from . import losses
from .errors import InvalidParameter, NotCalibrated
from .predictions import (
    AnyPrediction,
    ModelBlocks,
    Needs,
    align,
    as_model,
    count_rows,
    frame_columns,
    is_fitted,
    outcomes_of,
    predict,
    stack,
    take_rows,
)
from .scorer import Scorer

#: How estimators of one output word their refusal of several.
_ONE_OUTPUT = re.compile(r"\by\b.*\b(1d|1-?dim\w*|one-?dim\w*)\b", re.IGNORECASE)


def train(model: Any, loss: Any, X: Any, Y: Any) -> Scorer:
    """The model trained and the loss's open parameters set.

    A fitted model is left alone. The loss learns from out-of-fold predictions if the
    model is trained here, from predictions on X otherwise.
    """
    fitted = fit_model(model, X, Y)
    said = _first(fitted, X, loss.needs)
    if loss.is_open:
        everywhere = predict(fitted, X, loss.needs)
        vectors = outcomes_of(fitted, everywhere).encode(Y, "LossSet.fit")
        if not is_fitted(model):
            everywhere = out_of_fold(model, X, Y, loss.needs, fitted)
        loss = loss.learn(everywhere, vectors)
    if said is not None:
        loss.check(said)
    return Scorer(fitted, loss, frame_columns(Y))


def _first(model: Any, X: Any, needs: Needs) -> AnyPrediction | None:
    """One prediction, which shows at once whether model and loss go together.

    None where the model cannot give it for reasons of its own: it may never be asked
    again about such an X.
    """
    if not count_rows(X):
        return None
    try:
        return predict(model, take_rows(X, [0]), needs)
    except InvalidParameter:
        raise
    except Exception:
        return None


def ready(model: Any, loss: Any) -> Scorer:
    """A model fitted elsewhere needs no training; its loss must have no open ends."""
    found = as_model(model)
    if not is_fitted(found):
        raise NotCalibrated(
            f"This LossSet is not fitted yet: {type(found).__name__} has not been "
            "trained. Call fit(X_train, Y_train) first."
        )
    return Scorer(found, losses.get(loss))


def fit_model(model: Any, X: Any, Y: Any) -> Any:
    """A fitted copy of the model, or the model itself where it is fitted already."""
    if is_fitted(model):
        return model
    if isinstance(model, ModelBlocks):
        # It copies its unfitted models itself, and keeps the fitted ones.
        return ModelBlocks(model.models, model.widths).fit(X, Y)
    try:
        return clone(model).fit(X, Y)
    except ValueError as error:
        if _ONE_OUTPUT.search(str(error)):
            error.add_note(
                f"If {type(model).__name__} predicts one output only, pass one model "
                "a column, LossSet([model, model, ...]), or wrap it in "
                "sklearn.multioutput.MultiOutputRegressor."
            )
        raise


def split_folds(n: int, n_splits: int) -> list[tuple[Any, Any]]:
    """(training rows, held-out rows) of each fold, shuffled with a fixed seed."""
    from sklearn.model_selection import KFold

    shuffled = KFold(n_splits, shuffle=True, random_state=0)
    return list(shuffled.split(np.empty(n)))


def out_of_fold(
    model: Any, X: Any, Y: Any, needs: Needs, full: Any, n_splits: int = 5
) -> AnyPrediction:
    """Predictions of every row by models trained without it.

    `full` is the model trained on all rows: it knows every class, where a fold may
    have missed a rare one.
    """
    n = count_rows(X)
    if n < 2:
        raise InvalidParameter(
            f"Out-of-fold residuals need 2 rows or more, got n_samples = {n}."
        )
    wanted = outcomes_of(full, predict(full, take_rows(X, [0]), needs))
    pieces, order = [], []
    for train_rows, held in split_folds(n, min(n_splits, n)):
        part = fit_model(model, take_rows(X, train_rows), take_rows(Y, train_rows))
        piece = predict(part, take_rows(X, held), needs)
        pieces.append(align(piece, outcomes_of(part, piece), wanted))
        order.append(held)
    return stack(pieces)[np.argsort(np.concatenate(order))]
