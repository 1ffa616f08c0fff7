"""Weighted sample average: the expected cost over similar past outcomes.

    minimise  sum_i weight_i(X) cost(y_i, x)

(Bertsimas & Kallus 2020). It minimises an estimate of the expected cost and promises
nothing about a single outcome. Where the cost is linear in the outcome it is the cost
at the weighted mean, and is solved as such; otherwise the model is written out with one
copy of the cost a scenario. Uncertain constraints are no part of their method. Here they
hold at every scenario of positive weight, or in weighted mean, as asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from ..robust import Decisions, RobustProblem, Uncertain
from ..robust.evaluation import Evaluation, clairvoyant
from ..robust.realised import realise
from ..robust.uncertain import uncertain_in
from .scenario_model import at_outcome, mean_constraint
from .singletons import Singletons

#: What an uncertain constraint must do.
CONSTRAINTS = ("every", "mean")


class WeightedSample:
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
    >>> import sublevel as sl
    >>> from sublevel.baselines import NearestWeights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> demand = 10 * X[:, 0] + rng.normal(size=200)
    >>> d, x = sl.Uncertain((), name="demand"), cp.Variable(name="order")
    >>> cost = cp.maximum(4 * (d - x), x - d)
    >>> anywhere = sl.sets.Box([0.0], [10.0])
    >>> problem = sl.RobustProblem(cp.Minimize(cost), [x >= 0], {d: anywhere})
    >>> policy = WeightedSample(problem, NearestWeights(20).fit(X, demand))
    >>> policy.decide(np.array([[0.2], [0.8]])).value(x).round(1)
    array([2.8, 8.8])
    """

    def __init__(self, problem: Any, weights: Any, constraints: str = "every") -> None:
        if len(problem.uncertainty) != 1:
            raise InvalidParameter(
                "WeightedSample(problem=...) must have one set of uncertain "
                f"parameters, got {len(problem.uncertainty)}. Give them one set as a "
                "tuple: {(a, b): sets}."
            )
        if constraints not in CONSTRAINTS:
            raise InvalidParameter(
                f"WeightedSample(constraints=...) must be one of {CONSTRAINTS}, got "
                f"{constraints!r}."
            )
        self.problem = problem
        self.weights = weights
        self.constraints = constraints
        self._compiled: dict[int, Any] = {}

    def decide(
        self, X: Any, n_jobs: int | None = None, progress: bool = False
    ) -> Decisions:
        """The decision at every row of X; its objective is the average cost."""
        sample = self.weights.sample(X)
        size = sum(parameter.size for parameter in self._key)
        if sample.outcomes.shape[2] != size:
            raise InvalidParameter(
                f"WeightedSample: the scenarios must have {size} components, as the "
                f"uncertain parameter, got {sample.outcomes.shape[2]}."
            )
        policy, points = self._policy(sample.weights.shape[1])
        parts = {"weights": sample.weights, "mean": sample.mean}
        for k in range(sample.weights.shape[1]):
            parts[f"scenario {k}"] = sample.outcomes[:, k]
        sources = [Singletons(parts[name]) for name in points]
        rows = np.arange(len(sample.weights))
        found = policy._over(sources).decide(rows, n_jobs=n_jobs, progress=progress)
        return self._own(found, sample.mean, X.index if hasattr(X, "iloc") else None)
