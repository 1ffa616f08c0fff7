"""A robust problem whose certain part is linear, read from CVXPY once, as arrays.

    minimise    goal
    subject to  A x + b >= 0 or == 0,  lower <= x <= upper,  some x integer,
    and         constant_i(x) - sum_k y_k slope_ik(x) >= 0  for every outcome y,

with x all variables, the user's and auxiliary ones. Ordinary parameters enter A, b and
the constants; their values are put in at every solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ...checks import Array
from ...errors import InvalidParameter, NotRobustifiable
from ..modelling.canonical import cone_form
from ..modelling.cone_form import ConeForm
from ..modelling.counterpart import Key, UncertainRow
from .certain_rows import CertainRows, certain_rows
from .variable_bounds import declared_bounds, integer_entries, is_simple


@dataclass(frozen=True, eq=False)
class Linear:
    """Sparse linear functions of x, one term a position: sum value * x[column].

    `group` says which function a term belongs to. The last column is the constant.
    """

    group: Any
    column: Any
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
    columns: Any

    @cached_property
    def slopes(self) -> dict[Key, Linear]:
        """For each key the direction that hurts, one function an entry."""
        found = {}
        for key in self.row.slopes:
            matrix = sp.coo_array(self.row.slope_matrix(key))
            entry, column = matrix.coords
            group = self.row.entries[key][entry]
            found[key] = Linear(group, self.columns[column], matrix.data)
        return found

    def constant(self) -> Linear:
        """The row without the outcome, at the values of the ordinary parameters."""
        return self._constant_now() if self._follows_parameters else self._constant

    @cached_property
    def _follows_parameters(self) -> bool:
        return bool(self.row.form.ordinary(self.row.index))

    @cached_property
    def _constant(self) -> Linear:
        return self._constant_now()

    def _constant_now(self) -> Linear:
        for parameter, _ in self.row.form.ordinary(self.row.index):
            _value(parameter)
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

    columns: tuple[tuple[Any, slice], ...]
    goal: int
    sign: float
    form: ConeForm
    where: Any
    rows: tuple[LinearRow, ...]

    @cached_property
    def width(self) -> int:
        """Number of columns; the constant is the one after them."""
        return int(self.columns[-1][1].stop)

    @cached_property
    def integer(self) -> Any:
        """Columns of integer variables."""
        marked = [part.start + integer_entries(v) for v, part in self.columns]
        return np.concatenate(marked)

    @cached_property
    def _equal(self) -> Any:
        """Which certain rows must be zero."""
        found = np.zeros(self.form.constant.shape[0], dtype=bool)
        for cone in self.form.cones:
            found[cone.rows] = cone.kind == "zero"
        return found

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Bounds of the columns that variables declare."""
        lower, upper = np.full(self.width, -np.inf), np.full(self.width, np.inf)
        for variable, part in self.columns:
            lower[part], upper[part] = declared_bounds(variable)
        return lower, upper

    def certain(self) -> CertainRows:
        """Bounds and certain rows at the values of the ordinary parameters."""
        return self._certain_now() if self.form.parameters else self._certain

    @cached_property
    def _certain(self) -> CertainRows:
        return self._certain_now()

    def _certain_now(self) -> CertainRows:
        return certain_rows(self._matrix(), self._equal, self._bounds)

    def _matrix(self) -> Any:
        """Certain rows over all columns and the constant, at the parameters' values."""
        pieces = [sp.coo_array(self.form.constant)]
        for parameter, terms in self.form.parameters.items():
            values = _value(parameter)[terms.entry] * terms.value
            where = (terms.row, terms.column)
            pieces.append(sp.coo_array((values, where), shape=self.form.constant.shape))
        row, column = np.hstack([piece.coords for piece in pieces])
        values = np.concatenate([piece.data for piece in pieces])
        shape = (self.form.constant.shape[0], self.width + 1)
        return sp.csr_array((values, (row, self.where[column])), shape=shape)


def linear_model(
    objective: Any, certain: list[Any], rows: list[UncertainRow]
) -> LinearModel | None:
    """The model, or None if its certain part is curved or its variables structured."""
    goal, conditions = _goal(objective, certain)
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


def _goal(objective: Any, certain: list[Any]) -> tuple[Any, list[Any]]:
    """One variable to optimise, and the conditions that make it the objective."""
    value = objective.args[0]
    if isinstance(value, cp.Variable):
        return value, certain
    goal = cp.Variable()
    minimise = isinstance(objective, cp.Minimize)
    return goal, [*certain, value <= goal if minimise else value >= goal]


def _columns(forms: list[ConeForm], goal: Any) -> tuple[tuple[Any, slice], ...]:
    known = {variable.id: variable for form in forms for variable, _ in form.columns}
    found, start = [], 0
    for variable in {**known, goal.id: goal}.values():
        found.append((variable, slice(start, start + variable.size)))
        start += variable.size
    return tuple(found)


def _positions(form: ConeForm, columns: tuple[tuple[Any, slice], ...]) -> Any:
    """Where each column of the form, the constant included, is in the model."""
    starts = {variable.id: part.start for variable, part in columns}
    found = np.full(form.width, columns[-1][1].stop)
    for variable, part in form.columns:
        start = starts[variable.id]
        found[part] = np.arange(start, start + variable.size)
    return found


def _value(parameter: Any) -> Array:
    if parameter.value is None:
        raise InvalidParameter(
            f"The parameter {parameter.name()!r} must have a value before the problem "
            "is solved."
        )
    return np.ravel(parameter.value, order="F")
