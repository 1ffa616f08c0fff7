"""Training the user's model: once, or once a fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .errors import InvalidParameter
from .predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    ModelBlocks,
    Needs,
    Prediction,
    count_rows,
    is_fitted,
    outcomes_of,
    predict,
    take_rows,
)


def as_model(model: Any) -> Any:
    """A list of models becomes one; anything else is itself."""
    return ModelBlocks(list(model)) if isinstance(model, list | tuple) else model


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
        if getattr(Y, "ndim", 1) == 2 and Y.shape[1] > 1:
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


def fit_folds(model: Any, X: Any, Y: Any, n_splits: int) -> list[tuple[Any, Any]]:
    """(model trained without the fold, the fold's rows) for every fold."""
    fresh = clone(model, safe=False)
    if is_fitted(fresh):
        raise InvalidParameter(
            f"Cross-fitting trains the model once a fold, and {type(model).__name__} "
            "cannot be trained here. Give a scikit-learn style model."
        )
    found = []
    for train, held in split_folds(count_rows(X), n_splits):
        part = fit_model(clone(fresh), take_rows(X, train), take_rows(Y, train))
        found.append((part, held))
    return found


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
    said = predict(full, X, needs)
    classes = [getattr(b, "classes", None) for b in outcomes_of(full, said).blocks]
    pieces, order = [], []
    for part, held in fit_folds(model, X, Y, min(n_splits, n)):
        piece = predict(part, take_rows(X, held), needs)
        known = [getattr(b, "classes", None) for b in outcomes_of(part, piece).blocks]
        pieces.append(_align(piece, list(known), list(classes)))
        order.append(held)
    return _stack(pieces)[np.argsort(np.concatenate(order))]


def _align(piece: AnyPrediction, known: list[Any], wanted: list[Any]) -> AnyPrediction:
    """Probabilities over all classes, zero for those the fold never saw."""
    if isinstance(piece, JointPrediction):
        parts = []
        for part in piece.parts:
            count = len(part.values) if isinstance(part, LabelPrediction) else 1
            parts.append(_align(part, known[:count], wanted[:count]))
            known, wanted = known[count:], wanted[count:]
        return JointPrediction(tuple(parts))
    if not isinstance(piece, LabelPrediction) or piece.probabilities is None:
        return piece
    blocks = []
    for block, seen, every in zip(piece.probabilities, known, wanted, strict=True):
        position = {label: k for k, label in enumerate(every.tolist())}
        wide = np.zeros((len(block), len(every)))
        wide[:, [position[label] for label in seen.tolist()]] = block
        blocks.append(wide)
    return LabelPrediction(tuple(blocks))


def _stack(pieces: list[Any]) -> AnyPrediction:
    """Batches one below the other."""
    first = pieces[0]
    if isinstance(first, JointPrediction):
        count = range(len(first.parts))
        return JointPrediction(
            tuple(_stack([piece.parts[k] for piece in pieces]) for k in count)
        )
    if isinstance(first, LabelPrediction):
        pile = [
            np.concatenate(rows)
            for rows in zip(*(p.values for p in pieces), strict=True)
        ]
        margins = first.probabilities is None
        return (
            LabelPrediction(None, tuple(pile))
            if margins
            else LabelPrediction(tuple(pile))
        )
    scale = None
    if first.scale is not None:
        scale = np.concatenate([piece.scale for piece in pieces])
    return Prediction(np.concatenate([piece.location for piece in pieces]), scale)
