"""A failing model made smaller, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .model import Key, Model, Piece, Row

#: Models tried before the smallest so far is taken.
MOST_TRIES = 80


def shrink(
    model: Model, fails: Callable[[Model], bool], tries: int = MOST_TRIES
) -> Model:
    """The smallest model within reach that still fails."""
    left = tries
    smaller = True
    while smaller and left > 0:
        smaller = False
        for candidate in candidates(model):
            left -= 1
            try:
                still = fails(candidate)
            except Exception:
                still = False  # the oracle cannot look at it
            if still:
                model, smaller = candidate, True
                break
            if left <= 0:
                break
    return model


def candidates(model: Model) -> Iterator[Model]:
    """Models with something less, the largest steps first."""
    yield from _without_keys(model)
    for k in range(len(model.rows)):
        yield replace(model, rows=model.rows[:k] + model.rows[k + 1 :])
    if model.rule is not None:
        yield _without_rule(model)
    if model.booleans:
        yield _without_booleans(model)
    yield from _without_entries(model)
    yield from _in_plain_units(model)
    if model.total is not None:
        yield replace(model, total=None)
    if model.maximise:
        yield replace(model, maximise=False)
    for k, key in enumerate(model.keys):
        for other in _simpler_keys(key):
            yield replace(model, keys=_swapped(model.keys, k, other))
    for where, row in enumerate((model.objective, *model.rows)):
        for other in _simpler_rows(row):
            yield _with_row(model, where, other)


def _swapped(items: tuple, k: int, item) -> tuple:
    return (*items[:k], item, *items[k + 1 :])


def _with_row(model: Model, where: int, row: Row) -> Model:
    if where == 0:
        return replace(model, objective=row)
    return replace(model, rows=_swapped(model.rows, where - 1, row))


def _mapped(model: Model, change: Callable[[Piece], Piece], **fields) -> Model:
    def of(row):
        return replace(row, pieces=tuple(change(piece) for piece in row.pieces))

    rows = tuple(of(row) for row in model.rows)
    return replace(model, rows=rows, objective=of(model.objective), **fields)


def _without_keys(model):
    ends = np.cumsum([key.region.dim for key in model.keys])
    for k, key in enumerate(model.keys):
        if len(model.keys) == 1:
            return
        entries = np.arange(ends[k] - key.region.dim, ends[k])

        def change(piece, entries=entries):
            y, yx = np.delete(piece.y, entries), np.delete(piece.yx, entries, axis=0)
            return replace(piece, y=y, yx=yx)

        keys = model.keys[:k] + model.keys[k + 1 :]
        rule = model.rule
        if rule is not None:
            rule = replace(rule, sees=np.delete(rule.sees, entries, axis=1))
        yield _mapped(model, change, keys=keys, rule=rule)


def _without_rule(model):
    return _mapped(model, lambda piece: replace(piece, w=np.zeros(0)), rule=None)


def _without_booleans(model):
    return _mapped(model, lambda piece: replace(piece, z=np.zeros(0)), booleans=0)


def _without_entries(model):
    for j in range(model.n if model.n > 1 else 0):

        def change(piece, j=j):
            x, yx = np.delete(piece.x, j), np.delete(piece.yx, j, axis=1)
            return replace(piece, x=x, yx=yx)

        fields = {
            name: np.delete(getattr(model, name), j)
            for name in ("lower", "upper", "x_unit")
        }
        yield _mapped(model, change, **fields)


def _in_plain_units(model):
    if (model.x_unit != 1).any():
        yield replace(model, x_unit=np.ones(model.n))
    for k, key in enumerate(model.keys):
        if (key.unit != 1).any():
            plain = replace(key, unit=np.ones(len(key.unit)))
            yield replace(model, keys=_swapped(model.keys, k, plain))
    for where, row in enumerate((model.objective, *model.rows)):
        if any(piece.unit != 1 for piece in row.pieces):
            pieces = tuple(replace(piece, unit=1.0) for piece in row.pieces)
            yield _with_row(model, where, replace(row, pieces=pieces))
    if model.rule is not None and model.rule.unit != 1:
        yield replace(model, rule=replace(model.rule, unit=1.0))


def _simpler_keys(key: Key) -> Iterator[Key]:
    if key.through == "loss_set":
        yield replace(key, through="value")
    if key.nonneg:
        yield replace(key, nonneg=False)
    if len(key.shapes) > 1 or len(key.shapes[0]) > 1:
        yield replace(key, shapes=((key.region.dim,),))
    if key.through == "value":
        for region in key.region.simpler():
            if region.dim == key.region.dim:
                yield replace(key, region=region)


def _simpler_rows(row: Row) -> Iterator[Row]:
    for k in range(len(row.pieces) if len(row.pieces) > 1 else 0):
        yield replace(row, pieces=row.pieces[:k] + row.pieces[k + 1 :])
    for k, piece in enumerate(row.pieces):
        for other in _simpler_pieces(piece):
            yield replace(row, pieces=_swapped(row.pieces, k, other))


def _simpler_pieces(piece: Piece) -> Iterator[Piece]:
    if piece.multiplier is not None:
        yield replace(piece, multiplier=None)
    if piece.style:
        yield replace(piece, style=0)
    for name in ("yx", "y", "w", "z", "x"):
        if getattr(piece, name).any():
            yield replace(piece, **{name: 0 * getattr(piece, name)})
    for name in ("yx", "y", "x"):
        values = getattr(piece, name)
        if np.count_nonzero(values) > 1:
            for at in np.argwhere(values):
                less = values.copy()
                less[tuple(at)] = 0.0
                yield replace(piece, **{name: less})
    if piece.constant:
        yield replace(piece, constant=0.0)
