"""Predictions of models that know different classes, brought to one list of classes.

A fold may miss a rare class. Its prediction is widened so that all folds speak of the
same outcome vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import Array
from .outcomes import Labels, Outcomes
from .prediction import AnyPrediction, JointPrediction, LabelPrediction, Prediction

#: How far below a row's least margin a class lies that the model never saw. Minus
#: infinity would be more honest, but differences of margins would be NaN.
UNSEEN_MARGIN = 1e6


def align(piece: AnyPrediction, known: Outcomes, wanted: Outcomes) -> AnyPrediction:
    """The prediction over all classes wanted: probability 0, or a margin far below
    the others, for those the model does not know.

    Examples
    --------
    >>> known = Outcomes((Labels(np.array(["a", "c"])),))
    >>> wanted = Outcomes((Labels(np.array(["a", "b", "c"])),))
    >>> align(LabelPrediction((np.array([[0.4, 0.6]]),)), known, wanted).probabilities
    (array([[0.4, 0. , 0.6]]),)
    """
    if known.blocks is wanted.blocks:
        return piece
    pairs: list[Any] = list(zip(known.blocks, wanted.blocks, strict=True))
    if isinstance(piece, JointPrediction):
        parts = []
        for part in piece.parts:
            count = len(part.values) if isinstance(part, LabelPrediction) else 1
            mine, pairs = pairs[:count], pairs[count:]
            parts.append(_widen(part, mine))
        return JointPrediction(tuple(parts))
    widened: AnyPrediction = _widen(piece, pairs)
    return widened


def unseen_components(known: Outcomes, wanted: Outcomes) -> Array:
    """1 at the components that stand for a class the model does not know, else 0.

    Examples
    --------
    >>> known = Outcomes((Labels(np.array(["a", "c"])),))
    >>> unseen_components(known, Outcomes((Labels(np.array(["a", "b", "c"])),)))
    array([0., 1., 0.])
    """
    found = []
    for mine, all_ in zip(known.blocks, wanted.blocks, strict=True):
        unseen = np.zeros(all_.width)
        if isinstance(mine, Labels) and isinstance(all_, Labels):
            unseen[:] = 1.0
            unseen[_positions(mine, all_)] = 0.0
        found.append(unseen)
    return np.concatenate(found)


def stack(pieces: list[Any]) -> AnyPrediction:
    """Batches one below the other."""
    first = pieces[0]
    if isinstance(first, JointPrediction):
        count = range(len(first.parts))
        return JointPrediction(
            tuple(stack([piece.parts[k] for piece in pieces]) for k in count)
        )
    if isinstance(first, LabelPrediction):
        rows = zip(*(piece.values for piece in pieces), strict=True)
        return _like(first, [np.concatenate(blocks) for blocks in rows])
    scale = None
    if first.scale is not None:
        scale = np.concatenate([piece.scale for piece in pieces])
    return Prediction(np.concatenate([piece.location for piece in pieces]), scale)


def _widen(piece: Any, pairs: list[Any]) -> Any:
    if not isinstance(piece, LabelPrediction):
        return piece
    blocks = []
    for values, (mine, all_) in zip(piece.values, pairs, strict=True):
        wide = np.zeros((len(values), all_.width))
        if piece.probabilities is None:
            wide += values.min(axis=1, keepdims=True) - UNSEEN_MARGIN
        wide[:, _positions(mine, all_)] = values
        blocks.append(wide)
    return _like(piece, blocks)


def _positions(mine: Labels, all_: Labels) -> list[int]:
    position = {label: k for k, label in enumerate(all_.classes.tolist())}
    return [position[label] for label in mine.classes.tolist()]


def _like(first: LabelPrediction, blocks: list[Array]) -> LabelPrediction:
    """Probabilities where the first are, margins otherwise."""
    if first.probabilities is None:
        return LabelPrediction(None, tuple(blocks))
    return LabelPrediction(tuple(blocks))
