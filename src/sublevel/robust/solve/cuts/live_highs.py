"""A linear or mixed-integer program that stays alive in HiGHS while rows join it."""

from __future__ import annotations

import time
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import numpy.typing as npt

from ....checks import Array
from ....conic.program import Indices
from ....errors import SolverFailed

#: Absolute slack HiGHS may leave in a row; well below that of the cuts.
FEASIBILITY = 1e-9

_STATUS = highspy.HighsModelStatus
_STATUSES: dict[Any, str] = {
    _STATUS.kOptimal: cp.OPTIMAL,
    _STATUS.kInfeasible: cp.INFEASIBLE,
    _STATUS.kUnbounded: cp.UNBOUNDED,
    _STATUS.kTimeLimit: "stopped_early",
    _STATUS.kInterrupt: "stopped_early",
}


class LiveHighs:
    """Minimise cost @ x over bounds and rows.

    Parameters
    ----------
    lower, upper, cost : arrays of shape (columns,)
    integer : positions of the integer columns
    gap : float
        Relative gap at which branch and bound may stop.

    Examples
    --------
    >>> cost = np.array([-1.0, 0.0])
    >>> lp = LiveHighs(np.zeros(2), np.full(2, 9.0), cost, np.array([0]), 1e-7)
    >>> lp.add_rows([1, 1], [0, 1], [1.0, -1.0], [-np.inf, -3.0], [4.0, -3.0])
    >>> lp.run(), float(lp.point[0]), lp.bound
    ('optimal', 4.0, -4.0)
    """

    def __init__(
        self,
        lower: Array,
        upper: Array,
        cost: Array,
        integer: Indices,
        gap: float,
    ) -> None:
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _options(gap).items():
            self._highs.setOptionValue(name, value)
        self._highs.addVars(len(lower), lower, upper)
        self._deadline, self._watched = np.inf, False
        self._set_costs(cost)
        self._integer = np.asarray(integer, dtype=np.int32)
        self._set_kind(highspy.HighsVarType.kInteger)

    def add_rows(
        self,
        counts: npt.ArrayLike,
        columns: npt.ArrayLike,
        values: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
    ) -> None:
        """Rows lower <= a'x <= upper; `counts` says how many entries each has."""
        sizes, entries = np.asarray(counts, dtype=np.int32), np.asarray(values)
        starts = np.cumsum(sizes, dtype=np.int32) - sizes
        self._highs.addRows(
            len(starts),
            np.asarray(lower),
            np.asarray(upper),
            len(entries),
            starts,
            np.asarray(columns, dtype=np.int32),
            entries,
        )

    def add_row(self, row: Array, lower: float) -> None:
        """One row lower <= row @ x."""
        columns = row.nonzero()[0]
        values, places = row[columns], columns.astype(np.int32)
        self._highs.addRow(lower, np.inf, len(columns), places, values)

    def drop_cost(self) -> None:
        """From now on any solution will do."""
        self._set_costs(np.zeros(self._highs.getNumCol()))

    def start_from(self, values: Array) -> None:
        """Let branch and bound begin with these values of the integer columns."""
        self._highs.setSolution(len(values), self._integer, values)

    def relax(self) -> None:
        """From now on integer columns may take any value between their bounds."""
        self._set_kind(highspy.HighsVarType.kContinuous)

    def restore(self) -> None:
        """From now on integer columns are integer again."""
        self._set_kind(highspy.HighsVarType.kInteger)

    def run(self, seconds: float = np.inf) -> str:
        """Solve; "optimal", "infeasible", "unbounded", or "stopped_early" when the
        seconds have passed, else SolverFailed.
        """
        if seconds <= 0:
            return "stopped_early"
        # What its limit counts from differs between its parts. This one is never too
        # early; our own clock interrupts in time.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + seconds)
        self._deadline = time.monotonic() + seconds
        if seconds < np.inf and not self._watched:
            self._watched = True
            self._highs.cbMipInterrupt.subscribe(self._interrupt)
            self._highs.cbSimplexInterrupt.subscribe(self._interrupt)
        self._highs.run()
        status = self._highs.getModelStatus()
        if status not in _STATUSES:
            status = self._run_cold()
        if status not in _STATUSES:
            name = self._highs.modelStatusToString(status)
            raise SolverFailed(
                f"HIGHS stopped with status {name!r} on the robust problem. Rescale "
                "the model, or try another solver."
            )
        return _STATUSES[status]

    @property
    def point(self) -> Array:
        """The solution, shape (columns,)."""
        return np.array(self._highs.getSolution().col_value)

    @property
    def has_point(self) -> bool:
        """Whether the last run, complete or not, has a solution that keeps the rows."""
        status = self._highs.getInfo().primal_solution_status
        return bool(status == highspy.SolutionStatus.kSolutionStatusFeasible)

    @property
    def value(self) -> float:
        """Cost of the solution."""
        return float(self._highs.getInfo().objective_function_value)

    @property
    def bound(self) -> float:
        """What no solution beats, by branch and bound: for integer columns."""
        return float(self._highs.getInfo().mip_dual_bound)

    def ray(self) -> Array | None:
        """A direction, integrality apart, along which the program improves for ever."""
        self._set_kind(highspy.HighsVarType.kContinuous)
        self._run_cold()
        _, has_ray, direction = self._highs.getPrimalRay()
        self._set_kind(highspy.HighsVarType.kInteger)
        return np.array(direction) if has_ray else None

    def pin_integers(self, values: Array) -> None:
        """From now on the integer columns are these numbers."""
        self._set_kind(highspy.HighsVarType.kContinuous)
        for column, value in zip(self._integer.tolist(), values.tolist(), strict=True):
            self._highs.changeColBounds(column, value, value)
        self._integer = self._integer[:0]

    def _run_cold(self) -> Any:
        """Solve from scratch without presolve, which leaves statuses undecided."""
        self._highs.clearSolver()
        self._highs.setOptionValue("presolve", "off")
        self._highs.run()
        self._highs.setOptionValue("presolve", "choose")
        return self._highs.getModelStatus()

    def _interrupt(self, event: Any) -> None:
        """Stop HiGHS when its seconds have passed."""
        # An earlier run may have left the flag up.
        event.interrupt(time.monotonic() >= self._deadline)

    def _set_costs(self, cost: Array) -> None:
        places = np.arange(len(cost), dtype=np.int32)
        self._highs.changeColsCost(len(cost), places, np.asarray(cost, dtype=float))

    def _set_kind(self, kind: highspy.HighsVarType) -> None:
        size = self._integer.size
        if size:
            self._highs.changeColsIntegrality(size, self._integer, np.full(size, kind))


def _options(gap: float) -> dict[str, Any]:
    return {
        "output_flag": False,
        # Its tasks would only wait for each other on a few cores.
        "parallel": "off",
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
        "mip_feasibility_tolerance": FEASIBILITY,
        "mip_rel_gap": gap,
        "mip_abs_gap": FEASIBILITY,
    }
