"""Linear programs by one live HiGHS: each context starts at the basis of the last."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from ..checks import Array
from .by_cvxpy import CvxpySolver
from .optimality import GOOD, relative_error
from .program import ConeProgram, ProgramData, rows_of
from .scaling import scale
from .solver import FAILED, INFEASIBLE, OPTIMAL, UNBOUNDED, Solutions

#: Absolute slack that HiGHS may leave in a row, or in a reduced cost.
FEASIBILITY = 1e-9

_STATUS = highspy.HighsModelStatus
_CODES: dict[Any, int] = {
    _STATUS.kOptimal: OPTIMAL,
    _STATUS.kInfeasible: INFEASIBLE,
    _STATUS.kUnbounded: UNBOUNDED,
}


class Highs:
    """Contexts of a linear program one after another, by the simplex method.

    Neighbouring contexts often share their basis, and few steps lead from one to the
    other. Where several solutions are best, which of them is given may depend on the
    context before. Programs that are not linear are posed to HiGHS by CVXPY.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from .canonical import cone_program
    >>> from .program import fill
    >>> x, cost = cp.Variable(2, nonneg=True), cp.Parameter(2)
    >>> problem = cp.Problem(cp.Minimize(cost @ x), [cp.sum(x) == 2])
    >>> program = cone_program(problem, {cost.id: "cost"})
    >>> data = fill(program, np.array([0, 0, 1.0]), {"cost": np.eye(2) + 1})
    >>> print(Highs().solve(data).objective)
    [2. 2.]
    """

    def check(self, program: ConeProgram) -> None:
        """Raise InvalidParameter if HiGHS does not take the program's cones."""
        if not _is_linear(program):
            CvxpySolver("HIGHS").check(program)

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        program = data.program
        if not _is_linear(program):
            return CvxpySolver("HIGHS").solve(data)
        n = len(data)
        status, value = np.full(n, FAILED), np.full(n, np.nan)
        x, z = np.full((n, program.width), np.nan), np.full((n, program.height), np.nan)
        scaling = scale(data)
        scaled, live = scaling.apply(data), _Live(program)
        for i in np.flatnonzero(data.finite).tolist():
            status[i] = live.run(scaled, i)
            if status[i] == OPTIMAL:
                x[i], z[i], value[i] = live.point(), live.multipliers(), live.value()
        # The simplex method's word is checked as any other's.
        checked = relative_error(scaled, x, z)
        status[(status == OPTIMAL) & ~(checked <= GOOD)] = FAILED
        x[status != OPTIMAL] = np.nan
        objective = program.sign * (scaling.values(value) + data.offsets)
        return Solutions(status, scaling.points(x), objective, objective.copy())


class _Live:
    """One program in HiGHS, whose numbers change."""

    def __init__(self, program: ConeProgram) -> None:
        self._program = program
        kinds = [(kind, rows_of(kind, size)) for kind, size in program.cones]
        self._equal = np.concatenate(
            [
                np.zeros(0, dtype=bool),
                *(np.full(k, kind == "zero") for kind, k in kinds),
            ]
        )
        self._highs = _quiet()
        self._entries: Array | None = None

    def run(self, data: ProgramData, i: int) -> int:
        """Solve at one context; a status."""
        _, q, A, b = data.matrices(i)
        if self._entries is None or not np.array_equal(self._entries, A.data):
            basis = None if self._entries is None else self._highs.getBasis()
            self._highs.passModel(self._posed(q, A, b))
            if basis is not None and basis.valid:
                self._highs.setBasis(basis)
            self._entries = A.data
        else:
            columns, rows = (np.arange(len(v), dtype=np.int32) for v in (q, b))
            self._highs.changeColsCost(len(q), columns, q)
            self._highs.changeRowsBounds(len(b), rows, self._lower(b), b)
        self._highs.run()
        code = _CODES.get(self._highs.getModelStatus())
        if code != OPTIMAL:
            # Nothing of a failure shall reach the next context.
            self._highs.clear()
            self._highs, self._entries = _quiet(), None
        return FAILED if code is None else code

    def point(self) -> Array:
        """The solution."""
        return np.array(self._highs.getSolution().col_value)

    def multipliers(self) -> Array:
        """Of the rows, in the sense of `optimality`."""
        return -np.array(self._highs.getSolution().row_dual)

    def value(self) -> float:
        """The objective, its offset left out."""
        return float(self._highs.getInfo().objective_function_value)

    def _lower(self, b: Array) -> Array:
        return np.where(self._equal, b, -np.inf)

    def _posed(self, q: Array, A: Any, b: Array) -> Any:
        program = self._program
        posed = highspy.HighsLp()
        posed.num_col_, posed.num_row_ = program.width, program.height
        posed.col_cost_, posed.row_lower_, posed.row_upper_ = q, self._lower(b), b
        posed.col_lower_ = np.full(program.width, -np.inf)
        posed.col_upper_ = np.full(program.width, np.inf)
        posed.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        posed.a_matrix_.start_ = program.indptr.astype(np.int32)
        posed.a_matrix_.index_ = program.indices.astype(np.int32)
        posed.a_matrix_.value_ = A.data
        return posed


def _is_linear(program: ConeProgram) -> bool:
    kinds = {kind for kind, _ in program.cones}
    return not program.P.nnz and kinds <= {"zero", "nonneg"}


def _quiet() -> Any:
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    # A presolved program has no use for the basis of the one before.
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("threads", 1)
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(name, FEASIBILITY)
    return highs
