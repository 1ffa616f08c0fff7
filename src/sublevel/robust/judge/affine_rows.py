"""Rows whose derivatives are the same at every decision and every outcome.

Most certain rows are: bounds, balances, budgets. What they are, and what they change by
as an entry of the decision moves, is a product, not an evaluation of the row for each
entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array
from .tape import Leaves, Step, Tape

#: Steps that add up or move what they are given.
ADDING = ("add", "negate", "left", "linear", "gather", "sum")
#: Tables of more numbers than this are not worth keeping.
MOST_NUMBERS = 1_000_000
#: How far entries are moved to read slopes: a power of two, which costs no digit, and
#: so large that a constant beside a slope takes none of its digits.
FAR = 2.0**100


@dataclass(frozen=True, eq=False)
class AffineRows:
    """Rows  slopes x + constant.

    Attributes
    ----------
    slopes : shape (rows, entries of the variables)
    constant : shape (rows,)
    """

    slopes: Array
    constant: Array

    def at(self, values: Array) -> Array:
        """The rows at decisions (n, entries), shape (n, rows)."""
        return np.asarray(values @ self.slopes.T + self.constant)

    def changes(self, step: Array) -> Array:
        """Change of each row as each entry moves by its step: (n, rows, entries)."""
        return np.asarray(self.slopes * step[:, None, :])


def as_affine(tape: Tape, entries: int) -> AffineRows | None:
    """The rows of a tape as affine ones; None where they are not seen to be.

    Parameters
    ----------
    tape : rows as they are written
    entries : number of entries of the variables

    Examples
    --------
    >>> x = Step("variable", (), (2,), (0,))
    >>> two = Step("constant", (), (), (np.array(2.0),))
    >>> rows = as_affine(Tape((x, two, Step("multiply", (1, 0), (2,)))), 2)
    >>> rows.at(np.array([[1.0, 3.0]]))
    array([[2., 6.]])
    >>> as_affine(Tape((x, Step("power", (0,), (2,), (2.0,)))), 2)
    """
    # A tape of another kind may do something else with its steps.
    if type(tape) is not Tape or not _is_affine(tape.steps):
        return None
    if int(np.prod(tape.shape, dtype=int)) * entries > MOST_NUMBERS:
        return None
    points = np.vstack([np.zeros((1, entries)), FAR * np.eye(entries)])
    rows = tape.rows(Leaves(points, (), np.zeros(0)))
    if not np.isfinite(rows).all():
        return None
    return AffineRows((rows[1:] - rows[:1]).T / FAR, rows[0])


def _is_affine(steps: tuple[Step, ...]) -> bool:
    """Whether the last step is affine in the variables, and depends on nothing else."""
    moves: list[bool] = []
    for step in steps:
        moving = sum(moves[k] for k in step.args)
        may = {
            "variable": True,
            "constant": True,
            "multiply": moving <= 1,
            "product": moving <= 1,
            "divide": not moving or not moves[step.args[-1]],
        }
        if not may.get(step.name, step.name in ADDING):
            return False
        moves.append(step.name == "variable" or moving > 0)
    return True
