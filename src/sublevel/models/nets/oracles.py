"""Exact linear optimisation for many cost vectors at once.

An oracle is any callable that maps costs of shape (n, m) to decisions of shape (n, m),
row by row a minimiser of cost @ decision over the feasible set. `SPOPlusRegressor`
takes one.

That of any polyhedron, written in CVXPY, is compiled once. Cost vectors are solved one
after another by HiGHS, which starts each from the last vertex: it stays feasible, since
only the costs change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import cvxpy as cp
import highspy
import numpy as np
import numpy.typing as npt

from ...checks import Array, BoolArray, as_matrix
from ...conic.program import Indices
from ...errors import InvalidParameter, SolverFailed

Oracle = Callable[[Array], Array]

#: One number, or an array of them.
Place = TypeVar("Place", int, Indices)


@dataclass(frozen=True)
class SimplexOracle:
    """Put everything on the cheapest component: decisions >= 0 that sum to one.

    Among equally cheap components the first is taken. To maximise a return, pass minus
    the return as cost.

    Examples
    --------
    >>> SimplexOracle()(np.array([[3.0, 1.0, 2.0], [-1.0, 0.0, 0.0]]))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """

    def __call__(self, costs: npt.ArrayLike) -> Array:
        rows = as_matrix("SimplexOracle", "costs", costs)
        decisions = np.zeros_like(rows)
        decisions[np.arange(len(rows)), rows.argmin(axis=1)] = 1.0
        return decisions


@dataclass(frozen=True)
class GridPathOracle:
    """Cheapest path through a square grid, moving east or south.

    From the north-west corner to the south-east one, by dynamic programming over
    anti-diagonals: 2 (side - 1) vectorised steps for any number of cost vectors.
    Costs may be negative. On a tie the path goes east.

    Edges are numbered row by row: the side - 1 edges east within a row of nodes, then
    the side edges south to the next row, 2 side (side - 1) in all (Elmachtoub & Grigas
    2022 use side=5, so 40 edges).

    Parameters
    ----------
    side : int
        Nodes along a side of the grid, at least 2.

    Examples
    --------
    A 2 x 2 grid has the edges east (top), south (left), south (right), east (bottom).

    >>> GridPathOracle(side=2)(np.array([[1.0, 5.0, 1.0, 5.0], [5.0, 1.0, 5.0, 1.0]]))
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """

    side: int = 5

    def __post_init__(self) -> None:
        if not (isinstance(self.side, int | np.integer) and self.side >= 2):
            raise InvalidParameter(
                f"GridPathOracle(side=...) must be a whole number of at least 2, "
                f"got {self.side!r}."
            )

    @property
    def n_edges(self) -> int:
        """Number of edges, hence of costs."""
        return 2 * self.side * (self.side - 1)

    def __call__(self, costs: npt.ArrayLike) -> Array:
        shape = (None, self.n_edges)
        rows = as_matrix("GridPathOracle", "costs", costs, shape)
        return self._walk(self._go_east(rows))

    def east(self, row: Place, column: Place) -> Place:
        """Number of the edge that leaves a node eastwards."""
        return row * (2 * self.side - 1) + column

    def south(self, row: Place, column: Place) -> Place:
        """Number of the edge that leaves a node southwards."""
        return self.east(row, column) + self.side - 1

    def _go_east(self, costs: Array) -> BoolArray:
        """Whether the cheapest path from a node starts eastwards: (n, side, side)."""
        last = self.side - 1
        # One row and one column beyond the grid: no way out there.
        to_go = np.full((len(costs), self.side + 1, self.side + 1), np.inf)
        to_go[:, last, last] = 0.0
        choice = np.zeros((len(costs), self.side, self.side), dtype=bool)
        for diagonal in range(2 * last - 1, -1, -1):
            row = np.arange(max(0, diagonal - last), min(diagonal, last) + 1)
            column = diagonal - row
            east = to_go[:, row, column + 1].copy()
            south = to_go[:, row + 1, column].copy()
            can = column < last
            east[:, can] += costs[:, self.east(row[can], column[can])]
            can = row < last
            south[:, can] += costs[:, self.south(row[can], column[can])]
            choice[:, row, column] = east <= south
            to_go[:, row, column] = np.minimum(east, south)
        return choice

    def _walk(self, go_east: BoolArray) -> Array:
        """Follow the choices from the north-west corner."""
        which = np.arange(len(go_east))
        row = np.zeros(len(go_east), dtype=int)
        column = np.zeros_like(row)
        decisions = np.zeros((len(go_east), self.n_edges))
        for _ in range(2 * (self.side - 1)):
            east = go_east[which, row, column]
            edge = np.where(east, self.east(row, column), self.south(row, column))
            decisions[which, edge] = 1.0
            row, column = row + ~east, column + east
        return decisions


def ask(oracle: Oracle, costs: Array) -> Array:
    """The oracle's decisions, checked for shape and finiteness."""
    decisions = np.array(oracle(costs), dtype=float)
    if decisions.shape != costs.shape or not np.isfinite(decisions).all():
        raise InvalidParameter(
            f"An oracle must map costs of shape {costs.shape} to finite decisions of "
            f"the same shape, got shape {decisions.shape}."
        )
    return decisions


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

    def __init__(self, variable: cp.Variable, constraints: Sequence[Any]) -> None:
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

    def __call__(self, costs: npt.ArrayLike) -> Array:
        """Minimisers of costs of shape (n, m), row by row."""
        rows = as_matrix("ProgramOracle", "costs", costs, (None, self.size))
        solver = _solver(self._program)
        return np.array([self._decide(solver, cost) for cost in rows])

    def _decide(self, solver: highspy.Highs, cost: Array) -> Array:
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
        program = problem.get_problem_data(cp.HIGHS)[0]
    except cp.error.SolverError as error:
        raise InvalidParameter(
            "ProgramOracle(constraints=...) must be linear, got constraints that need "
            "another cone."
        ) from error
    return {key: value for key, value in program.items() if key != "param_prob"}


def _solver(program: dict[str, Any]) -> highspy.Highs:
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


def _bounds(given: npt.ArrayLike | None, default: float, size: int) -> Array:
    if given is None:
        return np.full(size, default)
    return np.where(np.isnan(given), default, np.asarray(given, dtype=float))


def _require_whole(lp: highspy.HighsLp, whole: list[Any], binary: list[Any]) -> None:
    kinds = [highspy.HighsVarType.kContinuous] * lp.num_col_
    lower, upper = np.array(lp.col_lower_), np.array(lp.col_upper_)
    for index in np.ravel(whole).astype(int):
        kinds[index] = highspy.HighsVarType.kInteger
    at = np.ravel(binary).astype(int)
    lower[at], upper[at] = np.maximum(lower[at], 0.0), np.minimum(upper[at], 1.0)
    lp.col_lower_, lp.col_upper_, lp.integrality_ = lower, upper, kinds
