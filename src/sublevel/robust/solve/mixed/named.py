"""Solvers that take integers and cones together, by their name in CVXPY.

SCIP is free; Gurobi, MOSEK and others are used where they are installed. Limits are
handed over in each solver's own words. Whatever comes back, its integers are pinned,
the rest is solved for again, and the judge sees it.
"""

from __future__ import annotations

import time
import warnings
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np

from ....conic.by_cvxpy import pose
from ....conic.program import Indices, ProgramData
from ....errors import InvalidParameter, SolverFailed
from .incumbent import Candidate
from .integers import Integers
from .outer import Outcome

#: What each solver calls its limits: of time, and of the relative gap.
_LIMITS: dict[str, tuple[str, str]] = {
    "SCIP": ("limits/time", "limits/gap"),
    "GUROBI": ("TimeLimit", "MIPGap"),
    "MOSEK": ("MSK_DPAR_OPTIMIZER_MAX_TIME", "MSK_DPAR_MIO_TOL_REL_GAP"),
    "CPLEX": ("timelimit", "mip.tolerances.mipgap"),
    "COPT": ("TimeLimit", "RelGap"),
}
#: The argument of CVXPY that takes them, where they are not arguments themselves.
_GATHERED = {"SCIP": "scip_params", "MOSEK": "mosek_params", "CPLEX": "cplex_params"}


def solve_by_name(
    data: ProgramData, integer: Indices, name: str, options: Integers
) -> Outcome:
    """The only context of `data`, with integer columns, by a solver of CVXPY.

    The bound is nan but for SCIP: CVXPY does not tell those of others.
    """
    limits = _limits(name, options)
    problem, x = pose(data.program, *data.matrices(0), integer)
    begun = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=name, **limits)
    except cp.error.SolverError as error:
        if time.monotonic() - begun >= options.time_limit:
            return Outcome("out_of_time", None, -inf, 0)
        raise SolverFailed(f"{name} failed on the robust problem: {error}") from error
    if problem.status == cp.INFEASIBLE:
        return Outcome(cp.INFEASIBLE, None, -inf, 0)
    if x.value is None:
        raise SolverFailed(
            f"{name} stopped with status {problem.status!r} on the robust problem. "
            "Rescale the model, or try another solver."
        )
    offset = float(data.offsets[0])
    point = np.array(x.value)
    point[integer] = np.round(point[integer]) + 0.0
    value = float(problem.value) + offset
    bound = _bound(problem, name) + offset
    near = value - bound <= options.gap * max(abs(value), abs(bound))
    status = cp.OPTIMAL if problem.status == cp.OPTIMAL or near else "stopped_early"
    return Outcome(status, Candidate(point[integer], point, value), bound, 0)


def _limits(name: str, options: Integers) -> dict[str, Any]:
    """The limits in a solver's own words; refused where they are not at hand."""
    if name not in _LIMITS:
        if options.time_limit < inf:
            raise InvalidParameter(
                f"Integers(time_limit=...) must be inf with solver={name!r}, whose "
                f"limits are not known here, got {options.time_limit}. Use one of "
                f"{', '.join(sorted(_LIMITS))}, or leave the solver out."
            )
        return {}
    of_time, of_gap = _LIMITS[name]
    limits: dict[str, Any] = {of_gap: options.gap}
    if options.time_limit < inf:
        limits[of_time] = options.time_limit
    return {_GATHERED[name]: limits} if name in _GATHERED else limits


def _bound(problem: cp.Problem, name: str) -> float:
    """What no solution beats, as far as CVXPY lets the solver tell."""
    if name != "SCIP":
        return float("nan")
    return float(problem.solver_stats.extra_stats["model"].getDualbound())
