"""A model written out over weighted scenarios.

    minimise  sum_k weight_k cost_k   subject to  cost_k >= cost(y_k, x) for every k.

The weights and the outcomes of the scenarios are uncertain parameters whose sets are
single points. A cost, or a constraint in the mean, that is linear in the outcome is
taken at the weighted mean of the scenarios instead: the same number, with one copy.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from ..robust import RobustProblem, Uncertain
from ..robust.model.uncertain import Written, uncertain_in
from .clairvoyant import Columns
from .weights import Sample

#: What the model is made of.
Goal: TypeAlias = cp.Minimize | cp.Maximize
#: An outcome of the model: its uncertain parameters, one after another.
Key = tuple[Uncertain, ...]


class ScenarioModel:
    """A model over K scenarios.

    Parameters
    ----------
    problem : RobustProblem with one key
    count : number of scenarios
    constraints : "every" or "mean", what uncertain constraints must do

    Attributes
    ----------
    key : the user's uncertain parameters
    objective, constraints : the model over scenarios
    weights : parameter of shape (K,)
    mean : parameters for the weighted mean outcome
    scenarios : for each parameter those of all scenarios, shape (size, K), or None if
        no scenario enters but through the mean
    """

    def __init__(self, problem: RobustProblem, count: int, constraints: str) -> None:
        (self.key,) = problem.uncertainty
        self.count, self._mode = count, constraints
        self.mean = tuple(
            Uncertain(p.shape, f"{p.name()} mean", p.is_nonneg()) for p in self.key
        )
        self.weights = Uncertain(count, name="weights")
        self.scenarios: Key | None = None
        self.constraints: list[cp.Constraint] = []
        self.objective = self._objective(problem.objective)
        for constraint in problem.constraints:
            self._add(constraint)

    def over_points(self) -> RobustProblem:
        """The same as a robust problem, whose sets are the columns of `table`."""
        size = sum(parameter.size for parameter in self.key)
        keys, widths = [self.mean], [size]
        if self.scenarios is not None:
            keys += [(self.weights,), self.scenarios]
            widths += [self.count, size * self.count]
        ends = np.cumsum(widths).tolist()
        pairs = zip(keys, widths, ends, strict=True)
        sources = {key: Columns(end - width, end) for key, width, end in pairs}
        return RobustProblem(self.objective, self.constraints, sources)

    def table(self, sample: Sample) -> Array:
        """The numbers of every context: mean, weights, scenarios, side by side."""
        parts = [sample.mean]
        if self.scenarios is not None:
            n, cuts = len(sample.weights), np.cumsum([p.size for p in self.key])[:-1]
            each = np.split(sample.outcomes, cuts, axis=2)
            parts += [sample.weights, *(part.reshape(n, -1) for part in each)]
        return np.hstack(parts)

    def _objective(self, goal: Goal) -> Goal:
        """The weighted mean of the objective."""
        if not uncertain_in(goal):
            return goal
        return type(goal)(self._average(goal.args[0], isinstance(goal, cp.Minimize)))

    def _add(self, constraint: cp.Constraint) -> None:
        """A constraint, at every scenario or in the mean."""
        if not uncertain_in(constraint):
            self.constraints.append(constraint)
        elif self._mode == "every":
            self.constraints += [self._at(constraint, y) for y in self._all()]
        else:
            average = self._average(_left_side(constraint), True)
            self.constraints.append(average <= 0)

    def _average(self, value: cp.Expression, minimised: bool) -> cp.Expression:
        if _is_linear(value):
            return self._at(value, self.mean)
        average = []
        for k, outcome in enumerate(self._all()):
            copy = self._at(value, outcome)
            each = cp.Variable(value.shape, name=f"value in scenario {k}")
            self.constraints.append(copy <= each if minimised else copy >= each)
            average.append(self.weights[k] * each)
        return sum(average[1:], average[0])

    def _all(self) -> list[tuple[cp.Expression, ...]]:
        """The outcomes of all scenarios: columns of one matrix for each parameter."""
        if self.scenarios is None:
            # One long parameter: a key a scenario would be looked for in every row.
            self.scenarios = tuple(
                Uncertain((p.size, self.count), f"{p.name()} scenarios", p.is_nonneg())
                for p in self.key
            )
        pairs = list(zip(self.key, self.scenarios, strict=True))
        return [
            tuple(cp.reshape(of[:, k], p.shape, order="F") for p, of in pairs)
            for k in range(self.count)
        ]

    def _at(self, part: Written, outcome: tuple[cp.Expression, ...]) -> Any:
        """A part of the model with another outcome in place of its own."""
        pairs = zip(self.key, outcome, strict=True)
        return part.tree_copy({id(mine): other for mine, other in pairs})


def _is_linear(value: cp.Expression) -> bool:
    """Whether an expression is linear in the outcome, whatever the decision."""
    swapped = {id(p): cp.Variable(p.shape) for p in uncertain_in(value)}
    swapped |= {id(v): cp.Parameter(v.shape) for v in value.variables()}
    return bool(value.tree_copy(swapped).is_affine())


def _left_side(constraint: cp.Constraint) -> cp.Expression:
    """The side of an inequality that must not be positive, on average."""
    if isinstance(constraint, cp.constraints.Inequality):
        return constraint.args[0] - constraint.args[1]
    raise InvalidParameter(
        f"WeightedSample(constraints='mean') takes inequalities <= and >=, got "
        f"{constraint}. Use constraints='every'."
    )
