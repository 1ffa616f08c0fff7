"""Weighted sample average: the expected cost over similar past outcomes.

    minimise  sum_i weight_i(X) cost(y_i, x)

(Bertsimas & Kallus 2020). It minimises an estimate of the expected cost and promises
nothing about a single outcome. Uncertain constraints are no part of their method; here
they hold at every scenario of positive weight, or in weighted mean, as asked for.
"""

from __future__ import annotations

from typing import Any

from ..checks import as_matrix, require_choice, require_having
from ..errors import InvalidParameter
from ..predictions import count_rows
from ..robust import Decisions
from .clairvoyant import Judged
from .scenario_model import ScenarioModel, scenario_model

#: What an uncertain constraint must do.
CONSTRAINTS = ("every", "mean")


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

    def __init__(self, problem: Any, weights: Any, constraints: str = "every") -> None:
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
        self._models: dict[int, tuple[ScenarioModel, Any]] = {}

    def decide(
        self, X: Any, n_jobs: int | None = None, progress: bool = False
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
        index = X.index if hasattr(X, "iloc") else None
        return self._own(decisions, index=index)

    def _model(self, count: int) -> tuple[ScenarioModel, Any]:
        if count not in self._models:
            model = scenario_model(self.problem, count, self.constraints)
            self._models[count] = model, model.problem.compile()
        return self._models[count]

    def _vectors(self, Y: Any, owner: str) -> list[Any]:
        outcomes = getattr(self.weights, "outcomes_", None)
        if outcomes is not None:
            return [outcomes.encode(Y, owner)]
        return [as_matrix(owner, "Y", Y, (count_rows(Y), None))]
