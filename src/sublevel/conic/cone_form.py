"""One constraint as cone rows that are affine in the uncertain parameters.

A constraint that follows the DPP rules becomes rows

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

from ..checks import Array
from .program import Indices


class OutcomeParameter(cp.Parameter):  # type: ignore[misc]
    """A parameter whose value nature chooses."""


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
    constraint: cp.Constraint


@dataclass(frozen=True)
class Terms:
    """A list of value * parameter[entry] * variable[column], each in one row.

    Sorted by row; all arrays are of shape (terms,).
    """

    row: Indices
    column: Indices
    entry: Indices
    value: Array

    def of_row(self, row: int) -> Terms:
        """The terms of one row."""
        at = slice(*np.searchsorted(self.row, [row, row + 1]))
        return Terms(self.row[at], self.column[at], self.entry[at], self.value[at])

    def matrix(self, size: int, width: int) -> sp.csr_array:
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
    constant: sp.csr_array
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

    def certain_matrix(self, row: int) -> sp.csr_array:
        """The row without the uncertain parameters at the others' values: sparse."""
        total = self.constant[[row]]
        for parameter, terms in self.ordinary(row):
            values = np.ravel(parameter.value, order="F")[terms.entry]
            where = (np.zeros(len(values), dtype=int), terms.column)
            total = total + sp.csr_array(
                (values * terms.value, where), shape=(1, self.width)
            )
        return total

    def certain(self, row: int, leave_out: cp.Variable | None = None) -> cp.Expression:
        """The same as an expression in which the other parameters stay parameters.

        A variable to `leave_out` does not appear in it.
        """
        constant = self.constant[[row]]
        for variable, columns in self.columns:
            if variable is leave_out:
                keep = np.ones(self.width)
                keep[columns] = 0.0
                constant = (constant @ sp.diags_array(keep)).tocsr()
                constant.eliminate_zeros()
        total = self.affine(constant)[0]
        for parameter, terms in self.ordinary(row):
            values = self.affine(terms.matrix(parameter.size, self.width))
            total = total + cp.vec(parameter, order="F") @ values
        return total

    def affine(self, matrix: sp.csr_array) -> cp.Expression:
        """A sparse matrix times the variables, of which only those it needs appear.

        So CVXPY sees the sign of what is made of variables with signs.
        """
        terms = []
        for variable, columns in self.columns:
            block = matrix[:, columns]
            if block.nnz:
                terms.append(_product(block, variable))
        constant = matrix[:, [-1]].toarray().ravel()
        if constant.any() or not terms:
            terms.append(cp.Constant(constant))
        return sum(terms[1:], terms[0])

    def ordinary(self, row: int) -> list[tuple[Any, Terms]]:
        """The parameters nature does not choose that enter a row."""
        each = [
            (parameter, terms.of_row(row))
            for parameter, terms in self.parameters.items()
            if not isinstance(parameter, OutcomeParameter)
        ]
        return [(parameter, terms) for parameter, terms in each if terms.entry.size]

    def uncertain_rows(self) -> sp.csr_array:
        """Which rows any uncertain parameter enters, shape (rows,)."""
        uncertain = np.zeros(self.constant.shape[0], dtype=bool)
        for parameter, terms in self.parameters.items():
            if isinstance(parameter, OutcomeParameter):
                uncertain[terms.row] = True
        return uncertain


def _product(block: sp.csr_array, variable: cp.Variable) -> cp.Expression:
    """A sparse matrix times a variable; plus or minus the variable where that is it.

    A shorter expression is canonicalised faster.
    """
    flat = variable if variable.ndim == 1 else cp.vec(variable, order="F")
    size = variable.size
    if block.shape == (size, size) and block.nnz == size:
        diagonal = block.diagonal()
        for sign, same in ((1.0, flat), (-1.0, -flat)):
            if (diagonal == sign).all():
                return same
    return block @ flat
