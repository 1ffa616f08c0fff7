"""Rows that add up several functions of the outcome, each with its places.

Read from the written expression, and compared with it at random points before it is
used: how the model was made robust plays no part.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from ..model.collinear import merged
from ..model.nature import Nature
from ..model.summands import Summand, Summands, total
from ..model.variable_bounds import declared_sign
from .concave import ConcavePart
from .places import affine_parts, places_of
from .reading import CLOSE, Frame, read
from .sum_row import BentTerm, SumRow, sum_at
from .tape import Leaves

#: Points at which rows are compared with what is written.
POINTS = 16


def sum_rows(moving: cp.Expression, frame: Frame) -> tuple[SumRow, ...]:
    """The rows of an expression as sums; () where each can do without, or where some
    row is no sum of convex functions of the outcome, and of a concave one.
    """
    if Nature(moving).is_concave:
        return ()
    reader = Summands()
    rows, alone = [], True
    for i in range(moving.size):
        parts = reader.of(moving, i)
        if parts is None:
            return ()
        row = _row(reader, parts, frame)
        if row is None:
            return ()
        rows.append(row)
        alone &= _is_alone(reader, parts, row)
    if alone or not _are_written(rows, moving, frame):
        return ()
    return tuple(rows)


def _row(reader: Summands, parts: list[Summand], frame: Frame) -> SumRow | None:
    concave, rest = _taken_apart(parts, frame)
    even = [part.value for part in rest if not part.bent]
    linear = places_of(total(even), frame)[0] if even else None
    bent = [part for part in rest if part.bent]
    if not all(Nature(part.value).is_convex for part in bent):
        return None
    pieces = [reader.pieces(part) for part in bent]
    largest = merged([each for each in pieces if each is not None])
    terms = [BentTerm(places_of(cp.hstack(each), frame), True) for each in largest]
    pairs = zip(bent, pieces, strict=True)
    terms += [_curve(part, frame) for part, each in pairs if each is None]
    return SumRow(linear, tuple(terms), concave)


def _taken_apart(
    parts: list[Summand], frame: Frame
) -> tuple[ConcavePart | None, list[Summand]]:
    """What bends the outcome downwards, with all that is linear in the same keys, and
    the other parts.
    """
    views = [Nature(part.value) for part in parts]
    bends = [
        part.bent and view.is_concave and not view.is_convex
        for part, view in zip(parts, views, strict=True)
    ]
    seen = [{frame.outcomes[number][1] for number in view.outcomes} for view in views]
    keys = {key for own, down in zip(seen, bends, strict=True) if down for key in own}
    inside = [
        down or (not part.bent and bool(keys & own))
        for part, down, own in zip(parts, bends, seen, strict=True)
    ]
    taken = [part.value for part, within in zip(parts, inside, strict=True) if within]
    rest = [part for part, within in zip(parts, inside, strict=True) if not within]
    return ConcavePart(Nature(total(taken)), frame) if taken else None, rest


def _is_alone(reader: Summands, parts: list[Summand], row: SumRow) -> bool:
    """Whether trying each place that is written by itself finds the worst outcome.

    The pieces of a sum of the largest, and of maxima within a maximum, are not written:
    they are sums of what is.
    """
    if row.concave is not None and row.terms:
        return False
    if row.linear is not None or len(row.terms) > 1:
        return False
    bodies = [part.body for part in parts if part.bent]
    written = not any(isinstance(body, cp.sum_largest) for body in bodies)
    written &= all(reader.is_linear(arg) for body in bodies for arg in body.args)
    return all(
        written if term.is_largest else len(term.places) == 1 for term in row.terms
    )


def _curve(part: Summand, frame: Frame) -> BentTerm:
    inner = affine_parts(part.value)
    places = [place for one in inner for place in places_of(one, frame)]
    return BentTerm(tuple(place for place in places if place.entries), False)


def _are_written(rows: list[SumRow], moving: cp.Expression, frame: Frame) -> bool:
    """Whether rows of maxima say what the expression says, at random points."""
    leaves = _scattered(frame)
    tape = read(moving, frame)
    wanted = tape.rows(leaves)
    size = tape.gross(leaves, np.zeros(leaves.values.shape))
    for r, row in enumerate(rows):
        if row.concave or not all(term.is_largest for term in row.terms):
            continue
        value = sum_at(row, leaves)
        if not (np.abs(value - wanted[:, r]) <= CLOSE * size[:, r]).all():
            return False
    return True


def _scattered(frame: Frame) -> Leaves:
    """Leaves at random, of either sign unless one is declared."""
    width, dims, count = frame.sizes()
    rng = np.random.default_rng(2)
    values, ordinary = rng.normal(size=(POINTS, width)), rng.normal(size=count)
    outcomes = [rng.normal(size=(POINTS, dim)) for dim in dims]
    for number, leaf in frame.leaves.items():
        if number in frame.variables:
            rows, start = values, frame.variables[number]
            sign = declared_sign(leaf)
        elif number in frame.outcomes:
            start, key = frame.outcomes[number]
            rows, sign = outcomes[key], int(leaf.is_nonneg()) - int(leaf.is_nonpos())
        else:
            rows, start = ordinary[None], frame.ordinary[number]
            sign = int(leaf.is_nonneg()) - int(leaf.is_nonpos())
        own = slice(start, start + leaf.size)
        if sign:
            rows[:, own] = sign * np.abs(rows[:, own])
    return Leaves(values, outcomes, ordinary)
