"""Decisions by cutting planes: to the end, or the best robust one found on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp

from ...checks import require_level, require_positive
from ...errors import InvalidParameter
from ..auditing.audit import TOLERANCE as AUDIT_TOLERANCE
from ..auditing.audit import audit
from ..auditing.decision import Decision
from ..modelling.counterpart import Key
from .cvxpy_master import CvxpyMaster
from .linear_master import LinearMaster
from .linear_model import LinearModel, linear_model
from .loop import Cutting, Loop


@dataclass(frozen=True, eq=False)
class Cuts:
    """How to solve by cutting planes: `problem.solve(X, engine=Cuts(...))`.

    Parameters
    ----------
    tolerance : float, default 1e-7
        Relative violation at which a row counts as protected; at most 1e-5, what the
        audit lets pass.
    gap : float, default 1e-7
        Relative gap to which masters with integer variables are solved. A larger one
        is faster; `decision.gap` says how far from the optimum the decision can be.
    max_rounds : int, default 500
        When they run out, the decision is the best robust one found, if there was
        one. Its status is "stopped_early", and its `gap` says how far from the
        optimum it can be.
    scenarios : dict from Uncertain to array of shape (n, size), optional
        Outcomes to start from: `decision.scenarios` of an earlier solve. Those outside
        the sets of this one are left out, as they need no protection.

    Examples
    --------
    >>> import sublevel as sl
    >>> r, w = sl.Uncertain(2, name="returns"), cp.Variable(2, nonneg=True)
    >>> U = sl.sets.Ellipsoid([1.0, 1.2], radius=0.5)
    >>> problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: U})
    >>> early = problem.solve(engine=Cuts(max_rounds=3))
    >>> early.status, bool(early.objective <= early.bound), bool(early.gap > 1e-4)
    ('stopped_early', True, True)
    >>> problem.solve(engine=Cuts(scenarios=early.scenarios)).status
    'optimal'
    """

    tolerance: float = 1e-7
    gap: float = 1e-7
    max_rounds: int = 500
    scenarios: Any = None

    def __post_init__(self) -> None:
        require_positive("Cuts", tolerance=self.tolerance, max_rounds=self.max_rounds)
        require_level("Cuts", gap=self.gap)
        if self.tolerance > AUDIT_TOLERANCE:
            raise InvalidParameter(
                f"Cuts(tolerance=...) must be at most {AUDIT_TOLERANCE:g}, or the "
                f"decision fails its audit, got {self.tolerance}."
            )
        if self.max_rounds != int(self.max_rounds):
            raise InvalidParameter(
                f"Cuts(max_rounds=...) must be an integer, got {self.max_rounds!r}."
            )
        if not (self.scenarios is None or isinstance(self.scenarios, dict)):
            raise InvalidParameter(
                "Cuts(scenarios=...) must be a dict from sl.Uncertain to outcomes, got "
                f"{type(self.scenarios).__name__}. Pass decision.scenarios."
            )


def decide_by_cuts(
    problem: Any, sets: dict[Key, Any], cuts: Cuts, solver: str | None
) -> Decision:
    """The decision of a RobustProblem, audited, with a bound and its scenarios."""
    master, sign = _master(problem, sets, cuts, solver), _sign(problem.objective)
    rows = problem._rows()
    objective = len(problem._robust[-1].rows) if problem._has_uncertain_objective else 0
    loop = Loop(master, rows, sets, sign, len(rows) - objective)
    found = loop.run(cuts.tolerance, int(cuts.max_rounds), cuts.scenarios)
    if found.status == "stopped_early":
        decision = _best_kept(problem, sets, master, found)
    else:
        if found.status == cp.OPTIMAL:
            master.load(master.snapshot())
        decision = audit(problem, sets, found.status)
    return replace(
        decision, bound=found.bound, rounds=found.rounds, scenarios=found.scenarios
    )


def _master(problem: Any, sets: dict[Key, Any], cuts: Cuts, solver: str | None) -> Any:
    """HiGHS itself where the model is linear, CVXPY where it is curved."""
    model = _linear(problem, sets) if solver in (None, "HIGHS") else None
    if model is not None:
        return LinearMaster(model, cuts.gap)
    solver = solver or ("HIGHS" if problem._is_mixed_integer else "CLARABEL")
    goal, certain = problem._bounded_goal(), problem._all_certain(sets)
    return CvxpyMaster(goal, certain, problem._rows(), solver)


def _linear(problem: Any, sets: dict[Key, Any]) -> LinearModel | None:
    if not problem._equalities():
        found: LinearModel | None = problem._linear_model
        return found
    # What an equality asks for depends on the affine hull of this context's sets.
    goal, certain = problem._bounded_goal(), problem._all_certain(sets)
    return linear_model(goal, certain, problem._rows())


def _best_kept(
    problem: Any, sets: dict[Key, Any], master: Any, found: Cutting
) -> Decision:
    """The best of the decisions kept that passes the audit; or none."""
    sign, best = _sign(problem.objective), None
    for snapshot in found.kept:
        master.load(snapshot)
        decision = audit(problem, sets, cp.OPTIMAL)
        if problem._has_uncertain_objective:
            # What the master promised was for the outcomes it knew; promise the truth.
            problem._goal.save_value(decision.objective)
            decision = audit(problem, sets, cp.OPTIMAL)
        value = sign * decision.objective
        if decision.status == cp.OPTIMAL and (best is None or value < best[0]):
            best = value, snapshot, decision
    if best is None:
        return audit(problem, sets, found.status)
    master.load(best[1])
    return replace(best[2], status=found.status)


def _sign(objective: Any) -> float:
    return 1.0 if isinstance(objective, cp.Minimize) else -1.0
