"""Faults to plant: the library is given a twin of the model, and must be caught."""

from __future__ import annotations

from dataclasses import replace

from .model import Model


def smaller_set(model: Model) -> Model:
    """The first key's set, smaller by a tenth."""
    first, *rest = model.keys
    return replace(model, keys=(replace(first, region=first.region.shrunk(0.9)), *rest))


def dropped_row(model: Model) -> Model:
    """Without the first row."""
    return replace(model, rows=model.rows[1:])


def wrong_sign(model: Model) -> Model:
    """The first row's products with the other sign."""
    first, *rest = model.rows
    piece, *others = first.pieces
    piece = replace(piece, yx=-piece.yx)
    return replace(model, rows=(replace(first, pieces=(piece, *others)), *rest))


def rosier_objective(model: Model) -> Model:
    """The objective's set side forgotten: outcomes at a tenth of their weight."""
    piece, *others = model.objective.pieces
    piece = replace(piece, y=piece.y / 10, yx=piece.yx / 10)
    return replace(model, objective=replace(model.objective, pieces=(piece, *others)))


def harder_row(model: Model) -> Model:
    """The first row with a limit that nothing keeps."""
    first, *rest = model.rows
    return replace(model, rows=(replace(first, limit=first.limit - 100.0), *rest))


def dearer_row(model: Model) -> Model:
    """The first row with less room than there is."""
    first, *rest = model.rows
    return replace(model, rows=(replace(first, limit=0.9 * first.limit), *rest))
