"""Weighted sample average: the expected cost over similar past outcomes.

    minimise  sum_i weight_i(X) cost(y_i, x)

(Bertsimas & Kallus 2020). It minimises an estimate of the expected cost and promises
nothing about a single outcome. Uncertain constraints are no part of their method; here
they hold at every scenario of positive weight, or in weighted mean, as asked for.

The model is written out over scenarios (`scenario_model`). If that is a cone program,
a single scenario is read, and copied (`scenario_program`). Otherwise, with integer
variables, say, it is an ordinary robust problem whose sets are single points.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Protocol, cast

from ..checks import Array, as_matrix, require_choice, require_having
from ..conic.program import Uncompilable
from ..errors import InvalidParameter
from ..predictions import Table, count_rows, index_of
from ..progress import Bar
from ..robust import Decisions, Policy, RobustProblem
from ..robust.labelled import Outcome
from .clairvoyant import Judged
from .scenario_model import ScenarioModel
from .scenario_program import ScenarioProgram
from .weights import Sample, Weights

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
        # By number of scenarios, which differs from batch to batch.
        self._programs: dict[int, ScenarioProgram | None] = {}
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
        program = self._program(sample.weights.shape[1])
        if program is None:
            decisions = self._over_points(sample, n_jobs, progress)
        else:
            with Bar(len(sample.weights)) if progress else nullcontext() as bar:
                arrays = program.decide(sample, n_jobs, bar)
            decisions = Decisions(arrays, program.layout, None)
        return self._own(decisions, index_of(X))

    def _program(self, count: int) -> ScenarioProgram | None:
        """The cone program of so many scenarios; None where there is none."""
        kept = self._programs.get(count)
        stale = kept is not None and kept.prepared is not self.problem.prepared()
        if count not in self._programs or stale:
            try:
                kept = ScenarioProgram(self.problem, count, self.constraints)
            except Uncompilable:
                kept = None
            self._programs[count] = kept
        return kept

    def _over_points(
        self, sample: Sample, n_jobs: int | None, progress: bool
    ) -> Decisions:
        """The decisions of a robust problem over points."""
        count = sample.weights.shape[1]
        if count not in self._models:
            model = ScenarioModel(self.problem, count, self.constraints)
            self._models[count] = model, model.over_points().compile()
        model, policy = self._models[count]
        return policy.decide(model.table(sample), n_jobs=n_jobs, progress=progress)

    def _vectors(self, Y: Outcome, owner: str) -> list[Array]:
        if isinstance(self.weights, Weights):
            return [self.weights.outcomes_.encode(cast("Table", Y), owner)]
        return [as_matrix(owner, "Y", Y, (count_rows(Y), None))]
