"""CVXPY problems solved in units of their own, with the status looked at.

`maximise` is the independent road to a worst case: where a closed form exists it is
used instead, and tests compare the two.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..checks import Array
from ..deferred import cp
from ..errors import EmptySet, InvalidParameter, SolverFailed, Unbounded
from .pinning import pinned, without
from .program import fill
from .solver import STATUSES, Clarabel
from .substitution import substituted_problem

#: Options a solver is tried with, in turn: near the boundary of an exponential cone
#: Clarabel may get stuck with its usual steps and not with shorter ones.
_ATTEMPTS: dict[str, tuple[dict[str, float], ...]] = {
    "CLARABEL": ({}, {"max_step_fraction": 0.9})
}

_SETTLED = ("optimal", "infeasible", "unbounded")


def solve_quietly(problem: cp.Problem, solver: str) -> None:
    """Solve, for a caller who looks at the status: CVXPY's warnings are not shown."""
    *first, last = _ATTEMPTS.get(solver, ({},))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options in first:
            with suppress(cp.error.SolverError):
                problem.solve(solver=solver, **options)
                if problem.status in _SETTLED:
                    return
        problem.solve(solver=solver, **last)


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
    if problem.status not in _SETTLED:
        raise SolverFailed(
            f"{solver} stopped with status {problem.status!r} on the robust problem. "
            "Rescale the model, or try another solver."
        )
    return str(problem.status)


class Solved(NamedTuple):
    """What came of a problem; its variables hold the solution, if there is one.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded" or "solver_failed"
    value, bound : of the objective, and of the dual; nan where there is none
    resolution : objectives nearer than this cannot be told apart
    """

    status: str
    value: float
    bound: float
    resolution: float = 0.0


def solve_by_cones(problem: cp.Problem, effort: int = 0) -> Solved:
    """Solve a convex problem by Clarabel, in units of its own.

    Its parameters keep their values. Where no digits come of it, more are asked for; an
    `effort` above 0 asks for them from the start.
    """
    # What reads CVXPY is loaded where something is read.
    from .canonical import cone_program

    values = {p.id: p.value for p in problem.parameters()}
    if values:
        problem = substituted_problem(problem, values)
    program = cone_program(problem, {})
    slots = np.ones(1)
    pins = pinned(program)
    keep = np.setdiff1d(np.arange(program.width), pins.columns)
    data = fill(without(program, pins), slots, {})
    status, before = "solver_failed", ""
    for trouble in range(effort, 3):
        solved = Clarabel(trouble).solve(data)
        before, status = status, STATUSES[int(solved.status[0])]
        if status == "optimal":
            x = np.empty(program.width)
            x[keep], x[pins.columns] = solved.x[0], pins.values
            for variable in problem.variables():
                entries = np.asarray(program.variables[variable.id] @ x)
                variable.save_value(entries.reshape(variable.shape, order="F"))
            bound = np.nan if solved.bound is None else float(solved.bound[0])
            finest = solved.resolution
            resolution = 0.0 if finest is None else float(finest[0])
            return Solved(status, float(solved.objective[0]), bound, resolution)
        if status == before != "solver_failed":
            # That there is no solution is believed when it is said twice.
            break
    return Solved(status, np.nan, np.nan)


def maximise(
    direction: Array,
    outcome: cp.Variable,
    constraints: list[cp.Constraint],
    owner: str,
) -> Array:
    """The outcome, of the shape of `direction`, that maximises `direction @ outcome`.

    Raises EmptySet, Unbounded or SolverFailed, each naming `owner`. An inaccurate
    solution counts as a failure: a worst case that is nearly right is not one.
    """
    # A unit direction keeps the solver's absolute tolerances meaningful.
    length = float(np.linalg.norm(direction))
    aim = (direction / length if length > 0 else direction) @ outcome
    return maximise_expression(aim, outcome, constraints, owner)[1]


def maximise_expression(
    aim: cp.Expression,
    outcome: cp.Variable,
    constraints: list[cp.Constraint],
    owner: str = "a set",
) -> tuple[float, Array]:
    """Largest value of a concave expression, and the outcome where it is taken.

    Raises EmptySet, Unbounded or SolverFailed, each naming `owner`.
    """
    problem = cp.Problem(cp.Maximize(aim), constraints)
    if problem.is_mixed_integer():
        status = _by_branching(problem, owner)
    else:
        status = solve_by_cones(problem).status
    if status == "infeasible":
        raise EmptySet(f"{owner} is empty: no outcome satisfies all its conditions.")
    if status == "unbounded":
        raise Unbounded(
            f"The worst case over {owner} is infinite: the set is unbounded in the "
            "direction asked for. Intersect it with a bounded set such as Box."
        )
    if status != "optimal" or outcome.value is None:
        raise SolverFailed(
            f"The solver stopped with status {status!r} on the worst case over {owner}."
        )
    value = np.asarray(aim.value).item()
    return float(value), np.asarray(outcome.value, dtype=float)


def _by_branching(problem: cp.Problem, owner: str) -> str:
    try:
        solve_quietly(problem, cp.HIGHS)
    except cp.error.SolverError as error:
        raise SolverFailed(
            f"HIGHS failed on the worst case over {owner}: {error}"
        ) from error
    return str(problem.status).removesuffix("_inaccurate")
