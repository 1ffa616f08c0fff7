"""A model written out over scenarios, as an ordinary robust problem over points.

The weights and the outcomes of the scenarios are uncertain parameters whose sets are
single points, so one compiled program serves every context:

    minimise  sum_k weight_k cost_k   subject to  cost_k >= cost(y_k, x) for every k.

A cost, or a constraint in the mean, that is linear in the outcome is taken at the
weighted mean of the scenarios instead: the same number, with one copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from ..robust import RobustProblem, Uncertain
from ..robust.model.uncertain import uncertain_in
from .pinned import Columns
from .weights import Sample

#: An outcome of the model: its uncertain parameters, one after another.
Key = tuple[Uncertain, ...]


@dataclass(frozen=True)
class ScenarioModel:
    """A model over K scenarios.

    Attributes
    ----------
    problem : RobustProblem over points
    sizes : entries of each uncertain parameter of the user's model
    scenarios : whether the scenarios themselves enter, or their mean alone
    """

    problem: RobustProblem
    sizes: tuple[int, ...]
    scenarios: bool

    def table(self, sample: Sample) -> Array:
        """The numbers of every context: mean, weights, scenarios, side by side."""
        parts = [sample.mean]
        if self.scenarios:
            n, cuts = len(sample.weights), np.cumsum(self.sizes)[:-1]
            each = np.split(sample.outcomes, cuts, axis=2)
            parts += [sample.weights, *(part.reshape(n, -1) for part in each)]
        return np.hstack(parts)


def scenario_model(problem: Any, count: int, constraints: str) -> ScenarioModel:
    """The model of a RobustProblem over `count` weighted scenarios.

    Parameters
    ----------
    constraints : "every" or "mean", what uncertain constraints must do
    """
    (key,) = problem.uncertainty
    writer = _Writer(key, count, constraints)
    objective = writer.objective(problem.objective)
    for constraint in problem.constraints:
        writer.add(constraint)
    model = RobustProblem(objective, writer.written, writer.sources())
    sizes = tuple(parameter.size for parameter in key)
    return ScenarioModel(model, sizes, writer.scenarios is not None)


class _Writer:
    """Writes the copies of a model, and remembers which parameters they use."""

    def __init__(self, key: Key, count: int, constraints: str) -> None:
        self.key, self.count, self.mode = key, count, constraints
        self.mean = tuple(
            Uncertain(p.shape, f"{p.name()} mean", p.is_nonneg()) for p in key
        )
        self.weights = Uncertain(count, name="weights")
        self.scenarios: Key | None = None
        self.written: list[Any] = []

    def objective(self, goal: Any) -> Any:
        """The weighted mean of the objective."""
        if not uncertain_in(goal):
            return goal
        return type(goal)(self._average(goal.args[0], isinstance(goal, cp.Minimize)))

    def add(self, constraint: Any) -> None:
        """A constraint, at every scenario or in the mean."""
        if not uncertain_in(constraint):
            self.written.append(constraint)
        elif self.mode == "every":
            self.written += [self._at(constraint, y) for y in self._all()]
        else:
            self.written.append(self._average(_left_side(constraint), True) <= 0)

    def sources(self) -> dict[Key, Columns]:
        """Where each parameter is in the table."""
        size = sum(parameter.size for parameter in self.key)
        keys, widths = [self.mean], [size]
        if self.scenarios is not None:
            keys += [(self.weights,), self.scenarios]
            widths += [self.count, size * self.count]
        ends = np.cumsum(widths).tolist()
        pairs = zip(keys, widths, ends, strict=True)
        return {key: Columns(end - width, end) for key, width, end in pairs}

    def _average(self, value: Any, minimised: bool) -> Any:
        if _is_linear(value):
            return self._at(value, self.mean)
        each = cp.Variable(self.count, name="scenario values")
        for k, outcome in enumerate(self._all()):
            copy = self._at(value, outcome)
            self.written.append(copy <= each[k] if minimised else copy >= each[k])
        return self.weights @ each

    def _all(self) -> list[tuple[Any, ...]]:
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

    def _at(self, part: Any, outcome: tuple[Any, ...]) -> Any:
        """A part of the model with another outcome in place of its own."""
        pairs = zip(self.key, outcome, strict=True)
        return part.tree_copy({id(mine): other for mine, other in pairs})


def _is_linear(value: Any) -> bool:
    """Whether an expression is linear in the outcome, whatever the decision."""
    swapped = {id(p): cp.Variable(p.shape) for p in uncertain_in(value)}
    swapped |= {id(v): cp.Parameter(v.shape) for v in value.variables()}
    return bool(value.tree_copy(swapped).is_affine())


def _left_side(constraint: Any) -> Any:
    """The side of an inequality that must not be positive, on average."""
    if isinstance(constraint, cp.constraints.Inequality):
        return constraint.args[0] - constraint.args[1]
    raise InvalidParameter(
        f"WeightedSample(constraints='mean') takes inequalities <= and >=, got "
        f"{constraint}. Use constraints='every'."
    )
