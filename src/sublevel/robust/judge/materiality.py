"""What a miss is worth where a row has next to no size of its own.

The derivatives of all written rows in the decision, taken by differences where a row is
not affine in it, say how far an entry of the decision can move before another row
notices: until some row that has a size changes by all of it. A miss of a row without a
size is measured in such moves, and so is the noise that a solver leaves in a decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...checks import Array
from .affine_rows import ADDING, ROUNDED, AffineRows
from .tape import Leaves, Tape

if TYPE_CHECKING:
    from .ruler import Ruler

#: Rows as they are written, and as affine ones where they are.
Written = list[tuple[Tape, AffineRows | None]]

#: A row below this share of what it would be elsewhere has no size, and an entry below
#: this share of what it is worth elsewhere is the solver's zero.
NEGLIGIBLE = 1e-6
#: Share of what it is worth from which on an entry holds others: a solver's noise is
#: more than its zeros where bounds are far away.
HELD = 1e-5
#: Relative size of the digits of a decision that are the solver's noise.
RESOLUTION = 1e-8
#: Steps that have one slope everywhere, whichever way.
SMOOTH = (
    *ADDING,
    *("variable", "outcome", "ordinary", "constant", "multiply", "product", "divide"),
    *("exp", "log", "log1p", "logistic", "power", "quad_form", "quad_over_lin"),
    *("entropy", "relative_entropy", "kl_divergence", "log_sum_exp"),
)
#: Relative change of a row that rounding hides, and how much further to go then.
UNSEEN, FURTHER = 1e-8, (1e4, 1e8, 1e12)
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
        tapes = _every(ruler)
        worth, most = _worth(ruler, part, _derivatives(tapes, part))
        change = np.abs(_changes(tapes, part, worth))
        zero = np.abs(part.values) <= NEGLIGIBLE * worth
        size = np.max(np.where(zero[:, None, :], change, 0.0), axis=2, initial=0.0)
        # Certain rows, as flows that are conserved, are a matter of solving only: it is
        # enough that two entries could mend them.
        second = _second(change[:, ruler.rows :])
        size[:, ruler.rows :] = np.maximum(size[:, ruler.rows :], second)
        # The objective is what it is: only the solver's word for it is in question.
        last = np.abs(_changes(tapes[-1:], part, most))
        size[:, -1] = last[:, -1].max(axis=1, initial=0)
        pieces.append(size)
    return np.vstack(pieces)


def noise(
    ruler: Ruler, leaves: Leaves, feared: Sequence[Array], zeros: bool = True
) -> Array:
    """What the last digits of a decision are worth, between the worst outcome and this.

    An entry that is the solver's zero has no digits that mean something; without
    `zeros` it has those that any other has.

    Returns
    -------
    array of shape (n, uncertain rows + 1 if the objective is uncertain)
    """
    pieces, start = [], 0
    for part in _pieces(ruler, leaves):
        stop = start + len(part)
        here = _derivatives(_every(ruler), part)
        there = _derivatives(
            _uncertain(ruler), replace(part, outcomes=[y[start:stop] for y in feared])
        )
        worth, _ = _worth(ruler, part, here)
        here = here[:, [*range(ruler.rows), *([-1] if ruler.cost else [])]]
        size = np.abs(part.values)
        digits = RESOLUTION * np.maximum(size, worth)
        if zeros:
            # It might as well be on the other side of zero.
            zero = size <= NEGLIGIBLE * worth
            digits = np.maximum(digits, np.where(zero, 2 * size, 0.0))
        pieces.append(np.sum(np.abs(here - there) * digits[:, None, :], axis=2))
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


def _every(ruler: Ruler) -> Written:
    """All rows: uncertain, certain, and the objective."""
    return list(zip(ruler.tapes, ruler.affine, strict=True))


def _uncertain(ruler: Ruler) -> Written:
    """The uncertain rows, and the objective if it is one of them."""
    every = _every(ruler)
    return every[: len(ruler.uncertain)] + (every[-1:] if ruler.cost else [])


def _derivatives(tapes: Written, leaves: Leaves) -> Array:
    """Change of every row for each entry of the decision: (n, rows, entries)."""
    size = np.abs(leaves.values)
    largest = size.max(axis=1, keepdims=True, initial=0.0)
    step = 0.01 * np.maximum(size, 0.001 * np.where(largest > 0, largest, 1.0))
    change = _clean(tapes, leaves, step, _either_way(tapes, leaves, step))
    slopes = change / step[:, None, :]
    if all(affine is not None for _, affine in tapes):
        return slopes
    # A decision that is nothing but noise moves by less than rounding beside constants.
    lost = np.abs(change) <= UNSEEN * np.abs(_rows(tapes, leaves))[:, :, None]
    lost &= ~_exact(tapes)[:, None]
    for further in FURTHER:
        at = np.flatnonzero(np.any(np.all(lost, axis=2), axis=1))
        if not at.size:
            break
        wide = further * step[at]
        part = Leaves(
            leaves.values[at], [y[at] for y in leaves.outcomes], leaves.ordinary
        )
        change = _clean(tapes, part, wide, _changes(tapes, part, wide))
        slopes[at] = np.where(lost[at], change / wide[:, None, :], slopes[at])
        lost[at] &= np.abs(change) <= UNSEEN * np.abs(_rows(tapes, part))[:, :, None]
    return slopes


def _either_way(tapes: Written, leaves: Leaves, step: Array) -> Array:
    """Changes by a step up, or down where that changes more: a shortage that is none
    yet grows one way only.
    """
    change = _changes(tapes, leaves, step)
    start = 0
    for tape, affine in tapes:
        rows = slice(start, start + int(np.prod(tape.shape, dtype=int)))
        if affine is None and not all(one.name in SMOOTH for one in tape.steps):
            up = change[:, rows]
            down = -_changes([(tape, None)], leaves, -step)
            change[:, rows] = np.where(np.abs(down) > np.abs(up), down, up)
        start = rows.stop
    return change


def _clean(tapes: Written, leaves: Leaves, step: Array, change: Array) -> Array:
    """Changes without those that are what rounding leaves of terms that cancel.

    A slope made of that is no hold: an entry would be worth 1e16 times what it is.
    """
    start = 0
    for tape, affine in tapes:
        rows = slice(start, start + int(np.prod(tape.shape, dtype=int)))
        if affine is None:
            added_up = tape.gross(leaves, step)[:, :, None]
            part = change[:, rows]
            change[:, rows] = np.where(np.abs(part) <= ROUNDED * added_up, 0.0, part)
        start = rows.stop
    return change


def _exact(tapes: Written) -> npt.NDArray[np.bool_]:
    """Which rows have derivatives that are no differences, shape (rows,)."""
    known = [affine is not None for _, affine in tapes]
    counts = [int(np.prod(tape.shape, dtype=int)) for tape, _ in tapes]
    return np.repeat(known, counts)


def _changes(tapes: Written, leaves: Leaves, step: Array) -> Array:
    """Change of every row as each entry moves by its step: (n, rows, entries)."""
    n, width = leaves.values.shape
    changes = [np.zeros((n, 0, width))]
    trials: Leaves | None = None
    for tape, affine in tapes:
        if affine is not None:
            changes.append(affine.changes(step, leaves.outcomes))
            continue
        if trials is None:
            trials = _trials(leaves, step)
        rows = tape.rows(trials).reshape(n, width + 1, -1)
        changes.append((rows[:, 1:] - rows[:, :1]).transpose(0, 2, 1))
    together = np.concatenate(changes, axis=1)
    return np.nan_to_num(together, copy=False, posinf=0.0, neginf=0.0)


def _trials(leaves: Leaves, step: Array) -> Leaves:
    """Every decision as it is, and with each of its entries moved by its step."""
    n, width = leaves.values.shape
    trials = np.repeat(leaves.values, width + 1, axis=0).reshape(n, width + 1, width)
    entries = np.arange(width)
    trials[:, entries + 1, entries] += step
    return Leaves(
        trials.reshape(n * (width + 1), width),
        [np.repeat(y, width + 1, axis=0) for y in leaves.outcomes],
        leaves.ordinary,
    )


def _second(change: Array) -> Array:
    """The largest but one along the last axis, 0 where there is none: (n, rows)."""
    if change.shape[2] < 2:
        return np.zeros(change.shape[:2])
    return np.asarray(np.partition(change, -2, axis=2)[:, :, -2])


def _rows(tapes: Written, leaves: Leaves) -> Array:
    """The rows as written: (n, rows)."""
    return np.hstack(
        [np.zeros((len(leaves), 0))]
        + [
            tape.rows(leaves) if affine is None else affine.at(leaves)
            for tape, affine in tapes
        ]
    )


def _nets(ruler: Ruler, leaves: Leaves) -> Array:
    """Net sizes of all rows, the objective last: (n, rows)."""
    parts = [part.at(leaves)[1] for part in (*ruler.uncertain, *ruler.certain)]
    if ruler.cost is None:
        parts.append(np.abs(ruler.objective.rows(leaves)))
    else:
        parts.append(ruler.cost.at(leaves)[1])
    return np.hstack(parts)


def _worth(ruler: Ruler, leaves: Leaves, slopes: Array) -> tuple[Array, Array]:
    """How far each entry can move before a row that has a size changes by all of it.

    A row has the size of what its variables add up to, or of what is left of it
    without them, unless that cancels. What counts are the rows that hold an entry to a
    number. Where none does it is those that still have a size as their entries move.

    Returns
    -------
    two arrays of shape (n, entries) : by the first row to change, and, where none holds
        an entry, by the last
    """
    movable, values = ~ruler.whole, np.abs(leaves.values)
    tapes, slopes = _every(ruler), slopes * movable
    constant = np.abs(_without(tapes, leaves, slopes, movable))
    slopes = np.abs(slopes)
    terms = np.sum(slopes * values[:, None, :], axis=2)
    gross = np.maximum(terms, constant)
    firm = constant > RESOLUTION * gross
    size = np.where(firm, np.fmin(gross, _nets(ruler, leaves)), terms)
    alive = (size > 0) & (size >= NEGLIGIBLE * gross)
    # What is written on one side of a limit that is met cancels there; it holds.
    holds = np.where(alive, size, gross)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.where(slopes > 0, holds[:, :, None] / slopes, np.inf)
    held = _held(moves, values, _declared(ruler, leaves.values), firm)
    far = np.where(alive[:, :, None] & np.isfinite(moves), moves, 0.0)
    most = np.where(held > 0, held, far.max(axis=1, initial=0.0))
    would_be = np.max(np.abs(_changes(tapes, leaves, most)), axis=2, initial=0.0)
    solid = alive & (size >= NEGLIGIBLE * would_be)
    return np.where(held > 0, held, _least(moves, solid)), most


def _without(
    tapes: Written,
    leaves: Leaves,
    slopes: Array,
    movable: npt.NDArray[np.bool_],
) -> Array:
    """What is left of rows without their variables: (n, rows).

    Of a row that is no number there, as a logarithm at zero, by its slopes.
    """
    still = replace(leaves, values=np.where(movable, 0.0, leaves.values))
    rows = _rows(tapes, still)
    lost = ~np.isfinite(rows)
    if lost.any():
        moved = np.sum(slopes * leaves.values[:, None, :], axis=2)
        rows = np.where(lost, _rows(tapes, leaves) - moved, rows)
    return np.asarray(np.nan_to_num(rows, posinf=0.0, neginf=0.0))


def _declared(ruler: Ruler, values: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The size of the nearer declared bound other than 0 of each entry, inf where there
    is none; and whether the entry is at one: (n, entries) each.
    """
    size, at = np.full(values.shape, np.inf), np.zeros(values.shape, dtype=bool)
    for end in (ruler.lower, ruler.upper):
        own = np.where(np.isfinite(end) & (end != 0), np.abs(end), np.inf)
        size = np.minimum(size, own)
        at |= np.isfinite(own) & (np.abs(values - end) <= NEGLIGIBLE * own)
    return size, at


def _held(
    moves: Array,
    values: Array,
    declared: tuple[Array, npt.NDArray[np.bool_]],
    firm: npt.NDArray[np.bool_],
) -> Array:
    """The least move that rows allow which hold an entry to a number, directly or by
    other entries: (n, entries), 0 where there is none.

    A row without a constant holds an entry to what is in it and not next to nothing:
    what is shipped to what is received, and that to the demand. A loose bound beside
    says nothing of either, nor does a declared one unless the entry is there.

    Parameters
    ----------
    moves : by which entries change a row by all of it, shape (n, rows, entries)
    values : sizes of the entries, shape (n, entries)
    declared : as by `_declared`
    firm : rows with a constant, shape (n, rows)
    """
    bound, at_bound = declared
    met, real = np.isfinite(moves), np.zeros(values.shape, dtype=bool)
    while True:
        known = (met & real[:, None, :]).any(axis=2)
        worth = _least(moves, firm | known)
        worth = np.where(worth > 0, np.minimum(worth, bound), worth)
        worth = np.where((worth == 0) & at_bound, bound, worth)
        more = real | ((worth > 0) & (values > HELD * worth))
        if (more == real).all():
            return worth
        real = more


def _least(moves: Array, rows: npt.NDArray[np.bool_]) -> Array:
    """The least move that some rows allow, 0 where there is none: (n, entries)."""
    least = np.where(rows[:, :, None], moves, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, 0.0)
