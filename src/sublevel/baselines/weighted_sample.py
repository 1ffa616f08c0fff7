"""Weighted sample average: the expected cost over similar past outcomes.

    minimise  sum_i weight_i(X) cost(y_i, x)

(Bertsimas & Kallus 2020). It minimises an estimate of the expected cost and promises
nothing about a single outcome. Uncertain constraints are no part of their method; here
they hold at every scenario of positive weight, or in weighted mean, as asked for.

The model is written out over scenarios, as an ordinary robust problem over points: the
weights and the outcomes of the scenarios are uncertain parameters whose sets are single
points, so one compiled program serves every context:

    minimise  sum_k weight_k cost_k   subject to  cost_k >= cost(y_k, x) for every k.

A cost, or a constraint in the mean, that is linear in the outcome is taken at the
weighted mean of the scenarios instead: the same number, with one copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import cvxpy as cp
import numpy as np

from ..checks import Array, as_matrix, require_choice, require_having
from ..errors import InvalidParameter
from ..predictions import Table, count_rows, index_of
from ..robust import Decisions, Policy, RobustProblem, Uncertain
from ..robust.labelled import Outcome
from ..robust.model.uncertain import Written, uncertain_in
from .clairvoyant import Columns, Judged
from .weights import Sample, Weights

#: What the model is made of.
Goal: TypeAlias = cp.Minimize | cp.Maximize
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


def scenario_model(
    problem: RobustProblem, count: int, constraints: str
) -> ScenarioModel:
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
        self.written: list[cp.Constraint] = []

    def objective(self, goal: Goal) -> Goal:
        """The weighted mean of the objective."""
        if not uncertain_in(goal):
            return goal
        return type(goal)(self._average(goal.args[0], isinstance(goal, cp.Minimize)))

    def add(self, constraint: cp.Constraint) -> None:
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

    def _average(self, value: cp.Expression, minimised: bool) -> cp.Expression:
        if _is_linear(value):
            return self._at(value, self.mean)
        each = cp.Variable(self.count, name="scenario values")
        for k, outcome in enumerate(self._all()):
            copy = self._at(value, outcome)
            self.written.append(copy <= each[k] if minimised else copy >= each[k])
        return self.weights @ each

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


#: What an uncertain constraint must do.
CONSTRAINTS = ("every", "mean")


class Weighs(Protocol):
    """Scenarios with weights at every context."""

    def sample(self, X: Table) -> Sample: ...


class WeightedSample(Judged):
    """A policy that minimises a weighted average of the cost over past outcomes.

    Parameters
    ----------
    problem : RobustProblem
        Its objective and constraints are used, its sets are not.
    weights : fitted NearestWeights, KernelWeights or ForestWeights
        Or anything with `sample(X)` that returns a Sample, such as `TrueLaw`.
    constraints : "every" or "mean"
        Uncertain constraints hold at every scenario of positive weight, or in weighted
        mean. The latter may be violated by every second outcome.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> from sublevel.baselines import NearestWeights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> demand = 10 * X[:, 0] + rng.normal(size=200)
    >>> d, x = sl.Uncertain(1, name="demand"), cp.Variable(1, name="order")
    >>> cost = cp.maximum(4 * (d - x), x - d)
    >>> anywhere = sl.sets.Box([0.0], [10.0])
    >>> problem = sl.RobustProblem(cp.Minimize(cost), [x >= 0], {d: anywhere})
    >>> policy = WeightedSample(problem, NearestWeights(20).fit(X, demand))
    >>> policy.decide(np.array([[0.2], [0.8]])).value(x).ravel().round(1)
    array([2.6, 8.8])
    """

    def __init__(
        self, problem: RobustProblem, weights: Weighs, constraints: str = "every"
    ) -> None:
        owner, model = "WeightedSample", "a RobustProblem"
        require_having(owner, "uncertainty", model, problem=problem)
        scheme = "weights with sample(X), such as sl.baselines.NearestWeights(5)"
        require_having(owner, "sample", scheme, weights=weights)
        require_choice(owner, CONSTRAINTS, constraints=constraints)
        if len(problem.uncertainty) != 1:
            raise InvalidParameter(
                "WeightedSample(problem=...) must have one set of uncertain "
                f"parameters, got {len(problem.uncertainty)}. Give them one set as a "
                "tuple: {(a, b): sets}."
            )
        self.problem = problem
        self.weights = weights
        self.constraints = constraints
        # Programs by number of scenarios, which differs from batch to batch.
        self._models: dict[int, tuple[ScenarioModel, Policy]] = {}

    def decide(
        self, X: Table, n_jobs: int | None = None, progress: bool = False
    ) -> Decisions:
        """The decision at every row of X; its objective is the average cost."""
        sample = self.weights.sample(X)
        (key,) = self.problem.uncertainty
        size = sum(parameter.size for parameter in key)
        if sample.outcomes.shape[2] != size:
            raise InvalidParameter(
                f"WeightedSample: the scenarios must have {size} components, as the "
                f"uncertain parameter, got {sample.outcomes.shape[2]}."
            )
        model, policy = self._model(sample.weights.shape[1])
        table = model.table(sample)
        decisions = policy.decide(table, n_jobs=n_jobs, progress=progress)
        return self._own(decisions, index_of(X))

    def _model(self, count: int) -> tuple[ScenarioModel, Policy]:
        if count not in self._models:
            model = scenario_model(self.problem, count, self.constraints)
            self._models[count] = model, model.problem.compile()
        return self._models[count]

    def _vectors(self, Y: Outcome, owner: str) -> list[Array]:
        if isinstance(self.weights, Weights):
            return [self.weights.outcomes_.encode(cast("Table", Y), owner)]
        return [as_matrix(owner, "Y", Y, (count_rows(Y), None))]
