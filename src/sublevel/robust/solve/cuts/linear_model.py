"""A robust problem whose certain part is linear, read from CVXPY once, as arrays.

    minimise    goal
    subject to  A x + b >= 0 or == 0,  lower <= x <= upper,  some x integer,
    and         constant_i(x) - sum_k y_k slope_ik(x) >= 0  for every outcome y,

with x all variables, the user's and auxiliary ones. Ordinary parameters enter A, b and
the constants; their values are put in at every solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ....checks import Array
from ....conic.canonical import cone_form
from ....conic.cone_form import ConeForm
from ....conic.program import Indices
from ....errors import NotRobustifiable
from ...model.products import present_value
from ...model.rows import UncertainRow
from ...model.uncertain import Key
from ...model.variable_bounds import declared_bounds, integer_entries, is_simple


class CertainRows(NamedTuple):
    """Bounds of the columns, and rows bottom <= a'x <= top.

    Attributes
    ----------
    lower, upper : arrays of shape (columns,)
    matrix : sparse by row, shape (rows, columns)
    bottom, top : arrays of shape (rows,)
    """

    lower: Array
    upper: Array
    matrix: sp.csr_array
    bottom: Array
    top: Array


def certain_rows(
    matrix: sp.csr_array, equal: npt.NDArray[np.bool_], bounds: tuple[Array, Array]
) -> CertainRows:
    """Bounds and rows of a'x + b >= 0, or == 0 where `equal`.

    An inequality of one column becomes a bound, which costs a solver nothing.

    Parameters
    ----------
    matrix : sparse by row, shape (rows, columns + 1); b is the last column
    equal : booleans of shape (rows,)
    bounds : lower and upper bounds of the columns

    Examples
    --------
    >>> rows = sp.csr_array([[-2.0, 0.0, 3.0], [1.0, 1.0, -1.0]])
    >>> free = np.full(2, -np.inf), np.full(2, np.inf)
    >>> some = certain_rows(rows, np.array([False, True]), free)
    >>> some.upper, some.matrix.shape, some.bottom, some.top
    (array([1.5, inf]), (1, 2), array([1.]), array([1.]))
    """
    matrix.eliminate_zeros()
    inner, offset = matrix[:, :-1], matrix[:, [-1]].toarray()[:, 0]
    lone = (np.diff(inner.indptr) == 1) & ~equal
    lower, upper = _tightened(bounds, inner[lone], offset[lone])
    rest, bottom = inner[~lone], -offset[~lone]
    top = np.where(equal[~lone], bottom, np.inf)
    return CertainRows(lower, upper, rest, bottom, top)


def _tightened(
    bounds: tuple[Array, Array], rows: sp.csr_array, offset: Array
) -> tuple[Array, Array]:
    """Bounds after rows slope * x[column] + offset >= 0."""
    lower, upper = bounds[0].copy(), bounds[1].copy()
    ends, up = -offset / rows.data, rows.data > 0
    np.maximum.at(lower, rows.indices[up], ends[up])
    np.minimum.at(upper, rows.indices[~up], ends[~up])
    return lower, upper


@dataclass(frozen=True, eq=False)
class Linear:
    """Sparse linear functions of x, one term a position: sum value * x[column].

    `group` says which function a term belongs to. The last column is the constant.
    """

    group: Indices
    column: Indices
    value: Array

    def at(self, point: Array, size: int) -> Array:
        """The values of `size` functions at a point, shape (size,)."""
        terms = self.value * point[self.column]
        return np.asarray(np.bincount(self.group, terms, size), dtype=float)

    def mixed(self, weights: Array, width: int) -> Array:
        """Coefficients of the weighted sum of the functions, shape (width,)."""
        terms = self.value * weights[self.group]
        return np.asarray(np.bincount(self.column, terms, width), dtype=float)


@dataclass(frozen=True, eq=False)
class LinearRow:
    """One uncertain row over the columns of the model.

    Attributes
    ----------
    row : the row it was read from
    columns : position of the form's columns among the model's
    """

    row: UncertainRow
    columns: Indices

    @cached_property
    def slopes(self) -> dict[Key, Linear]:
        """For each key the direction that hurts, one function an entry."""
        slopes = {}
        for key in self.row.slopes:
            matrix = sp.coo_array(self.row.slope_matrix(key))
            entry, column = matrix.coords
            group = self.row.entries[key][entry]
            slopes[key] = Linear(group, self.columns[column], matrix.data)
        return slopes

    def constant(self) -> Linear:
        """The row without the outcome, at the values of the ordinary parameters."""
        for parameter, _ in self.row.form.ordinary(self.row.index):
            present_value(parameter)
        matrix = sp.coo_array(self.row.form.certain_matrix(self.row.index))
        where, column = matrix.coords
        return Linear(where, self.columns[column], matrix.data)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The certain part as arrays, and the uncertain rows over the same columns.

    Attributes
    ----------
    columns : variables in the order of the columns, with their slices
    goal : column of what is optimised
    sign : 1.0 to minimise, -1.0 to maximise
    form : the certain constraints
    where : position of the form's columns among the model's
    rows : the uncertain rows
    """

    columns: tuple[tuple[cp.Variable, slice], ...]
    goal: int
    sign: float
    form: ConeForm
    where: Indices
    rows: tuple[LinearRow, ...]

    @cached_property
    def width(self) -> int:
        """Number of columns; the constant is the one after them."""
        return int(self.columns[-1][1].stop)

    @cached_property
    def integer(self) -> Indices:
        """Columns of integer variables."""
        marked = [part.start + integer_entries(v) for v, part in self.columns]
        return np.concatenate(marked)

    def certain(self) -> CertainRows:
        """Bounds and certain rows at the values of the ordinary parameters."""
        equal = np.zeros(self.form.constant.shape[0], dtype=bool)
        for cone in self.form.cones:
            equal[cone.rows] = cone.kind == "zero"
        lower, upper = np.full(self.width, -np.inf), np.full(self.width, np.inf)
        for variable, part in self.columns:
            lower[part], upper[part] = declared_bounds(variable)
        return certain_rows(self._matrix(), equal, (lower, upper))

    def _matrix(self) -> sp.csr_array:
        """Certain rows over all columns and the constant, at the parameters' values."""
        pieces = [sp.coo_array(self.form.constant)]
        for parameter, terms in self.form.parameters.items():
            value = np.ravel(present_value(parameter), order="F")
            values = value[terms.entry] * terms.value
            where = (terms.row, terms.column)
            pieces.append(sp.coo_array((values, where), shape=self.form.constant.shape))
        row, column = np.hstack([piece.coords for piece in pieces])
        values = np.concatenate([piece.data for piece in pieces])
        shape = (self.form.constant.shape[0], self.width + 1)
        return sp.csr_array((values, (row, self.where[column])), shape=shape)


def linear_model(
    objective: cp.Minimize | cp.Maximize,
    certain: Sequence[cp.Constraint],
    rows: Sequence[UncertainRow],
) -> LinearModel | None:
    """The model, or None if its certain part is curved or its variables structured."""
    goal, conditions = _goal(objective, list(certain))
    if not all(condition.is_dcp(dpp=True) for condition in conditions):
        return None
    try:
        form = cone_form(*conditions)
    except NotRobustifiable:
        return None
    curved = any(cone.kind not in ("zero", "nonneg") for cone in form.cones)
    columns = _columns([form, *(row.form for row in rows)], goal)
    if curved or not all(is_simple(variable) for variable, _ in columns):
        return None
    starts = {variable.id: part.start for variable, part in columns}
    return LinearModel(
        columns,
        starts[goal.id],
        1.0 if isinstance(objective, cp.Minimize) else -1.0,
        form,
        _positions(form, columns),
        tuple(LinearRow(row, _positions(row.form, columns)) for row in rows),
    )


def _goal(
    objective: cp.Minimize | cp.Maximize, certain: list[cp.Constraint]
) -> tuple[cp.Variable, list[cp.Constraint]]:
    """One variable to optimise, and the conditions that make it the objective."""
    value = objective.args[0]
    if isinstance(value, cp.Variable):
        return value, certain
    goal = cp.Variable()
    minimise = isinstance(objective, cp.Minimize)
    return goal, [*certain, value <= goal if minimise else value >= goal]


def _columns(
    forms: Sequence[ConeForm], goal: cp.Variable
) -> tuple[tuple[cp.Variable, slice], ...]:
    by_id = {variable.id: variable for form in forms for variable, _ in form.columns}
    columns, start = [], 0
    for variable in {**by_id, goal.id: goal}.values():
        columns.append((variable, slice(start, start + variable.size)))
        start += variable.size
    return tuple(columns)


def _positions(
    form: ConeForm, columns: tuple[tuple[cp.Variable, slice], ...]
) -> Indices:
    """Where each column of the form, the constant included, is in the model."""
    starts = {variable.id: part.start for variable, part in columns}
    positions = np.full(form.width, columns[-1][1].stop)
    for variable, part in form.columns:
        start = starts[variable.id]
        positions[part] = np.arange(start, start + variable.size)
    return positions
