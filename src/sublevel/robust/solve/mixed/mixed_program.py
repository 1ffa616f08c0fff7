"""A cone program with integer columns, at one context, as its masters take it.

minimise    cost' x + offset
subject to  bottom <= rows x <= top,  lower <= x <= upper,  some x integer,
and         right_c - matrix_c x  in a second-order cone, for each cone c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....checks import Array
from ....conic.program import ConeProgram, Indices, ProgramData, rows_of
from ..cuts.linear_model import CertainRows, certain_rows
from .split_cone import SplitCone, split_cone

#: Kinds of cones of which a polyhedron can be made.
KINDS = ("zero", "nonneg", "soc")


def has_polyhedra(program: ConeProgram) -> bool:
    """Whether every cone is linear or of second order, and the objective linear."""
    return all(kind in KINDS for kind, _ in program.cones) and not program.P.nnz


@dataclass(frozen=True, eq=False)
class MixedProgram:
    """The program at one context.

    Attributes
    ----------
    cost : array of shape (columns,)
    offset : float, added to the cost
    linear : bounds of the columns, and the linear rows
    cones : those of second order, split
    integer : positions of the integer columns, sorted
    seen : how many integer columns the cones see, themselves or through equalities
    """

    cost: Array
    offset: float
    linear: CertainRows
    cones: tuple[SplitCone, ...]
    integer: Indices
    seen: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.cost)

    def value(self, x: Array) -> float:
        """What is minimised, at a point."""
        return float(self.cost @ x + self.offset)

    def size(self, x: Array) -> float:
        """How much is added up in the objective, at a point."""
        return float(np.abs(self.cost) @ np.abs(x) + abs(self.offset))


def mixed_program(data: ProgramData, integer: Indices) -> MixedProgram:
    """The only context of `data`, with integer columns."""
    program = data.program
    matrix = sp.csr_array(program.matrix(data.A.row(0)))
    right, cost = data.b.row(0), data.q.row(0)
    flat, equal, curved, start = [], [], [], 0
    for kind, size in program.cones:
        rows = slice(start, start + rows_of(kind, size))
        start = rows.stop
        if kind == "soc":
            curved.append(rows)
        else:
            flat.append(np.arange(rows.start, rows.stop))
            equal.append(np.full(len(flat[-1]), kind == "zero"))
    at = np.concatenate([np.zeros(0, dtype=int), *flat])
    ends = np.full(program.width, -np.inf), np.full(program.width, np.inf)
    table = sp.csr_array(sp.hstack([-matrix[at], right[at][:, None]]))
    flags = np.concatenate([np.zeros(0, dtype=bool), *equal])
    linear = certain_rows(table, flags, ends)
    at_most_one = (linear.lower[integer] >= 0) & (linear.upper[integer] <= 1)
    binary = integer[at_most_one]
    cones = tuple(split_cone(matrix[rows], right[rows], binary) for rows in curved)
    every = [matrix[rows] for rows in curved]
    columns = np.unique(
        np.concatenate([np.zeros(0, dtype=int), *(m.indices for m in every)])
    )
    seen = len(np.intersect1d(integer, _reached(matrix[at[flags]], columns)))
    return MixedProgram(cost[:-1], float(cost[-1]), linear, cones, integer, seen)


def _reached(equalities: sp.csr_array, columns: Indices) -> Indices:
    """Columns that equalities tie to some, these among them."""
    touched = np.zeros(equalities.shape[1], dtype=bool)
    touched[columns] = True
    pattern = sp.csr_array(equalities != 0, dtype=int)
    count = 0
    while touched.sum() > count:
        count = int(touched.sum())
        touched |= (pattern.T @ (pattern @ touched.astype(int) > 0).astype(int)) > 0
    return np.flatnonzero(touched)
