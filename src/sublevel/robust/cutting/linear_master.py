"""A linear master problem: cuts are rows that join a live solver.

The simplex method starts from the last basis, so a round costs a few pivots. With
integer variables each round is a new branch and bound.
"""

from __future__ import annotations

import numpy as np

from ...checks import Array
from ..modelling.counterpart import Key
from .linear_model import LinearModel
from .live_highs import LiveHighs


class LinearMaster:
    """A linear model at the outcomes seen so far.

    Parameters
    ----------
    model : LinearModel
    gap : float
        Relative gap at which branch and bound may stop.
    """

    def __init__(self, model: LinearModel, gap: float) -> None:
        self._model = model
        self._constants = [row.constant() for row in model.rows]
        lower, upper, *certain = model.certain()
        goal = model.goal, model.sign
        self._program = LiveHighs(lower, upper, model.integer, *goal, gap)
        self._program.add_rows(*certain)
        # A solution has a one at its end, a ray a zero: constants vanish at infinity.
        self._point = np.zeros(model.width + 1)

    def add(self, cuts: list[tuple[int, dict[Key, Array]]]) -> None:
        """Rows that must hold at given outcomes."""
        for i, outcomes in cuts:
            row = self._cut(i, outcomes)
            self._program.add_row(row[:-1], -row[-1])

    def solve(self) -> str:
        """Solve; the status is "optimal", "infeasible" or "unbounded"."""
        status = self._program.run()
        if status == "optimal":
            self._point = np.append(self._program.point, 1.0)
        return status

    def look_along_ray(self) -> bool:
        """After "unbounded": stand at infinity, if HiGHS can say in which direction."""
        ray = self._program.ray()
        if ray is not None:
            self._point = np.append(ray, 0.0)
        return ray is not None

    def drop_objective(self) -> None:
        """From now on look for any decision."""
        self._program.set_cost(self._model.goal, 0.0)

    @property
    def bound(self) -> float:
        """What no decision beats, in the sense of the objective."""
        if not self._model.integer.size:
            return self.value
        return self._model.sign * self._program.bound

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

    def snapshot(self) -> Array:
        """The solution, to come back to."""
        return self._point

    def load(self, point: Array) -> None:
        """Put a solution into the variables."""
        for variable, part in self._model.columns:
            variable.save_value(point[part].reshape(variable.shape, order="F"))

    def _cut(self, i: int, outcomes: dict[Key, Array]) -> Array:
        """Coefficients of row i at an outcome, the constant last."""
        width = self._model.width + 1
        found = self._constants[i].mixed(np.ones(1), width)
        for key, slope in self._model.rows[i].slopes.items():
            found -= slope.mixed(outcomes[key], width)
        return found
