"""Recompute the worst case of a decision with the sets' own oracles.

The solver's duals play no part. For each uncertain row the set's oracle names the worst
outcome; the user's own expressions are then evaluated there.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from .decision import Audit, Decision
from .uncertain import uncertain_in

#: Relative gap, or violation, above which a decision does not pass.
TOLERANCE = 1e-5


def audit(problem: Any, sets: dict[Any, Any], status: str) -> Decision:
    """The decision held by the problem's variables, with its audit."""
    certificates = {
        key: getattr(value, "certificate_", None)
        for key, value in problem.uncertainty.items()
    }
    if status != cp.OPTIMAL:
        return Decision(status, float("nan"), None, certificates)
    slacks, worst = [], []
    for part in problem._robust:
        found = [_worst_outcome(row, sets) for row in part.rows]
        slack, outcome = min(found, key=lambda pair: pair[0])
        slacks.append(slack)
        worst.append(outcome)
    return _report(problem, certificates, slacks, worst)


def _worst_outcome(row: Any, sets: dict[Any, Any]) -> tuple[float, dict[int, Any]]:
    """Slack of a row at its worst outcome, and that outcome by parameter."""
    slack = float(row.constant.value)
    outcome = {}
    for key, region in sets.items():
        # A parameter the row does not see may take any outcome of its set.
        slope = row.slopes.get(key, np.zeros(region.dim))
        direction = np.asarray(getattr(slope, "value", slope), dtype=float)
        worst = region.worst_case(direction)
        slack -= float(direction @ worst)
        start = 0
        for parameter in key:
            part = worst[start : start + parameter.size]
            outcome[parameter.id] = part.reshape(parameter.shape, order="F")
            start += parameter.size
    return slack, outcome


def _report(
    problem: Any, certificates: Any, slacks: list[float], worst: list[Any]
) -> Decision:
    constraints = [part.written for part in problem._robust]
    uncertain_goal = problem._has_uncertain_objective
    promised = problem._goal.value if uncertain_goal else problem.objective.value
    promised = float(np.asarray(promised).item())
    violations = [_evaluate(c, y) for c, y in zip(constraints, worst, strict=True)]
    objective, chosen = promised, None
    if uncertain_goal:
        violations.pop()
        objective, chosen = _evaluate(problem.objective, worst[-1]), worst[-1]
    gap = abs(objective - promised) / (1 + abs(promised))
    binding = int(np.argmin(slacks[: len(violations)])) if violations else None
    if chosen is None and binding is not None:
        chosen = worst[binding]
    largest = max(violations, default=0.0)
    passed = gap <= TOLERANCE and largest <= TOLERANCE * (1 + abs(promised))
    found = Audit(objective, gap, tuple(violations), binding, passed)
    values = {v.id: v.value for v in _variables(problem)}
    status = cp.OPTIMAL if passed else "audit_failed"
    return Decision(status, objective, found, certificates, values, chosen or {})


def _evaluate(written: Any, outcome: dict[int, Any]) -> float:
    """The user's objective, or the violation of a constraint, at an outcome."""
    before = {parameter: parameter.value for parameter in uncertain_in(written)}
    try:
        for parameter in before:
            parameter.value = parameter.project(outcome[parameter.id])
        if isinstance(written, cp.Minimize | cp.Maximize):
            return float(np.asarray(written.value).item())
        return float(np.max(written.violation()))
    finally:
        for parameter, value in before.items():
            parameter.value = value


def _variables(problem: Any) -> list[Any]:
    return [
        variable
        for part in [problem.objective, *problem.constraints]
        for variable in part.variables()
    ]
