"""Exact linear optimisation over any polyhedron, written in CVXPY.

The constraints are compiled once. Cost vectors are solved one after another by HiGHS,
which starts each from the last vertex: it stays feasible, since only the costs change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import highspy
import numpy as np

from ...checks import Array, as_matrix
from ...errors import InvalidParameter, SolverFailed


class ProgramOracle:
    """Minimise cost @ variable subject to linear constraints.

    Variables may be boolean or integer.

    Parameters
    ----------
    variable : cp.Variable of shape (m,), the decision
    constraints : list of CVXPY constraints that become linear rows
        They may use other variables besides.

    Examples
    --------
    >>> x = cp.Variable(3, nonneg=True)
    >>> oracle = ProgramOracle(x, [cp.sum(x) == 1, x <= 0.6])
    >>> oracle(np.array([[3.0, 1.0, 2.0], [-1.0, 0.0, 5.0]])).round(6) + 0.0
    array([[0. , 0.6, 0.4],
           [0.6, 0.4, 0. ]])
    """

    def __init__(self, variable: Any, constraints: Sequence[Any]) -> None:
        if not isinstance(variable, cp.Variable) or variable.ndim != 1:
            raise InvalidParameter(
                "ProgramOracle(variable=...) must be a cp.Variable of shape (m,), got "
                f"{variable!r}."
            )
        self.size = variable.size
        # Costs 1 to m show which columns of the program are the variable's.
        costs = np.arange(1.0, self.size + 1)
        problem = cp.Problem(cp.Minimize(costs @ variable), list(constraints))
        self._program = _linear_program(problem)
        self._columns = np.flatnonzero(self._program["c"])

    def __call__(self, costs: Any) -> Array:
        """Minimisers of costs of shape (n, m), row by row."""
        rows = as_matrix("ProgramOracle", "costs", costs, (None, self.size))
        solver = _solver(self._program)
        return np.array([self._decide(solver, cost) for cost in rows])

    def _decide(self, solver: Any, cost: Array) -> Array:
        columns = self._columns.astype(np.int32)
        solver.changeColsCost(len(columns), columns, cost)
        solver.run()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverFailed(
                "ProgramOracle: HiGHS found no optimal decision, its status is "
                f"{solver.modelStatusToString(status)!r}. The constraints must be "
                "feasible, and bound the decision for every cost."
            )
        return np.asarray(solver.getSolution().col_value)[self._columns]


def _linear_program(problem: cp.Problem) -> dict[str, Any]:
    """The arrays of minimise c x subject to A x = b or A x <= b."""
    try:
        # Without squares CVXPY lays out its cone form, otherwise, below 1.9, that of QPs.
        form = {"use_quad_obj": False}
        found = problem.get_problem_data(cp.HIGHS, solver_opts=form)[0]
    except cp.error.SolverError as error:
        raise InvalidParameter(
            "ProgramOracle(constraints=...) must be linear, got constraints that need "
            "another cone."
        ) from error
    return {key: value for key, value in found.items() if key != "param_prob"}


def _solver(program: dict[str, Any]) -> Any:
    """HiGHS with the program loaded, silent, on one thread."""
    rows, columns = program["A"].shape
    matrix, infinity = program["A"].tocsc(), highspy.kHighsInf
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = rows, columns
    lp.col_cost_ = np.zeros(columns)
    lp.col_lower_ = _bounds(program.get("lower_bounds"), -infinity, columns)
    lp.col_upper_ = _bounds(program.get("upper_bounds"), infinity, columns)
    equal = np.arange(rows) < program["dims"].zero
    lp.row_lower_ = np.where(equal, program["b"], -infinity)
    lp.row_upper_ = np.asarray(program["b"], dtype=float)
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    whole = [*program["bool_vars_idx"], *program["int_vars_idx"]]
    if whole:
        _require_whole(lp, whole, program["bool_vars_idx"])
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.passModel(lp)
    return solver


def _bounds(given: Any, default: float, size: int) -> Array:
    if given is None:
        return np.full(size, default)
    return np.where(np.isnan(given), default, np.asarray(given, dtype=float))


def _require_whole(lp: Any, whole: list[Any], binary: list[Any]) -> None:
    kinds = [highspy.HighsVarType.kContinuous] * lp.num_col_
    lower, upper = np.array(lp.col_lower_), np.array(lp.col_upper_)
    for index in np.ravel(whole).astype(int):
        kinds[index] = highspy.HighsVarType.kInteger
    at = np.ravel(binary).astype(int)
    lower[at], upper[at] = np.maximum(lower[at], 0.0), np.minimum(upper[at], 1.0)
    lp.col_lower_, lp.col_upper_, lp.integrality_ = lower, upper, kinds
