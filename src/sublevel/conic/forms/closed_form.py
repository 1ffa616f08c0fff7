"""Contexts solved by a formula, where a program has one; Clarabel for the others.

Every solution is checked by its multipliers before it counts (`kkt`). The check reads
the program, not what was recognised in it: a formula that is wrong, or wrong at one
context, is never taken.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ..batched.choice import is_installed, numbers
from ..kkt import Conditions
from ..program import ConeProgram, ProgramData, Rows
from ..solver import FAILED, OPTIMAL, Clarabel, Solutions, Solver
from .ellipsoid import least_with_norm
from .form import Form, Top, form_of
from .largest import least_with_largest
from .linear import least_linear
from .numbers import FormNumbers, entries_of, numbers_of
from .point import FormPoint, in_company

#: Numbers of a block of contexts that are worked on together: they stay in the cache.
BLOCK = 100_000
#: Numbers of all contexts of a call from which on it pays to load numba.
MANY_NUMBERS = 500_000


class ClosedForm:
    """Solver of programs that `form_of` recognises; of others it is Clarabel.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from ..canonical import cone_program
    >>> from ..program import fill
    >>> x, cost = cp.Variable(3, nonneg=True), cp.Parameter(3)
    >>> problem = cp.Problem(cp.Minimize(cost @ x), [cp.sum(x) == 2])
    >>> program = cone_program(problem, {cost.id: "cost"})
    >>> data = fill(program, np.append(np.zeros(3), 1), {"cost": np.eye(3) + 1})
    >>> print(ClosedForm().solve(data).objective)
    [2. 2. 2.]
    """

    def chosen(self, program: ConeProgram, contexts: int) -> Solver:
        """What solves that many contexts of a call: compiled code, where it pays.

        Their solutions are the same to the last bit, so that this may depend on how
        many contexts come together.
        """
        if contexts * numbers(program) < MANY_NUMBERS or not is_installed():
            return self
        from .compiled_form import CompiledForm

        return CompiledForm()

    def solve(self, data: ProgramData) -> Solutions:
        """Solve all contexts."""
        form = form_of(data.program)
        if isinstance(form, str):
            return Clarabel().solve(data)
        n, width = len(data), data.program.width
        x, good = np.empty((n, width)), np.zeros(n, dtype=bool)
        value, bound = np.empty(n), np.empty(n)
        conditions = Conditions(data)
        step = max(1, BLOCK // (width + data.program.height))
        for start in range(0, n, step):
            block: Rows = slice(start, start + step)
            some = data if 1 < n <= step else data.at(block)
            if len(some) == 1:
                block = in_company(np.array([start]))
                some = data.at(block)
            point, multipliers = solve_form(form, some)
            good[block], value[block], bound[block] = conditions.hold(
                block, point, multipliers
            )
            x[block] = point.T
        return with_rest_by(data, x, good, value, bound, Clarabel())


def with_rest_by(
    data: ProgramData,
    x: Array,
    good: npt.NDArray[np.bool_],
    value: Array,
    bound: Array,
    other: Solver,
) -> Solutions:
    """What was seen to be optimal, with the values of its program, and another
    solver's solutions of all other contexts.
    """
    n, sign, offsets = len(data), data.program.sign, data.offsets
    value, bound = sign * (value + offsets), sign * (bound + offsets)
    status = np.where(good, OPTIMAL, FAILED)
    proved = np.zeros(n, dtype=bool)
    solved = Solutions(status, x, value, bound, np.zeros(n), proved)
    rest = np.flatnonzero(~good)
    if rest.size:
        _take(solved, rest, other.solve(data.at(rest)))
    return solved


def solve_form(form: Form, data: ProgramData) -> tuple[Array, Array]:
    """Points (nx, n) and multipliers (rows, n) by a formula; nan where it has none."""
    coupling, top = form.coupling, form.top
    least = least_linear
    if top is not None:
        least = least_with_norm if top.norm == "second-order" else least_with_largest
    # A context without a finite solution has none here, which is seen.
    with np.errstate(all="ignore"):
        form_numbers = numbers_of(form, data)
        coupled, equal = coupling is not None, bool(coupling and coupling.equal)
        point = least(form_numbers, coupled, equal)
        given = form, data, form_numbers, point
        return _columns(*given), _multipliers(*given)


def _columns(
    form: Form, data: ProgramData, numbers: FormNumbers, point: FormPoint
) -> Array:
    """All columns of the program: x, and what is above it."""
    columns = np.zeros((data.program.width, len(data)))
    columns[form.columns] = point.x
    if form.sizes is not None:
        columns[form.sizes.columns] = np.abs(point.x[form.sizes.members])
    if form.top is not None:
        weighted = numbers.weights * point.x
        if form.top.norm == "second-order":
            head = -entries_of(data.A, form.top.heads)[0]
            top = np.sqrt((weighted * weighted).sum(axis=0)) / head
        else:
            top = np.abs(weighted).max(axis=0)
        columns[form.top.column] = top
    return columns


def _multipliers(
    form: Form, data: ProgramData, numbers: FormNumbers, point: FormPoint
) -> Array:
    """Multipliers of all rows, from those of the form."""
    z = np.zeros((data.program.height, len(data)))
    reduced = numbers.cost + numbers.slopes * point.multiplier
    price = numbers.size_costs
    if form.coupling is not None:
        z[form.coupling.row] = point.multiplier
    if form.top is not None:
        slope = _pulled(form.top, data, numbers, point, z)
        # It is the absolute values that are under the top, where there are any.
        if form.sizes is None:
            reduced += slope
        else:
            price = price + slope
    if form.sizes is not None:
        sizes = form.sizes
        price = np.broadcast_to(price, reduced.shape)[sizes.members]
        x, left = point.x[sizes.members], reduced[sizes.members]
        # The price goes to the side on which x is; at 0 to both, as the rest asks.
        plus = np.where(x > 0, price, np.where(x < 0, 0.0, (price - left) / 2))
        plus = np.clip(plus, 0.0, price)
        z[sizes.plus] = plus / sizes.units[0][:, None]
        z[sizes.minus] = (price - plus) / sizes.units[1][:, None]
        reduced[sizes.members] += 2 * plus - price
    for group in form.bounds:
        members, units = group.members, group.units[:, None]
        mine = reduced[members]
        owed = np.maximum(-mine if group.above else mine, 0.0)
        end = numbers.upper if group.above else numbers.lower
        here = entries_of(data.b, group.rows) * units
        # Of several bounds the tightest pays, and of equal ones the first.
        owed = np.where(here == end[members], owed, 0.0)
        z[group.rows] = owed * np.abs(units)
        reduced[members] += owed if group.above else -owed
    return z


def _pulled(
    top: Top, data: ProgramData, numbers: FormNumbers, point: FormPoint, z: Array
) -> Array:
    """The slope of the penalty; its rows' multipliers are written to z."""
    paid = numbers.price * point.pull
    own = np.broadcast_to(paid, numbers.cost.shape)[top.members]
    if top.norm == "second-order":
        z[top.head_rows[0]] = numbers.price
        z[top.rows] = own
        return np.asarray(numbers.weights * paid)
    own = own / -entries_of(data.A, top.heads)
    if top.mirrored is None:
        z[top.rows] = own
    else:
        positive = np.broadcast_to(numbers.weights, paid.shape)[top.members] > 0
        z[top.rows] = np.where(positive, own, 0.0)
        z[top.mirrored] = np.where(positive, 0.0, own)
    return np.asarray(np.abs(numbers.weights) * paid)


def _take(solved: Solutions, rows: np.ndarray, other: Solutions) -> None:
    """Another solver's solutions at some contexts."""
    solved.status[rows], solved.x[rows] = other.status, other.x
    solved.objective[rows] = other.objective
    for mine, theirs in (
        (solved.bound, other.bound),
        (solved.resolution, other.resolution),
        (solved.proved, other.proved),
    ):
        if mine is not None and theirs is not None:
            mine[rows] = theirs
