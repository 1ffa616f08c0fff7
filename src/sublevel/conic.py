"""One linear function maximised over a convex (or mixed-integer) description.

This is the independent road to a worst case: where a closed form exists it is used
instead, and tests compare the two.
"""

import warnings
from contextlib import suppress

import cvxpy as cp
import numpy as np

from .checks import Array
from .errors import EmptySet, SolverFailed, Unbounded

#: Options a solver is tried with, in turn: near the boundary of an exponential cone
#: Clarabel may get stuck with its usual steps and not with shorter ones.
_ATTEMPTS: dict[str, tuple[dict[str, float], ...]] = {
    cp.CLARABEL: ({}, {"max_step_fraction": 0.9})
}

_SETTLED = (cp.OPTIMAL, cp.INFEASIBLE, cp.UNBOUNDED)


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
    problem = cp.Problem(
        cp.Maximize((direction / length if length > 0 else direction) @ outcome),
        constraints,
    )
    solver = cp.HIGHS if problem.is_mixed_integer() else cp.CLARABEL
    try:
        solve_quietly(problem, solver)
    except cp.error.SolverError as error:
        raise SolverFailed(
            f"{solver} failed on the worst case over {owner}: {error}"
        ) from error
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise EmptySet(f"{owner} is empty: no outcome satisfies all its conditions.")
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise Unbounded(
            f"The worst case over {owner} is infinite: the set is unbounded in the "
            "direction asked for. Intersect it with a bounded set such as Box."
        )
    if problem.status != cp.OPTIMAL or outcome.value is None:
        raise SolverFailed(
            f"{solver} stopped with status {problem.status!r} on the worst case over "
            f"{owner}."
        )
    return np.asarray(outcome.value, dtype=float)
