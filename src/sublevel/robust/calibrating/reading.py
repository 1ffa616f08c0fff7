"""A model read at given decisions and outcomes, for many contexts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from ..modelling.counterpart import RobustConstraint, UncertainRow

#: Values of the variables by their id, shape (n, *shape of the variable).
Values = dict[int, Array]


@dataclass(frozen=True, eq=False)
class PlainRow:
    """A row made of the user's variables alone, as arrays.

    Attributes
    ----------
    columns : the variables it speaks of, one after another; None for the objective's
        worst case, which is left at zero
    certain : array of shape (k + 1,), the row without the outcome; constant last
    slopes : key number -> sparse (entries, k + 1), the direction that hurts
    entries : key number -> which entries of the key
    equal : whether it must be zero, not just nonnegative
    """

    columns: tuple[Any, ...]
    certain: Array
    slopes: dict[int, Any]
    entries: dict[int, Any]
    equal: bool

    def read(self, values: Values, outcomes: list[Array]) -> tuple[Array, Array, Array]:
        """The row without the outcome, what the outcome takes, and their size: (n,)."""
        n = len(outcomes[0])
        parts = [
            np.zeros((n, 1)) if v is None else _flat(values[v.id]) for v in self.columns
        ]
        known = np.hstack([*parts, np.ones((n, 1))])
        constant = known @ self.certain
        hurt, size = np.zeros(n), np.abs(constant)
        if self.equal:
            # What an equality adds up cancels: its rounding is relative to the terms.
            size = np.abs(known) @ np.abs(self.certain)
        for key, matrix in self.slopes.items():
            terms = (matrix @ known.T).T * outcomes[key][:, self.entries[key]]
            hurt += terms.sum(axis=1)
            size = size + (np.abs(terms).sum(axis=1) if self.equal else 0.0)
        return constant, hurt, 1 + size

    def missed(self, values: Values, outcomes: list[Array]) -> Array:
        """Relative violation, negative if kept, shape (n,)."""
        constant, hurt, size = self.read(values, outcomes)
        over = hurt - constant
        return np.asarray((np.abs(over) if self.equal else over) / size)


@dataclass(frozen=True, eq=False)
class Reading:
    """How to read a problem, prepared once.

    Rows without auxiliary variables are read for all contexts at once, anything else
    through the user's own expressions, context by context.

    Attributes
    ----------
    problem : RobustProblem
    variables : the user's variables
    parts : number of uncertain constraints, the objective not counted
    aims : whether the objective is uncertain
    rows : for each uncertain constraint (the objective last) its plain rows, or None
    """

    problem: Any
    variables: tuple[Any, ...]
    parts: int
    aims: bool
    rows: tuple[tuple[PlainRow, ...] | None, ...]

    def missed(self, values: Values, outcomes: list[Array]) -> Array:
        """Relative violation of each constraint, negative if kept: (n, parts)."""
        found = np.full((len(outcomes[0]), self.parts), -np.inf)
        for number in range(self.parts):
            plain, written = self.rows[number], self.problem._robust[number].written
            if plain is None:
                column = self._each(values, outcomes, lambda w=written: _missed(w))
            else:
                misses = [row.missed(values, outcomes) for row in plain]
                column = np.max(misses, axis=0, initial=-np.inf)
            found[:, number] = column
        return found

    def objective(self, values: Values, outcomes: list[Array]) -> Array:
        """The objective at each context, shape (n,)."""
        plain = self.rows[-1] if self.aims else None
        if plain is None or len(plain) != 1:
            goal = self.problem.objective
            return self._each(values, outcomes, lambda: np.asarray(goal.value).item())
        # With the goal left at zero the row reads  -value >= 0, or  value >= 0.
        constant, hurt, _ = plain[0].read(values, outcomes)
        minimise = isinstance(self.problem.objective, cp.Minimize)
        return hurt - constant if minimise else constant - hurt

    def _each(self, values: Values, outcomes: list[Array], evaluate: Any) -> Array:
        """Evaluate the user's expressions context by context."""
        keys = list(self.problem.uncertainty)
        leaves = [*self.variables, *(p for key in keys for p in key)]
        before = [(leaf, leaf.value) for leaf in leaves]
        found = np.empty(len(outcomes[0]))
        try:
            for i in range(len(found)):
                for variable in self.variables:
                    variable.save_value(values[variable.id][i])
                for key, vectors in zip(keys, outcomes, strict=True):
                    save_outcome(key, vectors[i])
                found[i] = evaluate()
        finally:
            for leaf, value in before:
                leaf.save_value(value)
        return found


def read(problem: Any) -> Reading:
    """Prepare the reading of a problem, at the present values of its parameters."""
    # By identity: CVXPY makes a constraint of `==`.
    numbers = {key: number for number, key in enumerate(problem.uncertainty)}
    rows = tuple(_plain(part, numbers, problem._goal) for part in problem._robust)
    return Reading(
        problem,
        tuple(problem._variables),
        problem._uncertain_parts,
        problem._has_uncertain_objective,
        rows,
    )


def _plain(
    part: RobustConstraint, numbers: dict[Any, int], goal: Any
) -> tuple[PlainRow, ...] | None:
    rows = [(row, False) for row in part.rows]
    rows += [(row, True) for row in part.equalities]
    if any(row.form.auxiliary or row.slopes.keys() - numbers for row, _ in rows):
        return None
    return tuple(_plain_row(row, equal, numbers, goal) for row, equal in rows)


def _plain_row(
    row: UncertainRow, equal: bool, numbers: dict[Any, int], goal: Any
) -> PlainRow:
    certain = row.form.certain_matrix(row.index).toarray()[0]
    return PlainRow(
        tuple(None if v is goal else v for v, _ in row.form.columns),
        np.asarray(certain, dtype=float),
        {numbers[key]: row.slope_matrix(key) for key in row.slopes},
        {numbers[key]: entries for key, entries in row.entries.items()},
        equal,
    )


def _missed(written: Any) -> float:
    """Violation of a constraint at the present values, relative to its sides."""
    over = np.atleast_1d(np.asarray(written.violation(), dtype=float))
    sides = [np.abs(np.asarray(side.value, dtype=float)) for side in written.args]
    if all(side.shape in ((), over.shape) for side in sides):
        size = np.max(np.broadcast_arrays(over * 0, *sides), axis=0)
    else:
        size = np.max([side.max() for side in sides])
    return float(np.max(over / (1 + size)))


def save_outcome(key: Any, outcome: Array) -> None:
    """Give the parameters of a key an outcome, whatever their declared signs."""
    start = 0
    for parameter in key:
        part = outcome[start : start + parameter.size]
        parameter.save_value(part.reshape(parameter.shape, order="F"))
        start += parameter.size


def _flat(values: Array) -> Array:
    """Values of shape (n, *shape), each read column by column: (n, size)."""
    axes = (0, *range(values.ndim - 1, 0, -1))
    size = int(np.prod(values.shape[1:]))
    return np.asarray(values.transpose(axes).reshape(len(values), size))
