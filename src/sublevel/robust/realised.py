"""What decisions turn out to be worth once the outcomes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from .counterpart import RobustConstraint, UncertainRow

#: Relative amount by which a promise must be missed to count as a violation.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Realised:
    """What happened at n contexts.

    Attributes
    ----------
    decided : shape (n,), whether there was a decision to speak of
    objective : shape (n,), the objective at the outcome; nan where there was none
    excess : shape (n, promises), relative amount by which each promise was missed;
        one promise an uncertain constraint, and the certified objective last if it is
        uncertain
    violated : shape (n,), whether any promise was missed; False without a decision
    """

    decided: Any
    objective: Array
    excess: Array
    violated: Any


def realise(problem: Any, decisions: Any, outcomes: list[Array]) -> Realised:
    """Evaluate the model at the outcomes, arrays of shape (n, dim) for each key.

    Rows without auxiliary variables are evaluated for all contexts at once, anything
    else through the user's own expressions, context by context.
    """
    status = np.asarray(decisions.status)
    decided = np.isin(status, ("optimal", "fallback"))
    at = _At(problem, decisions, outcomes, np.flatnonzero(decided))
    parts = problem._robust[: problem._uncertain_parts]
    excess = np.full((len(decided), len(parts)), -np.inf)
    for number, part in enumerate(parts):
        excess[decided, number] = at.missed(part)
    objective = np.full(len(decided), np.nan)
    objective[decided] = at.objective()
    if problem._has_uncertain_objective:
        sense = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        over = sense * (objective - decisions.objective)
        over = over / (1 + np.abs(decisions.objective))
        # A fallback certifies nothing about the objective.
        over = np.where(status == "optimal", over, -np.inf)
        excess = np.column_stack([excess, over])
    missed = np.max(excess, axis=1, initial=-np.inf)
    return Realised(decided, objective, excess, missed > TOLERANCE)


@dataclass(frozen=True)
class _At:
    """The decided contexts, with their outcomes."""

    problem: Any
    decisions: Any
    outcomes: list[Array]
    rows: Any

    def missed(self, part: RobustConstraint) -> Array:
        """Relative violation of a constraint at each context, negative if kept."""
        if not self._plain(part):
            return self._each(lambda: float(np.max(part.written.violation())))
        found = np.full(len(self.rows), -np.inf)
        for row in part.rows:
            constant, hurt = self._row(row)
            found = np.maximum(found, (hurt - constant) / (1 + np.abs(constant)))
        for row in part.equalities:
            constant, hurt = self._row(row)
            found = np.maximum(found, np.abs(hurt - constant) / (1 + np.abs(constant)))
        return found

    def objective(self) -> Array:
        """The objective at each context."""
        problem = self.problem
        if not problem._has_uncertain_objective:
            return np.asarray(self.decisions.objective[self.rows])
        part = problem._robust[-1]
        if not self._plain(part) or len(part.rows) != 1:
            return self._each(lambda: float(np.asarray(problem.objective.value).item()))
        # With the goal left at zero the row reads  -value >= 0, or  value >= 0.
        constant, hurt = self._row(part.rows[0])
        minimise = isinstance(problem.objective, cp.Minimize)
        return hurt - constant if minimise else constant - hurt

    def _plain(self, part: RobustConstraint) -> bool:
        """Whether rows are made of the user's variables alone."""
        return not any(row.form.auxiliary for row in [*part.rows, *part.equalities])

    def _row(self, row: UncertainRow) -> tuple[Array, Array]:
        """What a row is without the outcome, and what the outcome takes from it."""
        known = self._columns(row)
        constant = np.asarray(row.form.certain_matrix(row.index) @ known.T)[0]
        hurt = np.zeros(len(self.rows))
        for number, key in enumerate(self.problem.uncertainty):
            if key in row.slopes:
                slope = np.asarray((row.slope_matrix(key) @ known.T).T)
                seen = self.outcomes[number][self.rows][:, row.entries[key]]
                hurt += np.sum(slope * seen, axis=1)
        return constant, hurt

    def _columns(self, row: UncertainRow) -> Array:
        n = len(self.rows)
        parts = []
        for variable, _ in row.form.columns:
            if variable is self.problem._goal:
                parts.append(np.zeros((n, 1)))
            else:
                values = self.decisions.value(variable)[self.rows]
                parts.append(_flat(values))
        return np.hstack([*parts, np.ones((n, 1))])

    def _each(self, evaluate: Any) -> Array:
        """Evaluate the user's expressions context by context."""
        variables = self.problem._variables
        before = [(v, v.value) for v in [*variables, *_parameters(self.problem)]]
        try:
            return np.array([self._one(i, evaluate) for i in self.rows.tolist()])
        finally:
            for leaf, value in before:
                leaf.value = value

    def _one(self, i: int, evaluate: Any) -> float:
        for variable in self.problem._variables:
            variable.save_value(self.decisions.value(variable)[i])
        for number, key in enumerate(self.problem.uncertainty):
            start = 0
            for parameter in key:
                part = self.outcomes[number][i, start : start + parameter.size]
                parameter.save_value(part.reshape(parameter.shape, order="F"))
                start += parameter.size
        return float(evaluate())


def _flat(values: Array) -> Array:
    """Values of shape (n, *shape), each read column by column: (n, size)."""
    axes = (0, *range(values.ndim - 1, 0, -1))
    return np.asarray(values.transpose(axes).reshape(len(values), -1))


def _parameters(problem: Any) -> list[Any]:
    return [parameter for key in problem.uncertainty for parameter in key]
