"""Recompute the worst case of a decision with the sets' own oracles.

The solver's duals play no part. For each uncertain row the set's oracle names the worst
outcome; the user's own expressions are then evaluated at every one of these outcomes,
and at extremes of the sets, and the worst value counts.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ..modelling.equalities import size_of_terms
from ..modelling.oracle import CheckedOracle
from ..modelling.sets_at import named
from ..modelling.uncertain import uncertain_in
from .decision import Audit, Decision
from .telling import told

#: Relative gap, or violation, above which a decision does not pass.
TOLERANCE = 1e-5

Outcome = dict[int, Any]


def audit(problem: Any, sets: dict[Any, Any], status: str) -> Decision:
    """The decision held by the problem's variables, with its audit."""
    known = problem.uncertainty
    certificates = told(list(known), list(known.values()))
    if status != cp.OPTIMAL:
        return Decision(status, float("nan"), None, certificates)
    outcomes = [_worst_outcome(row, sets) for row in problem._rows()]
    for row in problem._equalities():
        outcomes += [_worst_outcome(row, sets, sign) for sign in (1.0, -1.0)]
    outcomes += [_extreme(sets, sign) for sign in (1.0, -1.0)]
    written = [c for c in problem.constraints if uncertain_in(c)]
    found = [
        max((_violation(c, y), i) for i, y in enumerate(outcomes)) for c in written
    ]
    violations = tuple(violation for violation, _ in found)
    objective, at = _worst_objective(problem, outcomes)
    binding = int(np.argmax(violations)) if violations else None
    if at is None and binding is not None:
        at = found[binding][1]
    promised = _promised(problem)
    gap = abs(objective - promised) / (1 + abs(promised))
    sizes = [_size(part, sets) for part in problem._robust[: len(written)]]
    kept = all(v <= TOLERANCE * s for v, s in zip(violations, sizes, strict=True))
    passed = gap <= TOLERANCE and kept
    own = tuple(named(key) for key, U in sets.items() if isinstance(U, CheckedOracle))
    report = Audit(objective, gap, violations, binding, passed, own)
    values = {v.id: v.value for v in _variables(problem)}
    worst = outcomes[at] if at is not None else {}
    status = cp.OPTIMAL if passed else "audit_failed"
    return Decision(status, objective, report, certificates, values, worst)


def _worst_outcome(row: Any, sets: dict[Any, Any], sign: float = 1.0) -> Outcome:
    """The outcome that hurts a row most; any, for what the row does not see."""
    found: Outcome = {}
    # What the row sees comes last: keys with lifted functions share parameters.
    for key in sorted(sets, key=lambda key: key in row.slopes):
        worst = sets[key].worst_case(sign * row.direction(key))
        found |= _by_parameter(key, worst)
    return found


def _extreme(sets: dict[Any, Any], sign: float) -> Outcome:
    """An outcome that owes nothing to the rows: an extreme along the diagonal."""
    found: Outcome = {}
    for key, region in sets.items():
        found |= _by_parameter(key, region.worst_case(sign * np.ones(region.dim)))
    return found


def _by_parameter(key: Any, worst: Any) -> Outcome:
    found, start = {}, 0
    for parameter in key:
        part = worst[start : start + parameter.size]
        found[parameter.id] = part.reshape(parameter.shape, order="F")
        start += parameter.size
    return found


def _worst_objective(problem: Any, outcomes: list[Outcome]) -> tuple[float, int | None]:
    """The objective's worst value over the outcomes, and which one it is."""
    if not problem._has_uncertain_objective:
        return _promised(problem), None
    values = [_value(problem.objective, outcome) for outcome in outcomes]
    worst = np.argmax if isinstance(problem.objective, cp.Minimize) else np.argmin
    at = int(worst(values))
    return values[at], at


def _promised(problem: Any) -> float:
    uncertain = problem._has_uncertain_objective
    value = problem._goal.value if uncertain else problem.objective.value
    return float(np.asarray(value).item())


def _violation(constraint: Any, outcome: Outcome) -> float:
    """How far the user's constraint is from holding at an outcome."""
    return float(np.max(_at(constraint, outcome, lambda: np.abs(constraint.residual))))


def _value(objective: Any, outcome: Outcome) -> float:
    return float(np.asarray(_at(objective, outcome, lambda: objective.value)).item())


def _at(written: Any, outcome: Outcome, evaluate: Any) -> Any:
    """Evaluate at an outcome, and leave the parameters as they were."""
    before = {parameter: parameter.value for parameter in uncertain_in(written)}
    try:
        for parameter in before:
            parameter.value = parameter.project(outcome[parameter.id])
        return evaluate()
    finally:
        for parameter, value in before.items():
            parameter.value = value


def _size(part: Any, sets: dict[Any, Any]) -> float:
    """Size of the numbers a constraint compares: what a violation is relative to."""
    values = [abs(float(row.constant.value)) for row in part.rows]
    values += [size_of_terms(row, sets) for row in part.equalities]
    return 1 + max(values, default=0.0)


def _variables(problem: Any) -> list[Any]:
    return [
        variable
        for part in [problem.objective, *problem.constraints]
        for variable in part.variables()
    ]
