"""How far a context that has no robust decision is from having one.

Sets grow with their budget, so there is a largest budget at which a robust decision
exists; bisection finds it. At each budget the uncertain constraints may be missed by a
common slack, and the least slack says whether none is needed: a solver answers that
reliably where it would stumble over a problem that is just about feasible.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np

from ..checks import require_level
from ..conic.solver import Solver
from ..errors import EmptySet, InvalidParameter, SolverFailed
from ..predictions import Table
from .keys import UncertainKey
from .model.uncertain import Key, Uncertain, uncertain_in
from .solve.cuts.cuts import Cuts
from .solve.mixed.integers import Integers

if TYPE_CHECKING:
    from .problem import RobustProblem


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
    problem: RobustProblem,
    X: Table,
    parameter: Uncertain | Key | None,
    tolerance: float,
    engine: str | Cuts | Integers,
    solver: str | Solver | None,
) -> LargestBudget:
    """The search for a RobustProblem; see its method of the same name."""
    require_level("RobustProblem.largest_budget", tolerance=tolerance)
    scales = [_Scale(key, X) for key in _scaled_keys(problem, parameter)]
    search = _Search(problem, X, scales, engine, solver)
    factor, reason = _bisect(search, tolerance)
    budgets = {scale.key.parameters: scale.budget(factor) for scale in scales}
    single = len(budgets) == 1
    by_key = {key if len(key) > 1 else key[0]: b for key, b in budgets.items()}
    return LargestBudget(
        next(iter(budgets.values())) if single else by_key, factor, reason
    )


def _scaled_keys(
    problem: RobustProblem, parameter: Uncertain | Key | None
) -> list[UncertainKey]:
    """The keys whose budgets are searched."""
    keys = [key for key in problem.keys if key.predicted is not None]
    if parameter is not None:
        wanted = parameter if isinstance(parameter, tuple) else (parameter,)
        # By identity: == between CVXPY expressions makes a constraint.
        asked = [part.id for part in wanted]
        keys = [key for key in keys if [p.id for p in key.parameters] == asked]
    if not keys:
        raise InvalidParameter(
            "RobustProblem.largest_budget() needs a LossSet whose budget can be "
            "changed, and the model has none"
            + ("." if parameter is None else f" for {parameter}.")
        )
    return keys


#: A relative miss that is no more than rounding.
NOTHING = 1e-7


class _Scale:
    """The budgets of one LossSet at one context, on a scale from 0 to calibrated."""

    def __init__(self, key: UncertainKey, X: Table) -> None:
        assert key.predicted is not None
        self.key, self.source, self.X = key, key.predicted, X
        batch = self.source.predict_set(X)
        if len(batch) != 1:
            raise InvalidParameter(
                "RobustProblem.largest_budget(X) takes one context, got "
                f"{len(batch)} rows. Take one row, X[:1]."
            )
        parts = batch.parts
        self.floor = min(float(np.min(p.loss.floor(p.prediction))) for p in parts)
        room = float(parts[0].budgets[0]) - self.floor
        self.room = room if 0 < room < inf else 1.0

    def budget(self, factor: float) -> float:
        """The budget at a multiple of the room."""
        return self.floor + factor * self.room

    def region(self, factor: float) -> Any:
        """The set there."""
        return self.source.predict_set(self.X, budget=self.budget(factor))[0]


class _Search:
    """Whether a robust decision exists at a multiple of the calibrated rooms."""

    def __init__(
        self,
        problem: RobustProblem,
        X: Table,
        scales: list[_Scale],
        engine: str | Cuts | Integers,
        solver: str | Solver | None,
    ) -> None:
        self.engine, self.solver, self.scales = engine, solver, scales
        self.slack = cp.Variable(name="slack")
        self.written, self.problem = problem, _relaxed(problem, self.slack)
        scaled = {scale.key.parameters for scale in scales}
        self.fixed: dict[Key, Any] = {
            key.parameters: key.source
            if key.predicted is None
            else key.predicted.predict_set(X)[0]
            for key in problem.keys
            if key.parameters not in scaled
        }

    def feasible(self, factor: float) -> bool:
        """Whether no slack is needed."""
        regions = {s.key.parameters: s.region(factor) for s in self.scales} | self.fixed
        at_values = self.problem.over(
            [regions[key] for key in self.problem.uncertainty]
        )
        try:
            decisions = at_values.compile(self.engine, self.solver).decide()
        except EmptySet:
            # No outcome of the declared signs: nothing to protect against.
            return True
        status = str(decisions.status[0])
        if status in ("empty_set", cp.INFEASIBLE):
            return status == "empty_set"
        if status != cp.OPTIMAL:
            raise SolverFailed(
                f"RobustProblem.largest_budget() could not decide whether the budget "
                f"can be kept: the status was {status!r}. Try another solver."
            )
        # Whether what slack is left is small against every row is for the judge to say.
        written = self.written.over([regions[key] for key in self.written.uncertainty])
        variables = written.prepared().model.variables
        audit = written.audit({v: decisions.value(v)[0] for v in variables})
        return bool(audit.miss <= NOTHING)


def _relaxed(problem: RobustProblem, slack: cp.Variable) -> RobustProblem:
    """The least slack with which the uncertain constraints can be kept."""
    constraints = [_with_slack(c, slack) for c in problem.constraints]
    domain = [c for c in problem.objective.args[0].domain if not uncertain_in(c)]
    constraints += [*domain, slack >= 0]
    return type(problem)(cp.Minimize(slack), constraints, dict(problem.uncertainty))


def _with_slack(constraint: cp.Constraint, slack: cp.Variable) -> cp.Constraint:
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
