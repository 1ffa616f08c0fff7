"""A Clarabel solver kept alive: only the numbers that change are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import clarabel
import numpy as np

from ..modelling.cone_program import ConeProgram, ProgramData, Varying

#: Numbers of status: solved, and three ways not to be.
OPTIMAL, INFEASIBLE, UNBOUNDED, FAILED = range(4)

_CODES = {
    clarabel.SolverStatus.Solved: OPTIMAL,
    clarabel.SolverStatus.PrimalInfeasible: INFEASIBLE,
    clarabel.SolverStatus.DualInfeasible: UNBOUNDED,
}

#: Numbers that are turned into lists at a time: lists take four times the memory.
BLOCK = 200_000

Found = tuple[int, Any, float]


class Live:
    """A solver at one context, ready for the next.

    Parameters
    ----------
    data : the data of n contexts
    i : the context to start with
    presolve : bool, default False
        Simplify first; such a solver cannot go on to another context.
    """

    def __init__(self, data: ProgramData, i: int, presolve: bool = False) -> None:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = presolve
        # A decomposed cone has other rows than those to be updated.
        settings.chordal_decomposition_enable = presolve
        self._solver = clarabel.DefaultSolver(
            data.P,
            data.q.row(i)[:-1],
            data.program.matrix(data.A.row(i)),
            data.b.row(i),
            _cones(data.program),
            settings,
        )

    def update(self, changes: dict[str, Any]) -> None:
        """Go on to the next context."""
        if changes:
            self._solver.update(**changes)

    def solve(self) -> Found:
        """Status, point and value."""
        found = self._solver.solve()
        code = _CODES.get(found.status, FAILED)
        if code:
            return code, None, np.nan
        return OPTIMAL, found.x, found.obj_val


def solve_from_scratch(data: ProgramData, i: int) -> Found:
    """Status, point and value of one context, whatever happens."""
    try:
        return Live(data, i, presolve=True).solve()
    except BaseException as error:
        # A panic of the solver is no Exception; it concerns this context only.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return FAILED, None, np.nan


def updates(data: ProgramData) -> Iterator[dict[str, Any]]:
    """What to hand a live solver at each context: the blocks that vary.

    Lists, not arrays: the solver's binding reads them two to three times faster.
    """
    q = data.q
    if len(q.where) and q.where[-1] == len(q.base) - 1:
        q = Varying(q.base, q.where[:-1], q.values[:, :-1])
    blocks = {"A": data.A, "b": data.b, "q": Varying(q.base[:-1], q.where, q.values)}
    blocks = {name: block for name, block in blocks.items() if len(block.where)}
    widest = max((len(block.base) for block in blocks.values()), default=1)
    step = max(1, BLOCK // widest)
    for start in range(0, len(data), step):
        rows = slice(start, min(start + step, len(data)))
        lists = {name: _lists(block.at(rows)) for name, block in blocks.items()}
        for k in range(rows.stop - start):
            yield {name: given[k] for name, given in lists.items()}


def _lists(block: Varying) -> list[Any]:
    """Of each context all entries, or, if few vary, which ones and what they are."""
    if 3 * len(block.where) >= len(block.base):
        full = np.tile(block.base, (len(block.values), 1))
        full[:, block.where] = block.values
        whole: list[Any] = full.tolist()
        return whole
    where = block.where.tolist()
    return [(where, row) for row in block.values.tolist()]


def _cones(program: ConeProgram) -> list[Any]:
    kinds = {
        "zero": lambda size: clarabel.ZeroConeT(int(size)),
        "nonneg": lambda size: clarabel.NonnegativeConeT(int(size)),
        "soc": lambda size: clarabel.SecondOrderConeT(int(size)),
        "psd": lambda size: clarabel.PSDTriangleConeT(int(size)),
        "exp": lambda size: clarabel.ExponentialConeT(),
        "power": lambda size: clarabel.PowerConeT(size),
    }
    return [kinds[kind](size) for kind, size in program.cones]
