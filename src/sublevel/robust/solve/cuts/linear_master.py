"""A linear master problem: cuts are rows that join a live solver.

The simplex method starts from the last basis, so a round costs a few pivots. With
integer variables each round is a new branch and bound. HiGHS' tolerances are absolute,
so columns and rows are handed to it in units in which their numbers are near one;
integer columns keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ...model.uncertain import Key
from .linear_model import LinearModel
from .live_highs import LiveHighs
from .scenarios import Cut, Joint
from .units import column_units, row_unit


class LinearMaster:
    """A linear model at the outcomes seen so far.

    Parameters
    ----------
    model : LinearModel
    gap : float
        Relative gap at which branch and bound may stop.
    """

    def __init__(self, model: LinearModel, gap: float) -> None:
        self._model, self._gap = model, gap
        self._constants = [row.constant() for row in model.rows]
        self._program: LiveHighs | None = None
        #: A vertex is exact, but for rounding.
        self.resolution = 0.0
        self.is_vague = False
        self._units = np.ones(model.width)
        # A solution has a one at its end, a ray a zero: constants vanish at infinity.
        self._point = np.zeros(model.width + 1)

    def add(self, cuts: Sequence[Cut]) -> None:
        """Rows that must hold at given outcomes."""
        rows = [self._cut(i, outcomes) for i, outcomes in cuts]
        program = self._program or self._begin(rows)
        for row in rows:
            scaled = np.append(row[:-1] * self._units, row[-1])
            scaled = scaled * row_unit(scaled)
            program.add_row(scaled[:-1], -scaled[-1])

    def solve(self, seconds: float = np.inf) -> str:
        """Solve; "optimal", "infeasible", "unbounded", or "stopped_early" when the
        seconds have passed.
        """
        program = self._program or self._begin([])
        status = program.run(seconds)
        if status == cp.OPTIMAL:
            self._point = np.append(program.point * self._units, 1.0)
        return status

    def refine(self) -> bool:
        """Whether there are more digits to be had: no, vertices are exact."""
        return False

    def look_along_ray(self) -> bool:
        """After "unbounded": stand at infinity, if HiGHS can say in which direction."""
        ray = (self._program or self._begin([])).ray()
        if ray is not None:
            self._point = np.append(ray * self._units, 0.0)
        return ray is not None

    def drop_objective(self) -> None:
        """From now on look for any decision."""
        (self._program or self._begin([])).drop_cost()

    def pin_integers(self) -> bool:
        """From now on integers are what the solution rounds to; whether there are any
        other variables to solve for.
        """
        integer = self._model.integer
        (self._program or self._begin([])).pin_integers(np.round(self._point[integer]))
        return len(integer) < self._model.width

    @property
    def bound(self) -> float:
        """What no decision beats, in the sense of the objective."""
        if not self._model.integer.size or self._program is None:
            return self.value
        unit = float(self._units[self._model.goal])
        return self._model.sign * self._program.bound * unit

    @property
    def value(self) -> float:
        """Objective of the solution at the outcomes seen so far."""
        return float(self._point[self._model.goal])

    def constant(self, i: int) -> float:
        """Row i without the outcome, at the solution."""
        return float(self._constants[i].at(self._point, 1)[0])

    def direction(self, i: int, key: Key) -> Array:
        """Direction in which the outcome hurts row i, at the solution."""
        size = sum(parameter.size for parameter in key)
        return self._model.rows[i].slopes[key].at(self._point, size)

    def values(self, variables: Sequence[cp.Variable]) -> Array:
        """Entries of variables at the solution, one after another."""
        parts = {variable.id: part for variable, part in self._model.columns}
        entries = [
            self._point[parts[v.id]] if v.id in parts else np.zeros(v.size)
            for v in variables
        ]
        return np.concatenate(entries)

    def _begin(self, rows: list[Array]) -> LiveHighs:
        """Hand the certain part to HiGHS, in units the first rows ask for too."""
        model, certain = self._model, self._model.certain()
        self._units = column_units(
            sp.vstack(
                [certain.matrix, *(sp.csr_array(row[None, :-1]) for row in rows)]
            ),
            np.concatenate([certain.bottom, [-row[-1] for row in rows]]),
            (certain.lower, certain.upper),
            model.integer,
        )
        lower, upper = certain.lower / self._units, certain.upper / self._units
        cost = np.zeros(model.width)
        cost[model.goal] = model.sign
        program = LiveHighs(lower, upper, cost, model.integer, self._gap)
        matrix = sp.csr_array(certain.matrix @ sp.diags_array(self._units))
        for k in range(matrix.shape[0]):
            at = slice(*matrix.indptr[[k, k + 1]])
            unit = row_unit(np.append(matrix.data[at], certain.bottom[k]))
            program.add_rows(
                [at.stop - at.start],
                matrix.indices[at],
                matrix.data[at] * unit,
                [certain.bottom[k] * unit],
                [certain.top[k] * unit],
            )
        self._program = program
        return program

    def _cut(self, i: int, outcomes: Joint) -> Array:
        """Coefficients of row i at an outcome, the constant last."""
        width = self._model.width + 1
        row = self._constants[i].mixed(np.ones(1), width)
        for key, slope in self._model.rows[i].slopes.items():
            row -= slope.mixed(outcomes[key], width)
        return row
