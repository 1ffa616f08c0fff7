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
class ConeForm:
    """Rows of one constraint.

    Attributes
    ----------
    columns : variables in the order of the matrices' columns, with their slices
    auxiliary : ids of the variables that are not the user's
    constant : sparse (rows, columns + 1), the part without parameters
    parameters : parameter -> list of sparse matrices, one an entry (column-major)
    cones : which rows lie in which cone
    """

    columns: tuple[tuple[Any, slice], ...]
    auxiliary: frozenset[int]
    constant: Any
    parameters: dict[Any, list[Any]]
    cones: tuple[Cone, ...]

    @property
    def stacked(self) -> cp.Expression:
        """All variables in one column, with a one at the end."""
        parts = [cp.vec(variable, order="F") for variable, _ in self.columns]
        return cp.hstack([*parts, np.ones(1)])

    def constants(self) -> cp.Expression:
        """The rows without the uncertain parameters, shape (rows,)."""
        stacked = self.stacked
        rows = self.constant @ stacked
        for parameter, matrices in self.parameters.items():
            if not isinstance(parameter, Uncertain):
                entries = cp.vec(parameter, order="F")
                terms = [entries[k] * (m @ stacked) for k, m in enumerate(matrices)]
                rows = rows + sum(terms[1:], terms[0])
        return rows

    def coefficients(self, parameter: Any, row: int) -> cp.Expression:
        """What multiplies each entry of an uncertain parameter in a row."""
        matrices = self.parameters.get(parameter)
        if matrices is None:
            return cp.Constant(np.zeros(parameter.size))
        return sp.vstack([m[[row]] for m in matrices]).tocsr() @ self.stacked

    def active(self, parameter: Any, row: int) -> Any:
        """Which entries of an uncertain parameter enter a row at all, shape (size,)."""
        matrices = self.parameters.get(parameter, [])
        found = [m.indptr[row + 1] > m.indptr[row] for m in matrices]
        return np.array(found or [False] * parameter.size, dtype=bool)

    def uncertain_rows(self) -> Any:
        """Which rows any uncertain parameter enters, shape (rows,)."""
        found = np.zeros(self.constant.shape[0], dtype=bool)
        for parameter, matrices in self.parameters.items():
            if isinstance(parameter, Uncertain):
                for matrix in matrices:
                    found |= np.diff(matrix.tocsr().indptr) > 0
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
    shape = (program.constr_size, program.x.size + 1)
    tensor = sp.csc_array(program.A)

    def matrix(column: int) -> Any:
        flat = tensor[:, [column]].tocoo()
        position = flat.coords[0]
        where = (position % shape[0], position // shape[0])
        return sp.csr_array((flat.data, where), shape=shape)

    parameters = {
        parameter: [
            matrix(program.param_id_to_col[parameter.id] + k)
            for k in range(parameter.size)
        ]
        for parameter in program.parameters
    }
    return ConeForm(
        columns,
        frozenset(by_id) - own,
        matrix(tensor.shape[1] - 1),
        parameters,
        _cones(program.constraints, {c.id: c for c in conic.constraints}),
    )


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
