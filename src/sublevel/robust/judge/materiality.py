"""What a miss is worth where a row has next to no size of its own.

The derivatives of all written rows in the decision, taken by differences, say how far an
entry of the decision can move before another row notices: until some row that has a size
changes by all of it. A miss of a row without a size is measured in such moves, and so is
the noise that a solver leaves in a decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...checks import Array
from .tape import Leaves

if TYPE_CHECKING:
    from .ruler import Ruler

#: A row whose terms are below this share of what they would be elsewhere has no size.
NEGLIGIBLE = 1e-6
#: Relative size of the digits of a decision that are the solver's noise.
RESOLUTION = 1e-8
#: An entry below this share of what it is worth elsewhere is the solver's zero; a miss
#: of it is noise below the other one.
ZERO, NOISE = 1e-5, 1e-6
#: Numbers of contexts and of trial decisions looked at together.
MOST_TRIALS = 50_000


def sizes_elsewhere(ruler: Ruler, leaves: Leaves) -> Array:
    """Size of every row by what the variables at zero in it are worth elsewhere.

    Only those: a large constant next to a variable of its size is a cancellation, and
    no reason to forgive the row what is left of it.

    Returns
    -------
    array of shape (n, uncertain rows + certain rows + 1) : the objective last
    """
    pieces = []
    for part in _pieces(ruler, leaves):
        slopes = _derivatives(ruler, part)
        worth = _worth(slopes, part.values, _nets(ruler, part), ~ruler.whole)
        worth = np.where(np.abs(part.values) <= ZERO * worth, worth, 0.0)
        pieces.append(np.max(np.abs(slopes) * worth[:, None, :], axis=2, initial=0.0))
    return np.vstack(pieces)


def noise(ruler: Ruler, leaves: Leaves, feared: Sequence[Array]) -> Array:
    """What the last digits of a decision are worth, between the worst outcome and this.

    An entry that is the solver's zero has no digits that mean something.

    Returns
    -------
    array of shape (n, uncertain rows + 1 if the objective is uncertain)
    """
    pieces, start = [], 0
    for part in _pieces(ruler, leaves):
        stop = start + len(part)
        here = _derivatives(ruler, part)
        there = _derivatives(
            ruler, replace(part, outcomes=[y[start:stop] for y in feared])
        )
        worth = _worth(here, part.values, _nets(ruler, part), ~ruler.whole)
        size = np.abs(part.values)
        digits = RESOLUTION * np.maximum(size, worth)
        # It might as well be on the other side of zero.
        digits = np.maximum(digits, np.where(size <= NOISE * worth, 2 * size, 0.0))
        moved = np.sum(np.abs(here - there) * digits[:, None, :], axis=2)
        kept = [*range(ruler.rows), *([moved.shape[1] - 1] if ruler.cost else [])]
        pieces.append(moved[:, kept])
        start = stop
    return np.vstack(pieces)


def _pieces(ruler: Ruler, leaves: Leaves) -> list[Leaves]:
    step = max(1, MOST_TRIALS // (leaves.values.shape[1] + 1))
    return [
        Leaves(
            leaves.values[a : a + step],
            [y[a : a + step] for y in leaves.outcomes],
            leaves.ordinary,
        )
        for a in range(0, len(leaves), step)
    ]


def _derivatives(ruler: Ruler, leaves: Leaves) -> Array:
    """Change of every row for each entry of the decision: (n, rows, entries).

    Rows are the uncertain ones, the certain ones and the objective, in this order.
    """
    n, width = leaves.values.shape
    size = np.abs(leaves.values)
    largest = size.max(axis=1, keepdims=True, initial=0.0)
    step = 0.01 * np.maximum(size, 0.001 * np.where(largest > 0, largest, 1.0))
    trials = np.repeat(leaves.values, width + 1, axis=0).reshape(n, width + 1, width)
    entries = np.arange(width)
    trials[:, entries + 1, entries] += step
    wide = Leaves(
        trials.reshape(n * (width + 1), width),
        [np.repeat(y, width + 1, axis=0) for y in leaves.outcomes],
        leaves.ordinary,
    )
    tapes = [part.residual for part in (*ruler.uncertain, *ruler.certain)]
    rows = np.hstack([tape.rows(wide) for tape in [*tapes, ruler.objective]])
    rows = rows.reshape(n, width + 1, -1)
    change = (rows[:, 1:] - rows[:, :1]) / step[:, :, None]
    return np.nan_to_num(change.transpose(0, 2, 1), posinf=0.0, neginf=0.0)


def _nets(ruler: Ruler, leaves: Leaves) -> Array:
    """Net sizes of all rows, the objective last: (n, rows)."""
    parts = [part.at(leaves)[1] for part in (*ruler.uncertain, *ruler.certain)]
    if ruler.cost is None:
        parts.append(np.abs(ruler.objective.rows(leaves)))
    else:
        parts.append(ruler.cost.at(leaves)[1])
    return np.hstack(parts)


def _worth(slopes: Array, values: Array, net: Array, movable: Array) -> Array:
    """How far each entry can move before a row that has a size changes by all of it.

    The size of a row is what the variables in it add up to, or what is left of it.
    """
    slopes = np.abs(slopes) * movable
    size = np.sum(slopes * np.abs(values)[:, None, :], axis=2)
    size = np.fmin(size, net)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.where(slopes > 0, size[:, :, None] / slopes, np.nan)
        most = np.nan_to_num(np.nanmax(_or_zero(moves), axis=1))
        would_be = np.max(slopes * most[:, None, :], axis=2, initial=0.0)
        solid = size >= NEGLIGIBLE * would_be
        least = np.where(solid[:, :, None], moves, np.nan)
        least = np.where(np.isnan(least), np.inf, least).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, most)


def _or_zero(moves: Array) -> Array:
    """The same with a row of zeros, so that there is always something to compare."""
    return np.concatenate([moves, np.zeros_like(moves[:, :1])], axis=1)
