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
from dataclasses import dataclass
from typing import Protocol

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.unary_operators import NegExpression

from ...checks import Array
from ...conic.canonical import cone_form
from ...conic.cone_form import ConeForm
from ...conic.program import Indices
from ...errors import NotRobustifiable
from ..model.nature import Nature
from ..model.uncertain import Uncertain, uncertain_in
from .reading import CLOSE, POINTS, Frame, read
from .tape import Leaves, Tape


class Place(Protocol):
    """One number  constant(x) + sum_k slopes_k(x) @ y_k[entries_k]."""

    @property
    def entries(self) -> dict[int, Indices]:
        """Key number -> which entries of the key it sees."""

    @property
    def is_bilinear(self) -> bool:
        """Whether the slopes depend on the decision."""

    def certain(self, values: Array, ordinary: Array) -> Array:
        """The part without the outcome, shape (n,)."""

    def directions(self, values: Array, ordinary: Array) -> dict[int, Array]:
        """Key number -> slope in the entries it sees, shape (n, entries)."""


@dataclass(frozen=True, eq=False)
class TablePlace:
    """A place that is affine in the decision too.

    Attributes
    ----------
    columns : entries of the decision it depends on, shape (k,)
    constant : sparse (k + 1, ordinary + 1): the part without the outcome, by ordinary
        parameter, constants last in both ways
    slopes : key number -> sparse (entries, k + 1)
    entries : key number -> which entries of the key, shape (entries,)
    """

    columns: Indices
    constant: sp.csr_array
    slopes: dict[int, sp.csr_array]
    entries: dict[int, Indices]

    @property
    def is_bilinear(self) -> bool:
        """Whether the slopes depend on the decision."""
        last = len(self.columns)
        return any((table.indices < last).any() for table in self.slopes.values())

    def certain(self, values: Array, ordinary: Array) -> Array:
        """The part without the outcome, shape (n,)."""
        weights = np.asarray(self.constant @ np.append(ordinary, 1.0))
        return np.asarray(self._decision(values) @ weights)

    def directions(self, values: Array, ordinary: Array) -> dict[int, Array]:
        """Key number -> slope in the entries it sees, shape (n, entries)."""
        del ordinary
        decision = self._decision(values)
        return {
            key: np.ascontiguousarray((table @ decision.T).T)
            for key, table in self.slopes.items()
        }

    def _decision(self, values: Array) -> Array:
        """What it depends on, with a one at the end: shape (n, k + 1)."""
        part = np.empty((len(values), len(self.columns) + 1))
        part[:, :-1] = values[:, self.columns]
        part[:, -1] = 1.0
        return part


@dataclass(frozen=True, eq=False)
class ProbedPlace:
    """A place whose slopes are curved in the decision: found by trying every entry.

    Attributes
    ----------
    tape : the expression it is an entry of
    row : which entry
    entries : key number -> all entries of the key
    dims : number of entries of every key of the model
    """

    tape: Tape
    row: int
    entries: dict[int, Indices]
    dims: tuple[int, ...]

    @property
    def is_bilinear(self) -> bool:
        """Yes."""
        return True

    def certain(self, values: Array, ordinary: Array) -> Array:
        """The part without the outcome, shape (n,)."""
        nothing = [np.zeros((len(values), dim)) for dim in self.dims]
        return self.tape.rows(Leaves(values, nothing, ordinary))[:, self.row]

    def directions(self, values: Array, ordinary: Array) -> dict[int, Array]:
        """Key number -> slope in the entries it sees, shape (n, entries)."""
        base = self.certain(values, ordinary)
        slopes = {}
        for key, entries in self.entries.items():
            slopes[key] = np.zeros((len(values), len(entries)))
            for entry in entries.tolist():
                outcomes = [np.zeros((len(values), dim)) for dim in self.dims]
                outcomes[key][:, entry] = 1.0
                moved = self.tape.rows(Leaves(values, outcomes, ordinary))[:, self.row]
                slopes[key][:, entry] = moved - base
        return slopes


def value_at(place: Place, leaves: Leaves) -> tuple[Array, Array]:
    """A place's part without the outcome and with it, at known outcomes: (n,) each."""
    certain = place.certain(leaves.values, leaves.ordinary)
    moved = np.zeros(len(leaves))
    for key, slope in place.directions(leaves.values, leaves.ordinary).items():
        seen = leaves.outcomes[key][:, place.entries[key]]
        moved = moved + np.sum(slope * seen, axis=1)
    return certain, moved


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
        form = cone_form(cp.NonNeg(expression))
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
    size = read(expression, frame).gross(leaves, np.zeros(leaves.values.shape))
    for i in range(POINTS):
        wanted = np.ravel(frame.written_value(expression, leaves, i), order="F")
        if not (np.abs(values[i] - wanted) <= CLOSE * size[i]).all():
            return False
    return True
