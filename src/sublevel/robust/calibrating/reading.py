"""A model read at given decisions and outcomes, for many contexts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.unary_operators import NegExpression

from ...checks import Array
from ...errors import InvalidParameter
from ..auditing.row_audit import FLOOR
from ..auditing.row_check import FINAL
from ..modelling.counterpart import RobustConstraint, UncertainRow

#: Relative amount by which a promise must be missed to count as a violation.
TOLERANCE = 1e-6
#: Outcomes below this are too close to what solvers round, where units are fixed.
SMALL = 1e-5
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
        constant, size = known @ self.certain, np.abs(known) @ np.abs(self.certain)
        hurt, taken = np.zeros(n), np.zeros(n)
        for key, matrix in self.slopes.items():
            terms = (matrix @ known.T).T * outcomes[key][:, self.entries[key]]
            hurt += terms.sum(axis=1)
            taken += np.abs(terms).sum(axis=1)
        # Terms that cancel leave rounding behind that is relative to them.
        return constant, hurt, np.maximum(size, taken)

    def missed(self, values: Values, outcomes: list[Array], unit: Array) -> Array:
        """Relative violation, negative if kept, shape (n,)."""
        constant, hurt, size = self.read(values, outcomes)
        over = hurt - constant
        return relative(np.abs(over) if self.equal else over, size, unit)


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
    exponents : of the outcomes' unit in each uncertain constraint, and in the
        objective under -1; 0 where the model's own constants fix the units
    """

    problem: Any
    variables: tuple[Any, ...]
    parts: int
    aims: bool
    rows: tuple[tuple[PlainRow, ...] | None, ...]
    exponents: dict[int, int]

    def missed(self, values: Values, outcomes: list[Array], scale: Array) -> Array:
        """Relative violation of each constraint, negative if kept: (n, parts).

        `scale`, of shape (n,), is the size of the outcomes at each context.
        """
        found = np.full((len(outcomes[0]), self.parts), -np.inf)
        for number in range(self.parts):
            plain, written = self.rows[number], self.problem._robust[number].written
            unit = self.unit(number, scale)
            if plain is None:
                seen = self._each(values, outcomes, lambda w=written: _over(w), 2)
                column = relative(seen[:, 0], seen[:, 1], unit)
            else:
                misses = [row.missed(values, outcomes, unit) for row in plain]
                column = np.max(misses, axis=0, initial=-np.inf)
            found[:, number] = column
        return found

    def objective(self, values: Values, outcomes: list[Array]) -> tuple[Array, Array]:
        """The objective at each context and the size of its terms, shape (n,) each."""
        plain = self.rows[-1] if self.aims else None
        if plain is None or len(plain) != 1:
            goal = self.problem.objective
            found = self._each(values, outcomes, lambda: _worth(goal), 2)
            return found[:, 0], found[:, 1]
        # With the goal left at zero the row reads  -value >= 0, or  value >= 0.
        constant, hurt, size = plain[0].read(values, outcomes)
        minimise = isinstance(self.problem.objective, cp.Minimize)
        return (hurt - constant if minimise else constant - hurt), size

    def unit(self, part: int, scale: Array) -> Array:
        """The unit of a constraint, or of the objective, at each context: (n,)."""
        return np.asarray(scale ** self.exponents.get(part, 0))

    def _each(
        self, values: Values, outcomes: list[Array], evaluate: Any, width: int
    ) -> Array:
        """Evaluate the user's expressions context by context: (n, width)."""
        keys = list(self.problem.uncertainty)
        leaves = [*self.variables, *(p for key in keys for p in key)]
        before = [(leaf, leaf.value) for leaf in leaves]
        found = np.empty((len(outcomes[0]), width))
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


def relative(over: Array, size: Array, unit: Array) -> Array:
    """By how much something is over, in terms of its size: shape (n,).

    A share of the unit is added, so that a solver's zero is not taken for a size.
    """
    size = FLOOR * unit + size
    # Without any size there is nothing to miss by.
    return np.divide(over, size, out=np.zeros(len(over)), where=size > 0)


def read(problem: Any, exponents: dict[int, int] | None = None) -> Reading:
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
        exponents or {},
    )


def read_policy(policy: Any, known: Any, owner: str) -> Reading:
    """Prepare the reading of a policy's problem for contexts that are known.

    Solvers round absolutely. A compiled program whose units are free is solved in
    units in which numbers are near one, and misses are told in those; elsewhere
    outcomes must not be so small that a miss could be rounding.
    """
    exponents = _exponents(policy, known.batches)
    largest = max(np.abs(vectors).max(initial=0.0) for vectors in known.outcomes)
    if exponents is None and 0 < largest < SMALL:
        raise InvalidParameter(
            f"{owner}(Y) must have outcomes above {SMALL:g} in size, got at most "
            f"{largest:.3g}: this model's own constants fix its units, and solvers "
            "round at 1e-8. Measure in larger units."
        )
    return read(policy.problem, exponents)


def _exponents(policy: Any, batches: list[Any]) -> dict[int, int] | None:
    """Exponents of the outcomes' unit, or None if units are fixed."""
    prepared = getattr(policy, "_prepared", None)
    compiled = prepared and prepared.compiled(policy.problem, lambda: batches)
    if compiled is None or compiled.units is None:
        return None
    final = {row.part: row.unit for row in compiled.rows if row.defines == FINAL}
    return {**final, -1: compiled.units.goal}


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


def _over(written: Any) -> tuple[float, float]:
    """By how much a constraint is over at the present values, and its size there."""
    over = np.atleast_1d(np.asarray(written.violation(), dtype=float))
    sides = [_gross(side) for side in written.args]
    if all(side.shape in ((), over.shape) for side in sides):
        size = np.max(np.broadcast_arrays(over * 0, *sides), axis=0)
    else:
        size = np.full(over.shape, np.max([side.max() for side in sides]))
    worst = np.unravel_index(np.argmax(over - TOLERANCE * size), over.shape)
    return float(over[worst]), float(size[worst])


def _worth(goal: Any) -> tuple[float, float]:
    value = np.asarray(goal.value).item()
    return value, max(abs(value), float(_gross(goal.args[0]).sum()))


def _gross(expression: Any) -> Array:
    """Sizes of what an expression adds up, before anything cancels."""
    if isinstance(expression, AddExpression | NegExpression):
        parts = [_gross(part) for part in expression.args]
        return np.asarray(sum(np.broadcast_arrays(*parts)))
    return np.asarray(np.abs(np.asarray(expression.value, dtype=float)))


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
