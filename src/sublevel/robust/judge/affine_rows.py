"""Rows that are affine in the decision, whatever the outcome.

Most rows are: bounds, balances and budgets, and what an outcome multiplies. What they
are, and what they change by as an entry of the decision moves, is a product, not an
evaluation of the row for each entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...checks import Array
from ...conic.program import Indices
from .tape import Leaves, Step, Tape

#: Steps that add up or move what they are given.
ADDING = ("add", "negate", "left", "linear", "gather", "sum")
#: Tables of more numbers than this are not worth keeping, nor those whose making takes
#: more.
MOST_NUMBERS, MOST_MADE = 1_000_000, 5_000_000
#: How far entries are moved to read slopes: a power of two, which costs no digit, and
#: so large that a constant beside a slope takes none of its digits.
FAR = 2.0**100
#: Share of what was added up for it below which a slope is rounding.
ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class Moved:
    """What an outcome adds to rows.

    Attributes
    ----------
    where : which of its entries do, shape (k,)
    slopes : what each adds to the slopes, shape (k, rows, entries of the variables)
    constant : and to the constant, shape (k, rows)
    """

    where: Indices
    slopes: Array
    constant: Array


@dataclass(frozen=True, eq=False)
class AffineRows:
    """Rows  (slopes + what outcomes add) x + constant + what outcomes add.

    Attributes
    ----------
    slopes : at an outcome of zeros, shape (rows, entries of the variables)
    constant : there, shape (rows,)
    moved : what outcomes add, by the number of their key
    """

    slopes: Array
    constant: Array
    moved: Mapping[int, Moved]

    def at(self, leaves: Leaves) -> Array:
        """The rows, shape (n, rows)."""
        values = leaves.values
        if not self.moved:
            return np.asarray(values @ self.slopes.T + self.constant)
        constant = self._with_outcomes(leaves.outcomes, "constant")
        slopes = self._with_outcomes(leaves.outcomes, "slopes")
        return np.asarray((slopes @ values[:, :, None])[:, :, 0] + constant)

    def changes(self, step: Array, outcomes: Sequence[Array]) -> Array:
        """Change of each row as each entry moves by its step: (n, rows, entries)."""
        return np.asarray(self._clean_slopes(outcomes) * step[:, None, :])

    def _clean_slopes(self, outcomes: Sequence[Array]) -> Array:
        """Slopes at outcomes, 0 where they are what rounding left of terms that cancel.

        Such a slope is no row's hold on an entry: its entry would be worth 1e16 times
        what it is, and any value of it next to nothing.
        """
        slopes = self._with_outcomes(outcomes, "slopes")
        if not self.moved:
            return slopes
        sizes = [np.abs(each) for each in outcomes]
        added_up = self._sizes._with_outcomes(sizes, "slopes")
        return np.where(np.abs(slopes) <= ROUNDED * added_up, 0.0, slopes)

    @cached_property
    def _sizes(self) -> AffineRows:
        """The same without signs."""
        moved = {
            key: Moved(each.where, np.abs(each.slopes), np.abs(each.constant))
            for key, each in self.moved.items()
        }
        return AffineRows(np.abs(self.slopes), np.abs(self.constant), moved)

    def _with_outcomes(self, outcomes: Sequence[Array], name: str) -> Array:
        """Slopes or constants at outcomes: (n, ...), or (1, ...) if these add nothing.

        nan where an outcome that is no number adds something.
        """
        total = np.asarray(getattr(self, name))[None]
        for key, moved in self.moved.items():
            table = np.asarray(getattr(moved, name))
            shape, table = table.shape[1:], table.reshape(len(table), -1)
            given = outcomes[key][:, moved.where]
            finite = np.isfinite(given)
            if finite.all():
                added = given @ table
            else:
                added = np.where(finite, given, 0.0) @ table
                added[(~finite).astype(float) @ (table != 0) > 0] = np.nan
            total = total + added.reshape(-1, *shape)
        return np.asarray(total)


def as_affine(tape: Tape, entries: int) -> AffineRows | None:
    """The rows of a tape as affine ones; None where they are not seen to be.

    Parameters
    ----------
    tape : rows as they are written
    entries : number of entries of the variables

    Examples
    --------
    >>> x = Step("variable", (), (2,), (0,))
    >>> y = Step("outcome", (), (2,), (0, 0))
    >>> rows = as_affine(Tape((x, y, Step("multiply", (1, 0), (2,)))), 2)
    >>> rows.at(Leaves(np.array([[1.0, 3.0]]), [np.array([[2.0, 5.0]])], np.zeros(0)))
    array([[ 2., 15.]])
    >>> as_affine(Tape((x, Step("power", (0,), (2,), (2.0,)))), 2)
    """
    # A tape of another kind may do something else with its steps.
    if type(tape) is not Tape or not _is_affine(tape.steps):
        return None
    where = _entries_met(tape.steps)
    met = sum(map(len, where.values()))
    rows = int(np.prod(tape.shape, dtype=int))
    points = (entries + 1) * (met + 1)
    if (met + 1) * rows * entries > MOST_NUMBERS or points * entries > MOST_MADE:
        return None
    values = np.vstack([np.zeros((1, entries)), FAR * np.eye(entries)])
    widths = {key: int(at.max()) + 1 for key, at in where.items()}
    outcomes = [
        np.zeros((met + 1, widths.get(k, 0))) for k in range(max(where, default=-1) + 1)
    ]
    start = 1
    for key, at in where.items():
        outcomes[key][start + np.arange(len(at)), at] = FAR
        start += len(at)
    leaves = Leaves(
        np.tile(values, (met + 1, 1)),
        [np.repeat(each, entries + 1, axis=0) for each in outcomes],
        np.zeros(0),
    )
    table = tape.rows(leaves).reshape(met + 1, entries + 1, rows)
    if not np.isfinite(table).all():
        return None
    sizes = tape.gross(leaves, np.zeros(leaves.values.shape)).reshape(table.shape)
    constants = table[:, 0]
    slopes = (table[:, 1:] - constants[:, None]).transpose(0, 2, 1)
    # What is added to slopes by an outcome, and in the first table by none.
    slopes[1:] -= slopes[0]
    slopes[np.abs(slopes) <= ROUNDED * sizes[:, 1:].transpose(0, 2, 1)] = 0.0
    moved, start = {}, 1
    for key, at in where.items():
        stop = start + len(at)
        more = (constants[start:stop] - constants[0]) / FAR
        moved[key] = Moved(at, slopes[start:stop] / FAR**2, more)
        start = stop
    return AffineRows(slopes[0] / FAR, constants[0], moved)


def _entries_met(steps: tuple[Step, ...]) -> dict[int, Indices]:
    """The entries of each outcome that a tape has, by the number of its key."""
    met: dict[int, set[int]] = {}
    for step in steps:
        if step.name == "outcome":
            start, key = step.data[:2]
            size = int(np.prod(step.shape, dtype=int))
            met.setdefault(key, set()).update(range(start, start + size))
    return {key: np.array(sorted(at), dtype=int) for key, at in sorted(met.items())}


def _is_affine(steps: tuple[Step, ...]) -> bool:
    """Whether the last step is affine in the variables, and affine in the outcomes."""
    return _moves_along(steps, "variable") and _moves_along(steps, "outcome")


def _moves_along(steps: tuple[Step, ...], leaf: str) -> bool:
    """Whether the last step is affine in one kind of leaf, others given."""
    moves: list[bool] = []
    for step in steps:
        moving = sum(moves[k] for k in step.args)
        may = {
            "variable": True,
            "outcome": True,
            "constant": True,
            "multiply": moving <= 1,
            "product": moving <= 1,
            "divide": not moving or not moves[step.args[-1]],
        }
        if not may.get(step.name, step.name in ADDING):
            return False
        moves.append(step.name == leaf or moving > 0)
    return True
