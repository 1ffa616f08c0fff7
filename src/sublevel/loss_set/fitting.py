"""Training the user's model, setting what its loss leaves open, and crossing.

Cross-fitted scores are for small data: every row is scored by a model that never saw
it. The sets of all folds are protected against together (their union), which is what
makes the promise hold without a separate calibration sample (Barber et al. 2021, CV+).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import losses
from ..errors import InvalidParameter, NotCalibrated
from ..guarantees import CrossFitting
from ..losses import Loss
from ..losses.base import LossLike
from ..predictions import (
    AnyPrediction,
    Model,
    ModelBlocks,
    Needs,
    QuantilePair,
    Table,
    align,
    as_model,
    can,
    column_names,
    count_rows,
    fit_copy,
    frame_columns,
    is_fitted,
    is_torch_module,
    name_of,
    numbers_of,
    outcomes_of,
    predict,
    require_aligned,
    split_columns,
    stack,
    take_rows,
)
from .scorer import Scored, Scorer, require_as_many_rows

#: Rows of training data that are kept, to know of what size losses are.
MOST_KEPT = 500

#: How estimators of one output word their refusal of several.
_ONE_OUTPUT = re.compile(r"\by\b.*\b(1d|1-?dim\w*|one-?dim\w*)\b", re.IGNORECASE)


def train(model: Model, loss: Loss, X: Table, Y: Table) -> Scorer:
    """The model trained and the loss's open parameters set.

    A fitted model is left alone. The loss learns from out-of-fold predictions if the
    model is trained here, from predictions on X otherwise.
    """
    check_outcomes(X, Y, loss.needs, "LossSet.fit")
    fitted = fit_model(model, X, Y)
    first = _first(fitted, X, loss.needs)
    if loss.is_open:
        everywhere = predict(fitted, X, loss.needs)
        vectors = outcomes_of(fitted, everywhere).encode(Y, "LossSet.fit")
        if loss.learns_residuals and not is_fitted(model):
            everywhere = out_of_fold(model, X, Y, loss.needs, fitted)
        loss = loss.learn(everywhere, vectors)
    if first is not None:
        loss.check(first)
        loss = loss.settled(first)
    return Scorer(fitted, loss, frame_columns(Y))


def check_outcomes(X: Table, Y: Table | None, needs: Needs, owner: str) -> None:
    """Refuse what an estimator may take for numbers without a word."""
    if Y is None:
        # Estimators have words of their own for this.
        return
    columns = split_columns(Y)
    if not isinstance(needs, tuple) and needs != "labels":
        for column in columns:
            numbers_of(column, owner)
    require_aligned(Y, X, owner, "Y")


def _first(model: Model, X: Table, needs: Needs) -> AnyPrediction | None:
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


def some_rows(X: Table, Y: Table) -> tuple[Any, Any] | None:
    """Some of the rows, from all over; None of what has no rows to take."""
    last = count_rows(Y) - 1
    rows = np.unique(np.linspace(0, last, MOST_KEPT).astype(int))
    try:
        return take_rows(X, rows), take_rows(Y, rows)
    except (TypeError, ValueError, IndexError):
        return None


def ready(model: object, loss: LossLike) -> Scorer:
    """A model fitted elsewhere needs no training; its loss must have no open ends."""
    settled = losses.get(loss)
    whole = as_model(model, settled.needs)
    if not is_fitted(whole):
        raise NotCalibrated(
            f"This LossSet is not fitted yet: {type(whole).__name__} has not been "
            "trained. Call fit(X_train, Y_train) first."
        )
    return Scorer(whole, settled)


def fit_model(model: Model, X: Table, Y: Table) -> Model:
    """A fitted copy of the model, or the model itself where it is fitted already."""
    try:
        return fit_copy(model, X, Y)
    except ValueError as error:
        if _ONE_OUTPUT.search(str(error)):
            one, each = model, "[model, model, ...]"
            if isinstance(model, QuantilePair):
                one, each = model.given[0], "[[lower, lower, ...], [upper, upper, ...]]"
            error.add_note(
                f"If {type(one).__name__} predicts one output only, pass one model a "
                f"column, LossSet({each}), or wrap it in "
                "sklearn.multioutput.MultiOutputRegressor."
            )
        raise


def split_folds(
    n: int, n_splits: int
) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """(training rows, held-out rows) of each fold, shuffled with a fixed seed."""
    from sklearn.model_selection import KFold

    shuffled = KFold(n_splits, shuffle=True, random_state=0)
    return list(shuffled.split(np.empty(n)))


def out_of_fold(
    model: Model,
    X: Table,
    Y: Table,
    needs: Needs,
    full: Model,
    n_splits: int = 5,
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


_OWNER = "LossSet.calibrate"


def require_crossable(model: Model, X: Table, Y: Table, promise: CrossFitting) -> None:
    """Refuse, before anything is trained, what cannot be scored out of fold."""
    require_as_many_rows(X, Y, _OWNER)
    promise.count_folds(count_rows(X))
    name = type(promise).__name__
    if count_rows(X) < 2:
        raise InvalidParameter(f"{name} needs at least 2 rows of X and Y, got 1.")
    parts = model.parts if isinstance(model, ModelBlocks | QuantilePair) else [model]
    for part in parts:
        if is_fitted(part):
            raise _refusal(part, name)


def score_crossed(
    full: Scorer,
    model: Model,
    loss: Loss,
    X: Table,
    Y: Table,
    promise: CrossFitting,
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
    for rows, held in split_folds(n, promise.count_folds(n)):
        part = train(model, loss, take_rows(X, rows), take_rows(Y, rows))
        part = replace(part, outcomes=outcomes)
        scores[held] = part.score(take_rows(X, held), take_rows(Y, held), _OWNER)
        scorers.append(part)
    return Scored(tuple(scorers), scores, outcomes.names(column_names(Y)))


def _refusal(model: Model, promise: str) -> InvalidParameter:
    trainable = can(model, "fit") and not is_torch_module(model)
    name = name_of(model)
    if trainable:
        got = f"a fitted {name}. Give an unfitted one, e.g. sklearn.base.clone(model)"
    else:
        got = f"{name}, which cannot be trained here. Hold rows back to calibrate on"
    return InvalidParameter(
        f"{promise} trains the model once a fold: LossSet(model=...) must be an "
        f"unfitted estimator, got {got}."
    )
