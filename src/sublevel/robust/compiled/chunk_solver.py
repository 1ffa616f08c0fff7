"""Solve a cone program at all contexts of a chunk.

A chunk solver takes the data of n contexts at once and gives back n solutions, so that
a solver that treats contexts together can stand where `Clarabel` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...checks import Array
from ..modelling.cone_program import ProgramData
from .live_clarabel import FAILED, Live, solve_from_scratch, updates

#: What a solver can say of a context; arrays hold positions in this list.
STATUSES = ("optimal", "infeasible", "unbounded", "solver_failed")

#: Live solvers kept for contexts of different magnitude.
MOST_SOLVERS = 8


@dataclass(frozen=True)
class Solutions:
    """Solutions of n contexts.

    Attributes
    ----------
    status : array of shape (n,), positions in STATUSES
    x : array of shape (n, nx), nan where there is none
    objective : array of shape (n,), in the user's sense
    """

    status: Any
    x: Array
    objective: Array


class ChunkSolver(Protocol):
    """Anything that solves the contexts of a chunk.

    `RobustProblem.compile(solver=...)` takes one. That a solution is feasible, robust
    and worth what it promises is audited at every context; that it is optimal is the
    solver's word. A context for which it cannot give its word has the status
    "solver_failed". Whatever is not "optimal", or does not pass the audit, is solved
    again by Clarabel, from scratch.
    """

    def solve(self, data: ProgramData) -> Solutions:
        """One solution a context; a failure is a status."""


class Clarabel:
    """Contexts one after another through live solvers.

    A live solver scales its problem once, by its first context. Contexts whose numbers
    are of another order of magnitude would lose digits there, so each order has a
    solver of its own.

    Parameters
    ----------
    afresh : bool, default False
        Start from scratch at every context.
    """

    def __init__(self, afresh: bool = False) -> None:
        self.afresh = afresh

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        n, width = len(data), data.program.width
        status = np.full(n, FAILED)
        x, value = np.full((n, width), np.nan), np.full(n, np.nan)
        each = self._from_scratch if self.afresh else self._alive
        for i, found in each(data, np.flatnonzero(data.finite)):
            status[i], point, value[i] = found
            if point is not None:
                x[i] = point
        return Solutions(status, x, data.program.sign * (value + data.offsets))

    def _from_scratch(self, data: ProgramData, rows: Any) -> Any:
        for i in rows.tolist():
            yield i, solve_from_scratch(data, i)

    def _alive(self, data: ProgramData, rows: Any) -> Any:
        live: dict[int, Live] = {}
        orders = _orders(data)
        for i, changes in zip(rows.tolist(), updates(data.at(rows)), strict=True):
            order = int(orders[i])
            solver = live.get(order)
            if solver is None:
                if len(live) >= MOST_SOLVERS:
                    live.pop(next(iter(live)))
                solver = live[order] = Live(data, i)
            else:
                solver.update(changes)
            found = solver.solve()
            if found[0]:
                # Nothing of a failure shall reach the next context.
                del live[order]
            yield i, found


def _orders(data: ProgramData) -> Any:
    """Order of magnitude of what varies, one number a context."""
    found = np.zeros(len(data))
    for k, block in enumerate((data.A, data.b, data.q)):
        size = np.maximum(block.size, 1e-300)
        found += np.round(np.log10(size) / 1.5) * 1000.0**k
    return found.astype(int)
