"""Solvers of cone programs, for all contexts of a chunk at once.

A solver takes the data of n contexts and gives back n solutions, so that one that
treats contexts together can stand where `Clarabel` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import clarabel
import numpy as np
import numpy.typing as npt

from ..checks import Array
from . import rays
from .layout import layout_of
from .misses import misses
from .optimality import GOOD, LEAST, NEAR, PASSABLE, openness, relative_error
from .products import sizes, times
from .program import ConeProgram, Indices, ProgramData, Varying
from .scaling import MANY_SWEEPS, Units, in_groups, scale

#: What a solver can say of a context; arrays hold positions in this list.
STATUSES = ("optimal", "infeasible", "unbounded", "solver_failed")
OPTIMAL, INFEASIBLE, UNBOUNDED, FAILED = range(4)

_CODES = {
    clarabel.SolverStatus.Solved: OPTIMAL,
    clarabel.SolverStatus.PrimalInfeasible: INFEASIBLE,
    clarabel.SolverStatus.DualInfeasible: UNBOUNDED,
}
_CONES = {
    "zero": clarabel.ZeroConeT,
    "nonneg": clarabel.NonnegativeConeT,
    "soc": clarabel.SecondOrderConeT,
    "psd": clarabel.PSDTriangleConeT,
    "exp": clarabel.ExponentialConeT,
    "power": clarabel.PowerConeT,
}
#: Statuses of a solver that went as far as rounding lets it: its word is checked.
_EXHAUSTED = (
    clarabel.SolverStatus.AlmostSolved,
    clarabel.SolverStatus.InsufficientProgress,
    clarabel.SolverStatus.MaxIterations,
)
#: What a careful solve aims at, and the residuals and gap at which it is content.
AIM, CONTENT = 1e-11, 1e-8
#: What it can tell apart, in its own units.
RESOLVED = 1e-10

#: Numbers that are turned into lists at a time: lists take four times the memory.
BLOCK = 200_000


@dataclass(frozen=True)
class Solutions:
    """Solutions of n contexts.

    Attributes
    ----------
    status : array of shape (n,), positions in STATUSES: 0 "optimal", 1 "infeasible",
        2 "unbounded", 3 "solver_failed"
    x : array of shape (n, nx), nan where there is none
    objective : array of shape (n,), in the user's sense
    bound : array of shape (n,), what no solution beats: the value of the dual, nan
        where there is none; None if there never is
    resolution : array of shape (n,), objectives that are nearer than this cannot be
        told apart by the solver, in the user's units; None if it does not say
    proved : array of shape (n,), whether a ray that was checked proves that there is no
        solution; None if none was
    """

    status: npt.NDArray[np.integer[Any]]
    x: Array
    objective: Array
    bound: Array | None = None
    resolution: Array | None = None
    proved: npt.NDArray[np.bool_] | None = None


@runtime_checkable
class Solver(Protocol):
    """Anything that solves the contexts of a chunk.

    `RobustProblem.compile(solver=...)` takes one. That a solution is feasible, robust
    and worth what it promises is judged at every context; that it is optimal is the
    solver's word. A context for which it cannot give its word has the status
    "solver_failed". Whatever is not "optimal", or does not pass the judge, is solved
    again by Clarabel, from scratch and to more digits.

    `ProgramData` has everything: `data.program` (cones, pattern), and for each block P,
    q, A, b a `row(i)` of context i. `len(data)` may be 1.
    """

    def solve(self, data: ProgramData) -> Solutions:
        """One solution a context; a failure is a status."""


class Solution(NamedTuple):
    """Status, point, multipliers, value and dual value of one context."""

    status: int
    x: Any
    z: Any
    objective: float
    bound: float


NOTHING = Solution(FAILED, None, None, np.nan, np.nan)


class Clarabel:
    """Contexts one after another through one live solver, each in units of its own.

    Parameters
    ----------
    effort : 0, 1 or 2
        1 starts from scratch at every context and aims at more digits; 2 then solves
        once more in units that this solution suggests.
    """

    def __init__(self, effort: int = 0) -> None:
        self.effort = effort

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        n, width = len(data.A.values), data.program.width
        status = np.full(n, FAILED)
        x, value = np.full((n, width), np.nan), np.full(n, np.nan)
        bound, resolution = value.copy(), np.zeros(n)
        proved = np.zeros(n, dtype=bool)
        sweeps = MANY_SWEEPS if self.effort else None
        for rows, some, units in in_groups(data, sweeps):
            if self.effort or units is not None:
                part = self._solve(some, units)
            else:
                part = _run(some, careful=False)
            status[rows], x[rows] = part.status, part.x
            value[rows], bound[rows] = part.objective, part.bound
            if part.resolution is not None:
                resolution[rows] = part.resolution
            if part.proved is not None:
                proved[rows] = part.proved
        x[status != OPTIMAL] = np.nan
        sign, offsets = data.program.sign, data.offsets
        objective, bound = sign * (value + offsets), sign * (bound + offsets)
        return Solutions(status, x, objective, bound, resolution, proved)

    def _solve(self, data: ProgramData, scaling: Units | None) -> Solutions:
        """Contexts that are all ordinary, or all in need of units of their own."""
        careful = self.effort > 0
        if scaling is None:
            solved = _run(data, careful)
        else:
            solved = _in_units(data, scaling, careful)
            if not careful:
                _withdraw(
                    solved, (solved.status == OPTIMAL) & (_openness(solved) > NEAR)
                )
        if careful and scaling is not None:
            # As it is written, where no units were of help. That there is no solution
            # is a claim too, and in bad units it may be a wrong one.
            lost = np.flatnonzero((solved.status != OPTIMAL) & ~_proved(solved))
            if lost.size:
                written = _run(data.at(lost), careful=True, least=0.0)
                _replace(solved, lost, written)
        rows = np.flatnonzero(np.isfinite(solved.x).all(axis=1))
        for _ in range(2 * (self.effort > 1)):
            if not rows.size:
                break
            part = data.at(rows)
            units = scale(part, solved.x[rows])
            other = _in_units(part, units, careful=True)
            _withdraw(other, _is_worse(part, solved, rows, other))
            _replace(solved, rows, other)
            # Whether a context is solved once more is its own matter, so that no answer
            # depends on what else is in the chunk.
            rows = rows[solved.status[rows] != OPTIMAL]
        if careful:
            _reconsider(data, solved)
        return solved


def _in_units(data: ProgramData, scaling: Units, careful: bool) -> Solutions:
    solved = _run(scaling.apply(data), careful)
    bound = np.full(len(data), np.nan) if solved.bound is None else solved.bound
    return Solutions(
        solved.status,
        scaling.points(solved.x),
        scaling.values(solved.objective),
        scaling.values(bound),
        None if solved.resolution is None else scaling.values(solved.resolution),
        solved.proved,
    )


def _reconsider(data: ProgramData, solved: Solutions) -> None:
    """Write better solutions where in these units the objective was too small.

    What is far below 1 there has few digits, and may yet be ordinary for the user.
    """
    rows = np.flatnonzero((solved.status == OPTIMAL) & (_openness(solved) > GOOD))
    if rows.size:
        part = data.at(rows)
        other = _in_units(part, scale(part, solved.x[rows]), careful=True)
        _withdraw(other, ~(_openness(other) < _openness(solved)[rows]))
        _replace(solved, rows, other)


def _is_worse(
    data: ProgramData, solved: Solutions, rows: Indices, other: Solutions
) -> npt.NDArray[np.bool_]:
    """Where optima found in other units are open wider, or miss a row by more, than
    those that were there: (rows,).

    Units that a solution suggests are bad ones where it is large in a direction that
    hardly matters. What is next to nothing in them is not next to nothing.
    """
    before = np.asarray(solved.status[rows] == OPTIMAL)
    if not before.any():
        return before
    wider = _openness(other) > np.maximum(GOOD, _openness(solved)[rows])
    missed, earlier = _missed(data, other.x), _missed(data, solved.x[rows])
    # Written so that nan is worse.
    return np.asarray(before & (wider | ~(missed <= np.maximum(GOOD, earlier))))


def _missed(data: ProgramData, x: Array) -> Array:
    """How far slacks are outside their cones, beside what is added up there: (n,)."""
    layout = layout_of(data.program)
    outside = misses(data, x, np.zeros((len(x), data.program.height))).outside
    terms = np.abs(data.b.rows()) + times(sizes(data), np.abs(x))
    largest = layout.largest_in_cone(terms)
    share = np.divide(outside, largest, out=np.zeros_like(outside), where=outside > 0)
    return np.asarray(share.max(axis=1, initial=0.0))


def _withdraw(solved: Solutions, rows: npt.NDArray[np.bool_]) -> None:
    """Some contexts are as if they had not been solved."""
    solved.status[rows], solved.x[rows] = FAILED, np.nan


def _openness(solved: Solutions) -> Array:
    """What is left open between solutions and their duals, of their own size, (n,)."""
    assert solved.bound is not None
    return openness(solved.objective, solved.bound)


def _proved(solved: Solutions) -> npt.NDArray[np.bool_]:
    """Which contexts are proved to have no solution."""
    nowhere = np.zeros(len(solved.status), dtype=bool)
    return nowhere if solved.proved is None else solved.proved


def _replace(solved: Solutions, rows: Indices, other: Solutions) -> None:
    """Write other solutions over some rows, where they are better than none."""
    some = np.isfinite(other.x).all(axis=1) & (solved.status[rows] != OPTIMAL)
    good = np.flatnonzero((other.status == OPTIMAL) | some)
    at = rows[good]
    solved.status[at], solved.x[at] = other.status[good], other.x[good]
    solved.objective[at] = other.objective[good]
    if solved.bound is not None and other.bound is not None:
        solved.bound[at] = other.bound[good]
    if solved.resolution is not None and other.resolution is not None:
        solved.resolution[at] = other.resolution[good]


def _run(data: ProgramData, careful: bool, least: float = LEAST) -> Solutions:
    if careful:
        return _carefully(data, least)
    live, updates = None, _updates(data)
    codes, rows, each = [], [], []
    for i in range(len(data.A.values)):
        # The first context is what the solver is built for.
        changes = next(updates) if i else {}
        if live is None:
            live = _build(data, i, _LIVE)
        elif changes:
            live.update(**changes)
        one = _read(live.solve())
        codes.append(one.status)
        if one.status != FAILED:
            rows.append(i)
            each.append(one)
        if one.status != OPTIMAL:
            # Nothing of a failure shall reach the next context.
            live = None
    status, x, z, value, bound = _room(len(data), data.program)
    status[:] = codes
    if rows:
        # Lists become arrays all at once.
        _, x[rows], z[rows], value[rows], bound[rows] = zip(*each, strict=True)
    # What is not good enough goes to a careful solver.
    status[(status == OPTIMAL) & ~(relative_error(data, x, z, least) <= GOOD)] = FAILED
    proved = proofs(data, status, x, z)
    for part in (x, value, bound):
        part[status != OPTIMAL] = np.nan
    return Solutions(status, x, value, bound, proved=proved)


def proofs(
    data: ProgramData, status: Indices, x: Array, z: Array
) -> npt.NDArray[np.bool_]:
    """Which contexts that are said to have no solution are proved to have none, (n,).

    Their rays are in z where nothing is feasible, in x where nothing is the best.
    """
    proved = np.zeros(len(status), dtype=bool)
    for claim, ray, check in (
        (INFEASIBLE, z, rays.infeasible),
        (UNBOUNDED, x, rays.unbounded),
    ):
        rows = np.flatnonzero(status == claim)
        if rows.size:
            proved[rows] = check(data.at(rows), ray[rows])
    return proved


def _room(n: int, program: ConeProgram) -> Any:
    nan = np.full(n, np.nan)
    x, z = np.full((n, program.width), np.nan), np.full((n, program.height), np.nan)
    return np.full(n, FAILED), x, z, nan, nan.copy()


#: How a careful solver goes about it, in turn: whether to presolve, whether to let
#: Clarabel choose units once more, how far a step may go, how many digits to aim at.
_TRIES = (
    (True, False, 0.99, AIM),
    (True, True, 0.99, AIM),
    (False, True, 0.9, AIM),
    (True, True, 0.99, CONTENT),
    (True, True, 0.9, CONTENT),
)


def _carefully(data: ProgramData, least_size: float) -> Solutions:
    status, x, z, value, bound = _room(len(data), data.program)
    proved = np.zeros(len(data), dtype=bool)
    for i in range(len(data)):
        here, claims, least = data.at([i]), [], np.inf
        for way in _TRIES:
            one = _once(data, i, *way)
            if one.status == OPTIMAL:
                point, multipliers = np.array([one.x]), np.array([one.z])
                error = relative_error(here, point, multipliers, least_size).item()
                if error < least or not np.isfinite(x[i]).all():
                    # What is not good enough stays too: its sizes may suggest better
                    # units.
                    _, x[i], z[i], value[i], bound[i] = one
                    least = min(least, error)
                if least <= GOOD:
                    break
            elif one.status != FAILED:
                point, multipliers = np.array([one.x]), np.array([one.z])
                own = np.array([one.status])
                proved[i] = proofs(here, own, point, multipliers)[0]
                # That nothing is feasible is believed if proved, or said twice. A
                # direction that improves without end is one, or is none: looked at in
                # better units, many are costs that bend too late for a solver.
                if proved[i] or one.status == INFEASIBLE:
                    claims.append(one.status)
                if proved[i] or len(claims) > 1:
                    break
        if least <= PASSABLE:
            status[i] = OPTIMAL
        elif claims:
            status[i] = claims[-1]
    proved &= status != OPTIMAL
    resolution = np.full(len(data), RESOLVED)
    return Solutions(status, x, value, bound, resolution, proved)


def _once(
    data: ProgramData, i: int, presolve: bool, units: bool, step: float, aim: float
) -> Solution:
    """One context from scratch, whatever happens."""
    try:
        settings = _settings()
        settings.presolve_enable = settings.chordal_decomposition_enable = presolve
        settings.equilibrate_enable = units
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = aim
        settings.max_step_fraction = step
        return _read(_build(data, i, settings).solve())
    except BaseException as error:
        # A panic of the solver is no Exception; it concerns this context only.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return NOTHING


def _settings() -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # What is presolved or decomposed has other rows than those to be updated, and what
    # is equilibrated keeps the units of its first context.
    settings.presolve_enable = settings.chordal_decomposition_enable = False
    settings.equilibrate_enable = False
    return settings


#: Those of a live solver.
_LIVE = _settings()


def _build(data: ProgramData, i: int, settings: clarabel.DefaultSettings) -> Any:
    cones = []
    for kind, size in data.program.cones:
        # The number of a power cone is its exponent; all exponential ones are alike.
        given = () if kind == "exp" else (size if kind == "power" else int(size),)
        cones.append(_CONES[kind](*given))
    return clarabel.DefaultSolver(*data.columns(i), cones, settings)


def _read(solved: clarabel.DefaultSolution) -> Solution:
    code = _CODES.get(solved.status)
    if code is None and solved.status in _EXHAUSTED:
        value, dual = solved.obj_val, solved.obj_val_dual
        off = abs(value - dual) / max(1.0, min(abs(value), abs(dual)))
        good = max(solved.r_prim, solved.r_dual, off) <= CONTENT
        code = OPTIMAL if good else FAILED
    if code is None or code == FAILED:
        return NOTHING
    # Of a program without a solution x and z are rays.
    return Solution(code, solved.x, solved.z, solved.obj_val, solved.obj_val_dual)


def _updates(data: ProgramData) -> Iterator[dict[str, Any]]:
    """What to hand a live solver at each context but the first: what varies.

    Lists, not arrays: the solver's binding reads them two to three times faster.
    """
    q = data.q
    if len(q.where) and q.where[-1] == len(q.base) - 1:
        q = Varying(q.base, q.where[:-1], q.values[:, :-1])
    q = Varying(q.base[:-1], q.where, q.values)
    blocks = {"P": data.P, "A": data.A, "b": data.b, "q": q}
    blocks = {name: block for name, block in blocks.items() if len(block.where)}
    widest = max((len(block.base) for block in blocks.values()), default=1)
    step = max(1, BLOCK // widest)
    for start in range(1, len(data), step):
        rows = slice(start, min(start + step, len(data)))
        lists = {name: _lists(block.at(rows)) for name, block in blocks.items()}
        for k in range(rows.stop - start):
            yield {name: given[k] for name, given in lists.items()}


def _lists(block: Varying) -> list[Any]:
    """Of each context all entries, or, if few vary, which ones and what they are."""
    if 3 * len(block.where) >= len(block.base):
        whole: list[Any] = block.rows().tolist()
        return whole
    where = block.where.tolist()
    return [(where, row) for row in block.values.tolist()]
