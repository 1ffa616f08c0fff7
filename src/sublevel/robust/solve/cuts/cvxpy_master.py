"""A master problem with curved parts: solved anew each round."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import cvxpy as cp
import numpy as np

from ....checks import Array
from ....conic.maximise import solve_by_cones, solve_checked
from ....errors import SolverFailed
from ...judge.judgement import AIM
from ...model.dense import as_dense
from ...model.rows import UncertainRow
from ...model.uncertain import Key
from .held_rows import HeldRows
from .scenarios import Cut


class CvxpyMaster:
    """A model at the outcomes seen so far.

    Parameters
    ----------
    objective : cp.Minimize or cp.Maximize, certain
    certain : list of CVXPY constraints
    rows : the uncertain rows
    solver : name of a solver CVXPY finds installed
    held : constraints that are added as they were written, numbered after the rows
    """

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        certain: Sequence[cp.Constraint],
        rows: Sequence[UncertainRow],
        solver: str,
        held: Sequence[HeldRows] = (),
    ) -> None:
        self._objective, self._rows, self._solver = objective, rows, solver
        self._held = held
        self._constraints = list(certain)
        self._problem = cp.Problem(objective, self._constraints)
        self._value = float("nan")
        self._effort = 0
        #: Objectives nearer than this cannot be told apart by the solver.
        self.resolution = 0.0
        #: Whether the solver leaves more open than what the judge aims at.
        self.is_vague = False

    def add(self, cuts: Sequence[Cut]) -> None:
        """Rows that must hold at given outcomes."""
        for i, outcomes in cuts:
            if i < len(self._rows):
                self._constraints.append(self._rows[i].at(outcomes) >= 0)
            else:
                self._constraints.append(self._held[i - len(self._rows)].at(outcomes))

    def solve(self, seconds: float = inf) -> str:
        """Solve; "optimal", "infeasible" or "unbounded". It cannot be interrupted."""
        del seconds
        self._problem = cp.Problem(self._objective, self._constraints)
        if self._solver == cp.CLARABEL:
            solved = solve_by_cones(self._problem, self._effort)
            if solved.status == "solver_failed":
                raise SolverFailed(
                    "CLARABEL stopped without a solution on the robust problem. "
                    "Rescale the model, or try another solver."
                )
            self._value, self.resolution = solved.value, solved.resolution
            least = max(AIM * abs(solved.value), solved.resolution)
            self.is_vague = abs(solved.value - solved.bound) > least
            return solved.status
        try:
            status = solve_checked(self._problem, self._solver)
        except SolverFailed as error:
            if self._problem.is_mixed_integer() and not self._problem.is_lp():
                raise SolverFailed(f"{error} {self._way_out()}") from error
            raise
        self._value = float(self._problem.value)
        return status

    def refine(self) -> bool:
        """From now on ask for more digits; whether there are more to be had."""
        more = self._solver == cp.CLARABEL and self._effort < 2
        self._effort = min(self._effort + 1, 2)
        return more

    def look_along_ray(self) -> bool:
        """CVXPY does not say in which direction a problem is unbounded."""
        return False

    def drop_objective(self) -> None:
        """From now on look for any decision."""
        self._objective = cp.Minimize(0)

    def pin_integers(self) -> bool:
        """From now on integers are what the solution rounds to; whether there are any
        other variables to solve for.
        """
        others = False
        for variable in self._problem.variables():
            if variable.attributes["boolean"] or variable.attributes["integer"]:
                self._constraints.append(variable == np.round(variable.value))
            else:
                others = True
        return others

    @property
    def bound(self) -> float:
        """What no decision beats: nan for integers, whose gap CVXPY does not say."""
        return float("nan") if self._problem.is_mixed_integer() else self._value

    @property
    def value(self) -> float:
        """Objective of the solution at the outcomes seen so far."""
        return self._value

    def constant(self, i: int) -> float:
        """Row i without the outcome, at the solution."""
        return float(self._rows[i].constant.value)

    def direction(self, i: int, key: Key) -> Array:
        """Direction in which the outcome hurts row i, at the solution."""
        return self._rows[i].direction(key)

    def values(self, variables: Sequence[cp.Variable]) -> Array:
        """Entries of variables at the solution, one after another."""
        entries = [
            np.zeros(v.size)
            if v.value is None
            else np.ravel(as_dense(v.value), order="F")
            for v in variables
        ]
        return np.concatenate(entries)

    def _way_out(self) -> str:
        return (
            "The model has integer variables and curved parts, which "
            f"{self._solver} does not take together. Leave out engine='cuts' if the "
            "sets have a dual, write the curved parts with linear pieces (cp.norm1, "
            "cp.norm_inf, cp.max), or pass a solver for mixed-integer cone programs: "
            "solver='SCIP' (pip install sublevel[scip]), 'GUROBI' or 'MOSEK'."
        )
