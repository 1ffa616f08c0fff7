"""Solve a cone program at all contexts of a chunk.

A chunk solver takes the data of n contexts at once and gives back n solutions, so that
a solver that treats contexts together can stand where the one below does. This one
keeps a Clarabel solver alive and replaces only the numbers that change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..checks import Array
from .cone_program import ProgramData, Varying

#: Numbers of status, as arrays hold them.
STATUSES = ("optimal", "infeasible", "unbounded", "solver_failed")
_OPTIMAL, _INFEASIBLE, _UNBOUNDED, _FAILED = range(4)

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
    """Anything that solves the contexts of a chunk."""

    def solve(self, data: ProgramData) -> Solutions:
        """One solution a context; a failure is a status, never an exception."""


class Clarabel:
    """Contexts one after another through live solvers.

    A live solver scales its problem once, by its first context. Contexts whose numbers
    are of another order of magnitude would lose digits there, so each order has a
    solver of its own; whatever is not solved is tried again from scratch.

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
        status = np.full(n, _FAILED)
        x, value = np.full((n, width), np.nan), np.full(n, np.nan)
        for i, found in enumerate(self._each(data)):
            if found[0] != _OPTIMAL:
                found = _Live(data, i, presolve=True).solve()
            status[i], point, value[i] = found
            if point is not None:
                x[i] = point
        sign, offset = data.program.sign, _offsets(data)
        return Solutions(status, x, sign * (value + offset))

    def _each(self, data: ProgramData) -> Iterator[tuple[int, Any, float]]:
        """Status, point and value of each context."""
        live: dict[int, _Live] = {}
        updates = {} if self.afresh else _updates(data)
        for i, order in enumerate(_orders(data).tolist()):
            if self.afresh or order not in live:
                if len(live) >= MOST_SOLVERS:
                    live.pop(next(iter(live)))
                live[order] = _Live(data, i)
            else:
                live[order].update(updates, i)
            yield live[order].solve()


class _Live:
    """A Clarabel solver at one context, ready for the next."""

    def __init__(self, data: ProgramData, i: int, presolve: bool = False) -> None:
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = presolve
        cones = [_cone(clarabel, *cone) for cone in data.program.cones]
        A = data.program.matrix(data.A.row(i))
        q, b = data.q.row(i)[:-1], data.b.row(i)
        self.solver = clarabel.DefaultSolver(data.P, q, A, b, cones, settings)
        self.solved = clarabel.SolverStatus.Solved
        self.codes = {
            clarabel.SolverStatus.PrimalInfeasible: _INFEASIBLE,
            clarabel.SolverStatus.DualInfeasible: _UNBOUNDED,
        }

    def update(self, updates: dict[str, Any], i: int) -> None:
        self.solver.update(**{name: given[i] for name, given in updates.items()})

    def solve(self) -> tuple[int, Any, float]:
        found = self.solver.solve()
        if found.status == self.solved:
            return _OPTIMAL, found.x, found.obj_val
        return self.codes.get(found.status, _FAILED), None, np.nan


def _updates(data: ProgramData) -> dict[str, list[Any]]:
    """For each block that varies, what to hand the solver at each context.

    Lists, not arrays: the solver's binding reads them two to three times faster.
    """
    found = {"A": _update(data.A), "b": _update(data.b)}
    q = data.q
    if len(q.where) and q.where[-1] == len(q.base) - 1:
        q = Varying(q.base, q.where[:-1], q.values[:, :-1])
    found["q"] = _update(Varying(q.base[:-1], q.where, q.values))
    return {name: given for name, given in found.items() if given}


def _update(block: Varying) -> list[Any]:
    if not len(block.where):
        return []
    if 3 * len(block.where) >= len(block.base):
        full = np.tile(block.base, (len(block.values), 1))
        full[:, block.where] = block.values
        whole: list[Any] = full.tolist()
        return whole
    where = block.where.tolist()
    return [(where, row) for row in block.values.tolist()]


def _orders(data: ProgramData) -> Any:
    """Order of magnitude of what varies, one number a context."""
    found = np.zeros(len(data))
    for k, block in enumerate((data.A, data.b, data.q)):
        size = np.maximum(block.size, 1e-300)
        found += np.round(np.log10(size) / 1.5) * 1000.0**k
    return found.astype(int)


def _offsets(data: ProgramData) -> Any:
    """The constant of the objective at each context."""
    q = data.q
    if len(q.where) and q.where[-1] == len(q.base) - 1:
        return q.values[:, -1]
    return q.base[-1]


def _cone(clarabel: Any, kind: str, size: float) -> Any:
    if kind == "exp":
        return clarabel.ExponentialConeT()
    if kind == "power":
        return clarabel.PowerConeT(size)
    names = {
        "zero": clarabel.ZeroConeT,
        "nonneg": clarabel.NonnegativeConeT,
        "soc": clarabel.SecondOrderConeT,
        "psd": clarabel.PSDTriangleConeT,
    }
    return names[kind](int(size))
