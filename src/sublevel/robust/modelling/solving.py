"""Solving with the status looked at."""

from __future__ import annotations

import cvxpy as cp

from ...conic import solve_quietly
from ...errors import InvalidParameter, SolverFailed


def solve_checked(problem: cp.Problem, solver: str) -> str:
    """Solve; the status is "optimal", "infeasible" or "unbounded".

    Anything else, an inaccurate solution included, raises SolverFailed.
    """
    if solver not in cp.installed_solvers():
        raise InvalidParameter(
            f"solver must be one of {cp.installed_solvers()}, got {solver!r}."
        )
    try:
        solve_quietly(problem, solver)
    except cp.error.SolverError as error:
        raise SolverFailed(f"{solver} failed on the robust problem: {error}") from error
    if problem.status not in (cp.OPTIMAL, cp.INFEASIBLE, cp.UNBOUNDED):
        raise SolverFailed(
            f"{solver} stopped with status {problem.status!r} on the robust problem. "
            "Rescale the model, or try another solver."
        )
    return str(problem.status)
