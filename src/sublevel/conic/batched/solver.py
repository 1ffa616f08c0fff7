"""Contexts of one program solved together, side by side in vector registers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...checks import Array
from .. import rays
from ..optimality import NEAR, openness
from ..products import quadratic
from ..program import ConeProgram, Indices, ProgramData
from ..scaling import Units, in_groups
from ..solver import AIM, FAILED, INFEASIBLE, OPTIMAL, Clarabel, Solutions
from . import certificate
from .certificate import CLOSE
from .choice import obstacle, require

if TYPE_CHECKING:
    from .plan import Plan


#: Share of an objective that is left open from which on nothing is known of it.
ALL = 0.5


class Batched:
    """An interior-point method for eight contexts at a time, and Clarabel for the rest.

    All contexts share one ordering and one symbolic factorisation. What comes out is
    checked from the data, context by context; one that is not seen to be optimal, or to
    have no solution, is tried again for more digits, and then goes to Clarabel. The
    answer at a context never depends on the others. Needs numba:
    `pip install 'sublevel[fast]'`.

    Examples
    --------
    >>> import sublevel as sl
    >>> sl.robust.Batched()  # for RobustProblem.compile(solver=...)
    Batched()
    """

    def __init__(self) -> None:
        require("Batched()")
        self._plan: tuple[ConeProgram, Plan] | None = None

    def __repr__(self) -> str:
        return "Batched()"

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        solved = self.attempt(data)
        rest = np.flatnonzero(solved.status == FAILED)
        if rest.size:
            # More digits are a tenth of the work of solving alone.
            _put(solved, rest, self.attempt(data.at(rest), AIM))
        return self.completed(data, solved)

    def completed(
        self, data: ProgramData, solved: Solutions, by: Clarabel | None = None
    ) -> Solutions:
        """What an attempt left open solved by Clarabel, and written over it."""
        rest = np.flatnonzero(solved.status == FAILED)
        if not rest.size:
            return solved
        other = (by or Clarabel()).solve(data.at(rest))
        if other.resolution is not None:
            # Compiled code tells apart whatever it certifies.
            solved = replace(solved, resolution=np.zeros(len(data)))
        _put(solved, rest, other)
        return solved

    def attempt(self, data: ProgramData, close: float = CLOSE) -> Solutions:
        """The same without Clarabel: what is not certified has failed.

        Parameters
        ----------
        close : relative gap and residuals that are aimed at
        """
        n, program = len(data), data.program
        nan = np.full(n, np.nan)
        solved = Solutions(
            np.full(n, FAILED),
            np.full((n, program.width), np.nan),
            nan,
            nan.copy(),
            proved=np.zeros(n, dtype=bool),
        )
        if obstacle(program) is not None:
            return solved
        from .units import swept

        plan = self.plan(program)
        for rows, some, units in in_groups(data, by=swept):
            _write(solved, rows, some, units, plan, close)
        return solved

    def plan(self, program: ConeProgram) -> Plan:
        """What all contexts of a program share; made once."""
        from .plan import plan_of

        if self._plan is None or self._plan[0] is not program:
            self._plan = program, plan_of(program)
        return self._plan[1]


def _put(solved: Solutions, rows: Indices, other: Solutions) -> None:
    """Write other solutions over some rows."""
    for mine, its in (
        (solved.status, other.status),
        (solved.x, other.x),
        (solved.objective, other.objective),
        (solved.bound, other.bound),
        (solved.resolution, other.resolution),
        (solved.proved, other.proved),
    ):
        if mine is not None and its is not None:
            mine[rows] = its


def _write(
    solved: Solutions,
    rows: Indices,
    data: ProgramData,
    scaling: Units | None,
    plan: Plan,
    close: float,
) -> None:
    """Solve some rows, and write down what is certified."""
    seen = data if scaling is None else scaling.apply(data)
    status, x, z = _certified(seen, plan, close)
    curved = np.sum(quadratic(seen, x) * x, axis=1) / 2
    value = np.sum(seen.q.rows()[:, :-1] * x, axis=1) + curved
    bound = -np.sum(seen.b.rows() * z, axis=1) - curved
    if scaling is not None:
        # Where a bound far away has made units small, an ordinary objective may be next
        # to nothing, and what is certified is worth next to nothing too.
        # If three digits more show nothing of it, it is zero.
        left = openness(value, bound)
        lost = (left > NEAR) & ((left <= ALL) | (close > AIM))
        status[(status == OPTIMAL) & lost] = FAILED
        x, value, bound = (
            scaling.points(x),
            scaling.values(value),
            scaling.values(bound),
        )
    best = status == OPTIMAL
    sign, offsets = data.program.sign, data.offsets
    solved.status[rows] = status
    if solved.proved is not None:
        solved.proved[rows] = status == INFEASIBLE
    solved.x[rows[best]] = x[best]
    solved.objective[rows[best]] = (sign * (value + offsets))[best]
    if solved.bound is not None:
        solved.bound[rows[best]] = (sign * (bound + offsets))[best]


def _certified(
    data: ProgramData, plan: Plan, close: float
) -> tuple[npt.NDArray[np.int64], Array, Array]:
    """Status, x and z of every context; FAILED where nothing is proved.

    A direction that improves without end is Clarabel's to judge: whether there is a
    point to start from it does not say.
    """
    from . import iterate

    codes, x, z = iterate.run(plan, data, close)
    status = np.full(len(data), FAILED)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for code, claim, proved in (
            ((iterate.SOLVED, iterate.STUCK), OPTIMAL, certificate.optimal),
            ((iterate.INFEASIBLE,), INFEASIBLE, _no_point),
        ):
            rows = np.flatnonzero(np.isin(codes, code))
            if rows.size:
                whole = len(rows) == len(data)
                some = (data, x, z) if whole else (data.at(rows), x[rows], z[rows])
                status[rows[proved(*some)]] = claim
    return status, x, z


def _no_point(data: ProgramData, x: Array, z: Array) -> certificate.Flags:
    del x
    return rays.infeasible(data, z)
