"""One constraint as cone rows that are affine in the uncertain parameters.

This is the only module that touches CVXPY's canonical form. A constraint that follows
the DPP rules becomes rows

    constant(x) + sum_k y_k coefficient_k(x)   in a cone,

each affine in the variables x (the user's own and auxiliary ones) and in the entries y
of the uncertain parameters. Ordinary parameters stay parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone

from ..errors import NotRobustifiable
from .uncertain import Uncertain


@dataclass(frozen=True)
class Cone:
    """A run of rows that lie in one cone together.

    Attributes
    ----------
    kind : "zero", "nonneg", or another cone's name in CVXPY
    rows : the rows, in the order of the cone's arguments
    constraint : the same as a CVXPY constraint of the variables and parameters
    """

    kind: str
    rows: slice
    constraint: Any


@dataclass(frozen=True)
class Terms:
    """A list of value * parameter[entry] * variable[column], each in one row.

    Sorted by row; all arrays are of shape (terms,).
    """

    row: Any
    column: Any
    entry: Any
    value: Any

    def of_row(self, row: int) -> Terms:
        """The terms of one row."""
        at = slice(*np.searchsorted(self.row, [row, row + 1]))
        return Terms(self.row[at], self.column[at], self.entry[at], self.value[at])

    def matrix(self, size: int, width: int) -> Any:
        """What multiplies each of `size` entries, as sparse rows over the columns."""
        where = (self.entry, self.column)
        return sp.csr_array((self.value, where), shape=(size, width))


@dataclass(frozen=True)
class ConeForm:
    """Rows of one constraint: an affine function of variables, for every parameter.

    Attributes
    ----------
    columns : variables in the order of the matrices' columns, with their slices; the
        last column of every matrix is the constant
    auxiliary : ids of the variables that are not the user's
    constant : sparse (rows, columns + 1), the part without parameters
    parameters : parameter -> Terms, what multiplies its entries
    cones : which rows lie in which cone
    """

    columns: tuple[tuple[Any, slice], ...]
    auxiliary: frozenset[int]
    constant: Any
    parameters: dict[Any, Terms]
    cones: tuple[Cone, ...]

    @property
    def width(self) -> int:
        """Number of columns, the constant included."""
        return int(self.constant.shape[1])

    @property
    def stacked(self) -> cp.Expression:
        """All variables in one column, with a one at the end."""
        parts = [cp.vec(variable, order="F") for variable, _ in self.columns]
        return cp.hstack([*parts, np.ones(1)])

    def certain_matrix(self, row: int) -> Any:
        """The row without the uncertain parameters at the others' values: sparse."""
        found = self.constant[[row]]
        for parameter, terms in self.ordinary(row):
            values = np.ravel(parameter.value, order="F")[terms.entry]
            where = (np.zeros(len(values), dtype=int), terms.column)
            found = found + sp.csr_array(
                (values * terms.value, where), shape=(1, self.width)
            )
        return found

    def certain(self, row: int, stacked: cp.Expression) -> cp.Expression:
        """The same as an expression in which the other parameters stay parameters."""
        found = (self.constant[[row]] @ stacked)[0]
        for parameter, terms in self.ordinary(row):
            matrix = terms.matrix(parameter.size, self.width)
            found = found + cp.vec(parameter, order="F") @ (matrix @ stacked)
        return found

    def ordinary(self, row: int) -> list[tuple[Any, Terms]]:
        """The parameters nature does not choose that enter a row."""
        found = [
            (parameter, terms.of_row(row))
            for parameter, terms in self.parameters.items()
            if not isinstance(parameter, Uncertain)
        ]
        return [(parameter, terms) for parameter, terms in found if terms.entry.size]

    def uncertain_rows(self) -> Any:
        """Which rows any uncertain parameter enters, shape (rows,)."""
        found = np.zeros(self.constant.shape[0], dtype=bool)
        for parameter, terms in self.parameters.items():
            if isinstance(parameter, Uncertain):
                found[terms.row] = True
        return found


def cone_form(constraint: Any) -> ConeForm:
    """The cone rows of a constraint that follows the DPP rules."""
    problem = cp.Problem(cp.Minimize(0), [constraint])
    own = {variable.id for variable in problem.variables()}
    conic, _ = Dcp2Cone(quad_obj=False).apply(problem)
    program, _ = ConeMatrixStuffing(quad_obj=False).apply(conic)
    known = {constraint.id for constraint in program.constraints}
    lost = [c for c in conic.constraints if c.id not in known]
    if lost or any(variable.is_complex() for variable in conic.variables()):
        kinds = sorted({type(c).__name__ for c in lost}) or ["complex variables"]
        raise NotRobustifiable(
            f"The constraint {constraint} cannot be made robust: its cone form does "
            f"not cover {', '.join(kinds)}. Write it with <=, >= and CVXPY's atoms."
        )
    by_id = {variable.id: variable for variable in conic.variables()}
    columns = tuple(
        (by_id[i], slice(start, start + by_id[i].size))
        for i, start in sorted(program.var_id_to_col.items(), key=lambda item: item[1])
    )
    constant, parameters = _terms(program)
    return ConeForm(
        columns,
        frozenset(by_id) - own,
        constant,
        parameters,
        _cones(program.constraints, {c.id: c for c in conic.constraints}),
    )


def _terms(program: Any) -> tuple[Any, dict[Any, Terms]]:
    """The constant matrix and the terms of every parameter."""
    shape = (program.constr_size, program.x.size + 1)
    tensor = sp.coo_array(program.A)
    position, slot = tensor.coords
    row, column, value = position % shape[0], position // shape[0], tensor.data
    last = slot == tensor.shape[1] - 1
    constant = sp.csr_array((value[last], (row[last], column[last])), shape=shape)
    order = np.argsort(row, kind="stable")
    parameters = {}
    for parameter in program.parameters:
        entry = slot[order] - program.param_id_to_col[parameter.id]
        own = order[(entry >= 0) & (entry < parameter.size)]
        entry = slot[own] - program.param_id_to_col[parameter.id]
        parameters[parameter] = Terms(row[own], column[own], entry, value[own])
    return constant, parameters


def _cones(constraints: list[Any], written: dict[int, Any]) -> tuple[Cone, ...]:
    names = {"Zero": "zero", "NonNeg": "nonneg"}
    found, start = [], 0
    for constraint in constraints:
        size = sum(argument.size for argument in constraint.args)
        kind = type(constraint).__name__
        rows = slice(start, start + size)
        found.append(Cone(names.get(kind, kind), rows, written[constraint.id]))
        start += size
    return tuple(found)
