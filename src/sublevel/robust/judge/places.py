"""Where an expression meets the outcome: numbers that are affine in it.

At a fixed decision a written constraint is a function of the outcome. It meets it in
places: the largest parts that are affine in it. Where the whole of it is one place, the
worst outcome is the set's answer to its slope; where maxima and curves are made of
several, the worst outcome is the answer to the slope of one of them. The slopes are
read as sparse tables over the decision, and compared with the written part at random
points before they are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.unary_operators import NegExpression

from ...checks import Array
from ...conic.canonical import affine_form
from ...conic.cone_form import ConeForm
from ...conic.program import Indices
from ...errors import NotRobustifiable
from ..model.nature import Nature
from ..model.uncertain import Uncertain, uncertain_in
from .place import Place, ProbedPlace, TablePlace, value_at
from .reading import Frame, are_close, read


def split(expression: cp.Expression) -> tuple[list[cp.Expression], list[cp.Expression]]:
    """The terms of a sum that are free of the outcome, and those that see it."""
    free: list[cp.Expression] = []
    seeing: list[cp.Expression] = []
    for term in _terms(expression, 1.0):
        (seeing if uncertain_in(term) else free).append(term)
    return free, seeing


def _terms(expression: cp.Expression, sign: float) -> list[cp.Expression]:
    if isinstance(expression, AddExpression):
        same = all(arg.shape == expression.shape for arg in expression.args)
        if same:
            return [t for arg in expression.args for t in _terms(arg, sign)]
    if isinstance(expression, NegExpression):
        return _terms(expression.args[0], -sign)
    return [expression if sign > 0 else -expression]


def affine_parts(expression: cp.Expression) -> list[cp.Expression]:
    """The largest parts that are affine in the outcome, and see it."""
    if not uncertain_in(expression):
        return []
    if Nature(expression).is_affine:
        return [expression]
    return [part for arg in expression.args for part in affine_parts(arg)]


def places_of(expression: cp.Expression, frame: Frame) -> tuple[Place, ...]:
    """The entries of a part that is affine in the outcome, column by column."""
    tables = _tables(expression, frame)
    if tables is not None:
        return tables
    _, dims, _ = frame.sizes()
    seen = {frame.outcomes[p.id][1] for p in uncertain_in(expression)}
    entries: dict[int, Indices] = {key: np.arange(dims[key]) for key in sorted(seen)}
    tape = read(expression, frame)
    return tuple(
        ProbedPlace(tape, row, entries, dims) for row in range(expression.size)
    )


def _tables(expression: cp.Expression, frame: Frame) -> tuple[TablePlace, ...] | None:
    """The same where it is affine in the decision as well; None where it is not, or
    where the tables turn out not to be what is written.
    """
    try:
        form = affine_form(expression)
    except (NotRobustifiable, cp.error.DCPError, cp.error.DPPError, ValueError):
        return None
    if form.auxiliary or form.constant.shape[0] != expression.size:
        return None
    positions = np.full(form.width - 1, -1)
    for variable, columns in form.columns:
        if variable.id not in frame.variables:
            return None
        start = frame.variables[variable.id]
        positions[columns] = np.arange(start, start + variable.size)
    places = tuple(_place(form, i, positions, frame) for i in range(expression.size))
    return places if _are_written(places, expression, frame) else None


def _place(form: ConeForm, row: int, positions: Indices, frame: Frame) -> TablePlace:
    constant = form.constant[[row]].tocoo()
    column, value = constant.coords[1], constant.data
    _, _, count = frame.sizes()
    by_column, slot, values = [column], [np.full(len(column), count)], [value]
    seeing: dict[int, list[tuple[Indices, Indices, Array]]] = {}
    for parameter, terms in form.parameters.items():
        own = terms.of_row(row)
        if not own.entry.size:
            continue
        if isinstance(parameter, Uncertain):
            start, key = frame.outcomes[parameter.id]
            seeing.setdefault(key, []).append(
                (own.entry + start, own.column, own.value)
            )
        else:
            by_column.append(own.column)
            slot.append(own.entry + frame.ordinary[parameter.id])
            values.append(own.value)
    used = np.unique(
        np.concatenate(
            [*by_column, *(c for terms in seeing.values() for _, c, _ in terms)]
        )
    )
    used = used[used < form.width - 1]
    place = np.full(form.width, len(used))
    place[used] = np.arange(len(used))
    table = sp.csr_array(
        (
            np.concatenate(values),
            (place[np.concatenate(by_column)], np.concatenate(slot)),
        ),
        shape=(len(used) + 1, count + 1),
    )
    slopes, entries = {}, {}
    for key, places in seeing.items():
        entry, column, value = (
            np.concatenate(part) for part in zip(*places, strict=True)
        )
        entries[key], number = np.unique(entry, return_inverse=True)
        shape = (len(entries[key]), len(used) + 1)
        slopes[key] = sp.csr_array((value, (number, place[column])), shape=shape)
    return TablePlace(positions[used], table, slopes, entries)


def _are_written(
    places: Sequence[TablePlace], expression: cp.Expression, frame: Frame
) -> bool:
    """Whether the tables say what the expression says, at random points.

    Functions that are affine in the decision, and in the outcome, and agree at a random
    point are the same, but for bad luck.
    """
    leaves = frame.points
    values = np.column_stack([np.add(*value_at(place, leaves)) for place in places])
    wanted = frame.written_values(expression, leaves)
    tape = read(expression, frame)
    if not np.isfinite(values).all():
        return False
    return are_close(
        values, wanted, lambda: tape.gross(leaves, np.zeros(leaves.values.shape))
    )
