"""A master problem with curved parts: CVXPY solves it anew each round."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from ...checks import Array
from ...errors import SolverFailed
from ..modelling.counterpart import Key, UncertainRow
from ..modelling.solving import solve_checked


class CvxpyMaster:
    """A model at the outcomes seen so far.

    Parameters
    ----------
    objective : cp.Minimize or cp.Maximize, certain
    certain : list of CVXPY constraints
    rows : the uncertain rows
    solver : name of a solver CVXPY finds installed
    """

    def __init__(
        self, objective: Any, certain: list[Any], rows: list[UncertainRow], solver: str
    ) -> None:
        self._objective, self._rows, self._solver = objective, rows, solver
        self._constraints = list(certain)
        self._problem = cp.Problem(objective, self._constraints)

    def add(self, cuts: list[tuple[int, dict[Key, Array]]]) -> None:
        """Rows that must hold at given outcomes."""
        self._constraints += [self._rows[i].at(outcomes) >= 0 for i, outcomes in cuts]

    def solve(self) -> str:
        """Solve; the status is "optimal", "infeasible" or "unbounded"."""
        self._problem = cp.Problem(self._objective, self._constraints)
        try:
            return solve_checked(self._problem, self._solver)
        except SolverFailed as error:
            if self._problem.is_mixed_integer() and not self._problem.is_lp():
                raise SolverFailed(f"{error} {self._way_out()}") from error
            raise

    def look_along_ray(self) -> bool:
        """CVXPY does not say in which direction a problem is unbounded."""
        return False

    @property
    def bound(self) -> float:
        """What no decision beats: nan for integers, whose gap CVXPY does not say."""
        integer = self._problem.is_mixed_integer()
        return float("nan") if integer else float(self._problem.value)

    @property
    def value(self) -> float:
        """Objective of the solution at the outcomes seen so far."""
        return float(self._problem.value)

    def constant(self, i: int) -> float:
        """Row i without the outcome, at the solution."""
        return float(self._rows[i].constant.value)

    def direction(self, i: int, key: Key) -> Array:
        """Direction in which the outcome hurts row i, at the solution."""
        found: Array = self._rows[i].direction(key)
        return found

    def snapshot(self) -> dict[Any, Any]:
        """The solution, to come back to."""
        return {variable: variable.value for variable in self._problem.variables()}

    def load(self, values: dict[Any, Any]) -> None:
        """Put a solution into the variables."""
        for variable, value in values.items():
            variable.save_value(value)

    def _way_out(self) -> str:
        return (
            "The model has integer variables and curved parts, which "
            f"{self._solver} does not take together. Write the curved parts with "
            "linear pieces (cp.norm1, cp.norm_inf, cp.max), or pass a solver for "
            "mixed-integer cone programs: solver='SCIP' (pip install pyscipopt), "
            "'GUROBI' or 'MOSEK'."
        )
