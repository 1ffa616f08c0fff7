"""How far a context that has no robust decision is from having one.

Sets grow with their budget, so there is a largest budget at which a robust decision
exists; bisection finds it. At each budget the uncertain constraints may be missed by a
common slack, and the least slack says whether none is needed: a solver answers that
reliably where it would stumble over a problem that is just about feasible.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import require_level
from ..errors import EmptySet, InvalidParameter, SolverFailed
from .cutting.cuts import Cuts
from .modelling.counterpart import Key
from .modelling.sets_at import is_predicted, set_at, set_value
from .modelling.uncertain import uncertain_in

#: Relative slack that counts as none.
TOLERANCE = 1e-7

#: Where the search upwards ends, as a multiple of the calibrated room.
FARTHEST = 4.0**10


@dataclass(frozen=True)
class LargestBudget:
    """The largest budget at which a robust decision exists, or why there is none.

    Attributes
    ----------
    budget : float, or dict from Uncertain (or tuple) to float if there are several
        nan if no budget will do, inf if no limit was found
    factor : float
        How much of its calibrated room each set has at that budget, where the room is
        the calibrated budget less the least loss any outcome has (1.0 where that is
        infinite or zero). Below 1.0 the context is infeasible as calibrated.
    reason : str
        What ends the search.
    """

    budget: Any
    factor: float
    reason: str


def largest_budget(
    problem: Any,
    X: Any,
    parameter: Any,
    tolerance: float,
    engine: Any,
    solver: str | None,
) -> LargestBudget:
    """The search for a RobustProblem; see its method of the same name."""
    require_level("RobustProblem.largest_budget", tolerance=tolerance)
    scaled = {key: _Scale(problem, key, X) for key in _scaled_keys(problem, parameter)}
    search = _Search(problem, X, scaled, engine, solver)
    factor, reason = _bisect(search, tolerance)
    budgets = {key: scale.budget(factor) for key, scale in scaled.items()}
    single = len(budgets) == 1
    named = {key if len(key) > 1 else key[0]: b for key, b in budgets.items()}
    return LargestBudget(
        next(iter(budgets.values())) if single else named, factor, reason
    )


def _scaled_keys(problem: Any, parameter: Any) -> list[Key]:
    """The keys whose budgets are searched."""
    known = [key for key, value in problem.uncertainty.items() if is_predicted(value)]
    if parameter is not None:
        wanted = parameter if isinstance(parameter, tuple) else (parameter,)
        # By identity: == between CVXPY expressions makes a constraint.
        asked = [part.id for part in wanted]
        known = [key for key in known if [part.id for part in key] == asked]
    if not known:
        raise InvalidParameter(
            "RobustProblem.largest_budget() needs a LossSet whose budget can be "
            "changed, and the model has none"
            + ("." if parameter is None else f" for {parameter}.")
        )
    return known


class _Scale:
    """The budgets of one LossSet at one context, on a scale from 0 to calibrated."""

    def __init__(self, problem: Any, key: Key, X: Any) -> None:
        self.source, self.X = problem.uncertainty[key], X
        # Checks X and the set's size as a solve would.
        batch = self.source.predict_set(X)
        if len(batch) != 1:
            raise InvalidParameter(
                "RobustProblem.largest_budget(X) takes one context, got "
                f"{len(batch)} rows. Take one row, X[:1]."
            )
        parts = getattr(batch, "parts", (batch,))
        self.floor = min(float(np.min(p.loss.floor(p.prediction))) for p in parts)
        room = float(parts[0].budgets[0]) - self.floor
        self.room = room if 0 < room < inf else 1.0

    def budget(self, factor: float) -> float:
        """The budget at a multiple of the room."""
        return self.floor + factor * self.room

    def set(self, key: Key, factor: float) -> Any:
        """The set there."""
        batch = self.source.predict_set(self.X, budget=self.budget(factor))
        return set_value(key, batch[0])


class _Search:
    """Whether a robust decision exists at a multiple of the calibrated rooms."""

    def __init__(
        self,
        problem: Any,
        X: Any,
        scaled: dict[Key, _Scale],
        engine: Any,
        solver: str | None,
    ) -> None:
        self.engine, self.solver, self.scaled = engine, solver, scaled
        self.slack = cp.Variable(name="slack")
        self.problem = _relaxed(problem, self.slack)
        self.fixed = {
            key: set_at(key, value, X)
            for key, value in problem.uncertainty.items()
            if key not in scaled
        }

    def feasible(self, factor: float) -> bool:
        """Whether no slack is needed."""
        try:
            found = {key: scale.set(key, factor) for key, scale in self.scaled.items()}
        except EmptySet:
            # No outcome of the declared signs: nothing to protect against.
            return True
        # In the order of the keys, as they were given.
        sets = {key: {**self.fixed, **found}[key] for key in self.problem.uncertainty}
        decision = self._least_slack(sets)
        if decision.status == cp.INFEASIBLE:
            return False
        if decision.status != cp.OPTIMAL:
            raise SolverFailed(
                f"RobustProblem.largest_budget() could not decide whether the budget "
                f"can be kept: the status was {decision.status!r}. Try another solver."
            )
        constants = [abs(float(r.constant.value)) for r in self.problem._rows()]
        size = 1 + max(constants, default=0.0)
        return bool(decision.objective <= TOLERANCE * size)

    def _least_slack(self, sets: dict[Key, Any]) -> Any:
        try:
            return self.problem._decide(sets, self.engine, self.solver)
        except SolverFailed:
            if self.engine != "auto":
                raise
            # The dual of a set that is hardly more than a point has huge multipliers;
            # its oracle knows the point.
            return self.problem._decide(sets, Cuts(), self.solver)


def _relaxed(problem: Any, slack: cp.Variable) -> Any:
    """The least slack with which the uncertain constraints can be kept."""
    constraints = [_with_slack(c, slack) for c in problem.constraints]
    domain = [c for c in problem.objective.args[0].domain if not uncertain_in(c)]
    # A lower end, so that there is a least one however loose the constraints are.
    constraints += [*domain, slack >= -1]
    return type(problem)(cp.Minimize(slack), constraints, dict(problem.uncertainty))


def _with_slack(constraint: Any, slack: cp.Variable) -> Any:
    """An uncertain inequality with slack; anything else as it is."""
    if not uncertain_in(constraint):
        return constraint
    if isinstance(constraint, cp.NonNeg):
        return constraint.args[0] >= -slack
    if isinstance(constraint, cp.NonPos):
        return constraint.args[0] <= slack
    if len(constraint.args) == 2 and not isinstance(
        constraint, cp.constraints.Equality
    ):
        return constraint.args[0] <= constraint.args[1] + slack
    return constraint


def _bisect(search: _Search, tolerance: float) -> tuple[float, str]:
    """The largest feasible factor, and what ends the search."""
    if not search.feasible(0.0):
        return nan, (
            "There is no robust decision even at the smallest sets, the outcomes of "
            "least loss."
        )
    low, high = 0.0, 1.0
    while search.feasible(high):
        low, high = high, 4 * high
        if high > FARTHEST:
            return inf, (
                f"There is a robust decision at every budget, up to {low:.0f} times "
                "the calibrated room."
            )
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (middle, high) if search.feasible(middle) else (low, middle)
    return low, "Above this budget no decision keeps the constraints for every outcome."
