"""Any solver CVXPY finds installed, for compiled programs: one context at a time."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..checks import Array
from ..errors import InvalidParameter
from .program import ConeProgram, Indices, ProgramData, rows_of, whole
from .scaling import scale
from .solver import FAILED, INFEASIBLE, OPTIMAL, UNBOUNDED, Solutions

_CODES = {
    cp.OPTIMAL: OPTIMAL,
    cp.INFEASIBLE: INFEASIBLE,
    cp.UNBOUNDED: UNBOUNDED,
}
#: Options that ask for as many digits as the judge wants to see.
_OPTIONS: dict[str, dict[str, float]] = {
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 50_000},
}


class CvxpySolver:
    """A solver by its name in CVXPY.

    Every context is posed to CVXPY anew, which costs milliseconds where a live solver
    takes microseconds.

    Parameters
    ----------
    name : one of `cp.installed_solvers()`
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, program: ConeProgram) -> None:
        """Raise InvalidParameter if the solver does not take the program's cones."""
        P = whole(np.zeros((1, len(program.quadratic_pattern[1]))))
        q, b = whole(np.zeros((1, program.width + 1))), np.zeros((1, program.height))
        A = whole(np.ones((1, len(program.indices))))
        data = ProgramData(program, P, q, A, whole(b))
        problem, _ = pose(program, *data.matrices(0))
        try:
            problem.get_problem_data(self.name)
        except cp.error.SolverError as error:
            kinds = sorted({kind for kind, _ in program.cones})
            raise InvalidParameter(
                f"RobustProblem.compile(solver={self.name!r}) must take the cones of "
                f"the counterpart, {', '.join(kinds)}, and it does not. Use "
                "'CLARABEL', which does, or engine='cuts'."
            ) from error

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts, one after another."""
        n, width = len(data), data.program.width
        status, x = np.full(n, FAILED), np.full((n, width), np.nan)
        value = np.full(n, np.nan)
        scaling = scale(data)
        scaled = scaling.apply(data)
        for i in np.flatnonzero(data.finite).tolist():
            problem, variable = pose(data.program, *scaled.matrices(i))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    problem.solve(solver=self.name, **_OPTIONS.get(self.name, {}))
            except (cp.error.SolverError, ValueError):
                continue
            accurate = str(problem.status).removesuffix("_inaccurate")
            status[i] = _CODES.get(accurate, FAILED)
            if status[i] == OPTIMAL and variable.value is not None:
                x[i], value[i] = variable.value, problem.value
        x, value = scaling.points(x), scaling.values(value)
        return Solutions(status, x, data.program.sign * (value + data.offsets))


def pose(
    program: ConeProgram,
    P: sp.csc_array,
    q: Array,
    A: sp.csc_array,
    b: Array,
    integer: Indices | None = None,
) -> tuple[cp.Problem, cp.Variable]:
    """The program at one context as a CVXPY problem, and its variable.

    Parameters
    ----------
    P, q, A, b : as `ProgramData.matrices` gives them
    integer : columns that are integer
    """
    whole_ones = False if integer is None else [tuple(integer.tolist())]
    x = cp.Variable(program.width, integer=whole_ones)
    room = b - A @ x
    aim = q @ x
    if P.nnz:
        full = P + P.T
        full.setdiag(P.diagonal())
        aim = aim + cp.quad_form(x, cp.psd_wrap(full.tocsc())) / 2
    constraints, start = [], 0
    for kind, size in program.cones:
        rows = rows_of(kind, size)
        part = room[start : start + rows]
        constraints.append(_cone(kind, size, part))
        start += rows
    return cp.Problem(cp.Minimize(aim), constraints), x


def _cone(kind: str, size: float, part: cp.Expression) -> cp.Constraint:
    if kind == "zero":
        return part == 0
    if kind == "nonneg":
        return part >= 0
    if kind == "soc":
        return cp.SOC(part[0], part[1:]) if size > 1 else part >= 0
    if kind == "exp":
        return cp.ExpCone(part[0], part[1], part[2])
    if kind == "power":
        return cp.PowCone3D(part[0], part[1], part[2], size)
    side = int(size)
    column, row = np.tril_indices(side)
    # Off-diagonals come times the square root of 2, column by column.
    pick = np.zeros((side * side, len(row)))
    for k, (i, j) in enumerate(zip(row, column, strict=True)):
        weight = 1.0 if i == j else 1 / np.sqrt(2)
        pick[j * side + i, k] = pick[i * side + j, k] = weight
    return cp.reshape(pick @ part, (side, side), order="F") >> 0
