"""Which outcomes a model speaks of, and models that know different classes.

A fold may miss a rare class. Its prediction is widened so that all folds speak of the
same outcome vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .abilities import Model, classes_of
from .outcomes import Block, Labels, Numbers, Outcomes
from .prediction import AnyPrediction, JointPrediction, LabelPrediction, Prediction
from .several import OneForAll, SideBySide
from .tables import Column


def outcomes_of(model: Model, prediction: AnyPrediction) -> Outcomes:
    """The columns of Y that go with a model's prediction.

    Classes come from the model's `classes_`; a model without (a torch module, a
    function) is taken to number its classes 0, 1, 2, ... Of several models, each has
    its own.

    Examples
    --------
    >>> from .prediction import Prediction
    >>> outcomes_of(lambda X: X, Prediction(np.zeros((2, 3)))).blocks
    (Numbers(width=3),)
    """
    if isinstance(prediction, JointPrediction):
        models = model.parts if isinstance(model, SideBySide) else [model]
        pairs = zip(models, prediction.parts, strict=True)
        parts = [outcomes_of(*pair).blocks for pair in pairs]
        return Outcomes(tuple(block for blocks in parts for block in blocks))
    if isinstance(prediction, LabelPrediction):
        sizes = [block.shape[-1] for block in prediction.values]
        return Outcomes(tuple(map(Labels, _classes(model, sizes))))
    return Outcomes((Numbers(prediction.width),))


def _classes(model: Model, sizes: list[int]) -> list[Column]:
    """The classes of each block, given how many there are of them."""
    if isinstance(model, SideBySide):
        ends = np.cumsum(_block_counts(model, len(sizes)))
        pieces = np.split(np.array(sizes), ends[:-1])
        pairs = zip(model.parts, pieces, strict=True)
        return [c for part, piece in pairs for c in _classes(part, piece.tolist())]
    named = classes_of(model) or [np.arange(size) for size in sizes]
    if isinstance(model, OneForAll) and len(named) == 1:
        # Fitted elsewhere, it has not seen how many components there are.
        named = named * len(sizes)
    if [len(classes) for classes in named] != sizes:
        raise InvalidParameter(
            f"{type(model).__name__} must predict as many classes as its classes_ "
            f"name, got {sizes} predicted and {[len(c) for c in named]} named, block "
            "by block."
        )
    return named


def _block_counts(model: SideBySide, total: int) -> list[int]:
    """How many of the label blocks each part predicts."""
    counts = _counts(model)
    unsure = [k for k, count in enumerate(counts) if count is None]
    left = total - sum(count for count in counts if count is not None)
    if len(unsure) == 1 or left == len(unsure):
        share = left if len(unsure) == 1 else 1
        counts = [share if count is None else count for count in counts]
    settled = [count for count in counts if count is not None]
    if len(settled) < len(counts) or sum(settled) != total or min(settled) < 1:
        raise InvalidParameter(
            f"ModelBlocks(widths=...) must say how many of the {total} labels each of "
            f"the {len(model.parts)} models predicts, got {model.widths}."
        )
    return settled


def _counts(model: SideBySide) -> list[int | None]:
    return list(model.widths or map(_count, model.parts))


def _count(model: Model) -> int | None:
    """How many labels the model predicts, where it says so."""
    if isinstance(model, OneForAll):
        return model.count
    if isinstance(model, SideBySide):
        counts = [count for count in _counts(model) if count is not None]
        return sum(counts) if len(counts) == len(model.parts) else None
    return len(classes_of(model)) or None


#: How far below a row's least margin a class lies that the model never saw. Minus
#: infinity would be more honest, but differences of margins would be NaN.
UNSEEN_MARGIN = 1e6


def align(piece: AnyPrediction, own: Outcomes, wanted: Outcomes) -> AnyPrediction:
    """The prediction over all classes wanted: probability 0, or a margin far below
    the others, for those the model does not know.

    Examples
    --------
    >>> own = Outcomes((Labels(np.array(["a", "c"])),))
    >>> wanted = Outcomes((Labels(np.array(["a", "b", "c"])),))
    >>> align(LabelPrediction((np.array([[0.4, 0.6]]),)), own, wanted).probabilities
    (array([[0.4, 0. , 0.6]]),)
    """
    if own.blocks is wanted.blocks:
        return piece
    pairs = list(zip(own.blocks, wanted.blocks, strict=True))
    if isinstance(piece, JointPrediction):
        parts = []
        for part in piece.parts:
            count = len(part.values) if isinstance(part, LabelPrediction) else 1
            mine, pairs = pairs[:count], pairs[count:]
            parts.append(_widen(part, mine))
        return JointPrediction(tuple(parts))
    return _widen(piece, pairs)


def unseen_components(own: Outcomes, wanted: Outcomes) -> Array:
    """1 at the components that stand for a class the model does not know, else 0.

    Examples
    --------
    >>> own = Outcomes((Labels(np.array(["a", "c"])),))
    >>> unseen_components(own, Outcomes((Labels(np.array(["a", "b", "c"])),)))
    array([0., 1., 0.])
    """
    blocks = []
    for mine, all_ in zip(own.blocks, wanted.blocks, strict=True):
        unseen = np.zeros(all_.width)
        if isinstance(mine, Labels) and isinstance(all_, Labels):
            unseen[:] = 1.0
            unseen[_positions(mine, all_)] = 0.0
        blocks.append(unseen)
    return np.concatenate(blocks)


def stack(pieces: Sequence[Any]) -> AnyPrediction:
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
    scale = factor = None
    if first.scale is not None:
        scale = np.concatenate([piece.scale for piece in pieces])
    if first.factor is not None:
        factor = np.concatenate([piece.factor for piece in pieces])
    location = np.concatenate([piece.location for piece in pieces])
    return Prediction(location, scale, factor=factor)


def _widen(piece: AnyPrediction, pairs: list[tuple[Block, Block]]) -> AnyPrediction:
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


def _positions(mine: Block, all_: Block) -> list[int]:
    """Where the classes of one block stand among those of another."""
    if not (isinstance(mine, Labels) and isinstance(all_, Labels)):
        return list(range(all_.width))
    position = {label: k for k, label in enumerate(all_.classes.tolist())}
    return [position[label] for label in mine.classes.tolist()]


def _like(first: LabelPrediction, blocks: list[Array]) -> LabelPrediction:
    """Probabilities where the first are, margins otherwise."""
    if first.probabilities is None:
        return LabelPrediction(None, tuple(blocks))
    return LabelPrediction(tuple(blocks))
