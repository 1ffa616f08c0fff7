"""The relaxation of a mixed-integer cone program, as a linear program in HiGHS.

Unlike the polyhedron that branch and bound of HiGHS is given, it has the columns of the
program alone: a cone is cut by its own tangents, dense rows. It is small, starts from
where it was left, and the nodes of a tree differ by bounds of integer columns.
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ....conic.program import Indices
from ....errors import SolverFailed
from ..cuts.live_highs import FEASIBILITY
from ..cuts.units import column_units, row_unit, row_units
from .mixed_program import MixedProgram
from .split_cone import cone_unit

#: Rows of cuts, beyond one for each column, at which those that are slack are dropped.
MOST_SLACK = 50
#: Pivots of a trial.
TRIAL = 40
#: HiGHS' word for no limit of pivots.
NO_LIMIT = 2147483647

_STATUS = highspy.HighsModelStatus
_BASIC = highspy.HighsBasisStatus.kBasic


class NodeProgram:
    """The linear program.

    Parameters
    ----------
    program : MixedProgram
    x : array of shape (columns,)
        A point near the solution, for the units of the cones; nan where none is at
        hand.

    Attributes
    ----------
    value : float, what is minimised, after `run` said that there is a solution
    x : array of shape (columns,), the solution
    """

    def __init__(self, program: MixedProgram, x: Array) -> None:
        self._program = program
        self._cones = [cone_unit(cone, x) for cone in program.cones]
        linear, cones = program.linear, program.cones
        tables = [linear.matrix, *(cone.matrix for cone in cones)]
        rights = [linear.bottom, *(cone.right for cone in cones)]
        self._units = column_units(
            sp.csr_array(sp.vstack(tables)),
            np.concatenate(rights),
            (linear.lower, linear.upper),
            program.integer,
        )
        cost = program.cost * self._units
        self._cost_unit = row_unit(cost)
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            self._highs.setOptionValue(name, value)
        lower, upper = linear.lower / self._units, linear.upper / self._units
        self._highs.addVars(program.width, lower, upper)
        self._columns = np.arange(program.width, dtype=np.int32)
        costs = cost * self._cost_unit
        self._highs.changeColsCost(program.width, self._columns, costs)
        self._integer = program.integer.astype(np.int32)
        self.bounds = linear.lower[program.integer], linear.upper[program.integer]
        self._add_rows()
        self.x, self.value = np.zeros(program.width), -np.inf

    def _add_rows(self) -> None:
        linear = self._program.linear
        first = [cone.matrix[[0]] for cone in self._program.cones]
        matrix = sp.csr_array(sp.vstack([linear.matrix, *(-row for row in first)]))
        ends = np.array([-cone.right[0] for cone in self._program.cones])
        bottom = np.append(linear.bottom, ends)
        top = np.append(linear.top, np.full(len(ends), np.inf))
        table = sp.csr_array(matrix @ sp.diags_array(self._units))
        table.eliminate_zeros()
        unit = row_units(table, bottom)
        counts = np.diff(table.indptr)
        self._highs.addRows(
            len(unit),
            bottom * unit,
            top * unit,
            table.nnz,
            table.indptr[:-1].astype(np.int32),
            table.indices.astype(np.int32),
            table.data * np.repeat(unit, counts),
        )
        self._certain = len(unit)

    def stop_at(self, value: float) -> None:
        """Solutions worth no less than this are of no interest."""
        scaled = (value - self._program.offset) * self._cost_unit
        self._highs.setOptionValue("objective_bound", scaled)

    def move_to(self, lower: Array, upper: Array) -> None:
        """Bounds of the integer columns, each of shape (integers,)."""
        moved = (lower != self.bounds[0]) | (upper != self.bounds[1])
        if moved.any():
            columns = self._integer[moved]
            self._highs.changeColsBounds(
                len(columns), columns, lower[moved], upper[moved]
            )
            self.bounds = lower, upper

    def run(self) -> bool:
        """Solve; False where there is no solution of interest."""
        self._highs.run()
        status = self._highs.getModelStatus()
        if status not in (
            _STATUS.kOptimal,
            _STATUS.kInfeasible,
            _STATUS.kObjectiveBound,
        ):
            self._highs.clearSolver()
            self._highs.run()
            status = self._highs.getModelStatus()
        if status in (_STATUS.kInfeasible, _STATUS.kObjectiveBound):
            return False
        if status != _STATUS.kOptimal:
            name = self._highs.modelStatusToString(status)
            raise SolverFailed(f"HIGHS stopped with status {name!r} at a node.")
        self._read()
        return True

    def _read(self) -> None:
        worth = self._highs.getInfo().objective_function_value
        self.value = worth / self._cost_unit + self._program.offset
        self.x = np.array(self._highs.getSolution().col_value) * self._units

    @property
    def reduced(self) -> Array:
        """What a unit more of each integer column costs at least, shape (integers,)."""
        slopes = np.array(self._highs.getSolution().col_dual)[self._integer]
        return np.asarray(slopes / self._cost_unit)

    def cut(self, tolerance: float) -> bool:
        """Tangents where the solution leaves a cone; whether it leaves one."""
        left = False
        for cone, unit in zip(self._program.cones, self._cones, strict=True):
            excess, norm, row, lower = cone.tangent(self.x)
            if excess > tolerance * max(norm, unit):
                self._add(row, lower)
                left = True
        return left

    def touch(self, x: Array) -> None:
        """Tangents at a point."""
        for cone in self._program.cones:
            *_, row, lower = cone.tangent(x)
            self._add(row, lower)

    def _add(self, row: Array, lower: float) -> None:
        scaled = row * self._units
        places = scaled.nonzero()[0]
        values = scaled[places]
        unit = row_unit(values)
        self._highs.addRow(
            lower * unit, np.inf, len(places), places.astype(np.int32), values * unit
        )

    def trim(self) -> None:
        """Drop cuts that are slack, once there are many."""
        rows = self._highs.getNumRow()
        if rows - self._certain <= self._program.width + MOST_SLACK:
            return
        state = self._highs.getBasis().row_status
        slack = [i for i in range(self._certain, rows) if state[i] == _BASIC]
        self._highs.deleteRows(len(slack), np.array(slack, dtype=np.int32))

    def trials(self, columns: Indices) -> tuple[Array, Array]:
        """What the value is at least, an integer column rounded down, and up.

        A few pivots each; inf where nothing of interest is left. The program is left
        as it was, the solution as well.

        Parameters
        ----------
        columns : positions among the integer columns
        """
        lower, upper = self.bounds
        basis = self._highs.getBasis()
        x, value = self.x, self.value
        worth = np.empty((2, len(columns)))
        self._highs.setOptionValue("simplex_iteration_limit", TRIAL)
        for k, j in enumerate(columns.tolist()):
            at, column = x[self._integer[j]], self._integer[[j]]
            for side, ends in enumerate(
                [(lower[j], np.floor(at)), (np.ceil(at), upper[j])]
            ):
                self._highs.changeColsBounds(1, column, *map(np.atleast_1d, ends))
                self._highs.setBasis(basis)
                self._highs.run()
                status = self._highs.getModelStatus()
                if status in (_STATUS.kInfeasible, _STATUS.kObjectiveBound):
                    worth[side, k] = np.inf
                else:
                    self._read()
                    worth[side, k] = max(self.value, value)
            self._highs.changeColsBounds(1, column, lower[[j]], upper[[j]])
        self._highs.setOptionValue("simplex_iteration_limit", NO_LIMIT)
        self._highs.setBasis(basis)
        self.x, self.value = x, value
        return worth[0], worth[1]


_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "parallel": "off",
    "presolve": "off",
    "solver": "simplex",
    "primal_feasibility_tolerance": FEASIBILITY,
    "dual_feasibility_tolerance": FEASIBILITY,
}
