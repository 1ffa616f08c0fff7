"""A whole problem as one cone program whose data are affine in its parameters.

    minimise    x' P x / 2 + q' x + offset
    subject to  A x + s = b,  s in a product of cones,

where q, offset, A and b are affine functions of a vector of slots: numbers that change
from context to context (location, reach, budget) or from call to call (the values of
ordinary parameters). Only arrays live here, so a program can be sent to a worker or
written to a file; `canonical` reads it from CVXPY once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...checks import Array


def rows_of(kind: str, size: float) -> int:
    """Rows of a cone of a kind; what its size says depends on the kind."""
    if kind == "psd":
        return int(size * (size + 1) // 2)
    return 3 if kind == "power" else int(size)


class Uncompilable(Exception):
    """One program cannot serve every context; the message says why."""


@dataclass(frozen=True)
class ConeProgram:
    """The program and how its data follow from the slots.

    Attributes
    ----------
    cones : (kind, size) in the order of the rows; for a power cone the size is its
        exponent
    sign : 1.0 to minimise, -1.0 if the objective is to be maximised
    indices, indptr : pattern of A, by column
    P_where : entries of P that can be other than zero, counted down the columns
    P : sparse (entries of P_where, slots + 1)
    q : sparse (nx + 1, slots + 1); the last row is the offset
    A : sparse (entries of the pattern, slots + 1)
    b : sparse (rows, slots + 1)
    slots : name -> slice of the slot vector
    variables : id of a CVXPY variable -> columns of x, column-major
    """

    cones: tuple[tuple[str, float], ...]
    sign: float
    indices: Any
    indptr: Any
    P_where: Any
    P: Any
    q: Any
    A: Any
    b: Any
    slots: dict[str, slice]
    variables: dict[int, Any]
    _moving: dict[Any, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def width(self) -> int:
        """Number of variables."""
        return len(self.indptr) - 1

    @property
    def size(self) -> int:
        """Length of the slot vector, the constant one at its end included."""
        return int(self.q.shape[1])

    def matrix(self, values: Array) -> Any:
        """A as a sparse matrix, from the values of its pattern."""
        shape = (self.b.shape[0], self.width)
        return sp.csc_array((values, self.indices, self.indptr), shape=shape)

    def moving(self, names: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
        """What some slots move: their columns, and for q, A and b which entries, with
        the part of the table. The same for all contexts, so found only once.
        """
        if names not in self._moving:
            slots = [self.slots[name] for name in names]
            columns = np.concatenate(
                [np.zeros(0, dtype=int), *(np.arange(s.start, s.stop) for s in slots)]
            )
            tables = {"q": self.q, "A": self.A, "b": self.b}
            found = {k: _moved(table[:, columns]) for k, table in tables.items()}
            self._moving[names] = columns, found
        columns, found = self._moving[names]
        return columns, found


@dataclass(frozen=True)
class Varying:
    """One block of data over n contexts: mostly constant, some entries vary.

    Attributes
    ----------
    base : array of shape (entries,), the constant part
    where : which entries vary, shape (k,)
    values : what they are, shape (n, k)
    """

    base: Array
    where: Any
    values: Array

    def row(self, i: int) -> Array:
        """All entries at one context."""
        found = self.base.copy()
        found[self.where] = self.values[i]
        return found

    def at(self, rows: Any) -> Varying:
        """The entries at some of the contexts."""
        return replace(self, values=self.values[rows])

    @property
    def size(self) -> Array:
        """Largest size of a varying entry at each context, shape (n,)."""
        return np.asarray(np.max(np.abs(self.values), axis=1, initial=0.0))


@dataclass(frozen=True)
class ProgramData:
    """The data of n contexts: P is the same for all."""

    program: ConeProgram
    P: Any
    q: Varying
    A: Varying
    b: Varying

    def __len__(self) -> int:
        return len(self.A.values)

    def at(self, rows: Any) -> ProgramData:
        """The data of some of the contexts."""
        return replace(self, q=self.q.at(rows), A=self.A.at(rows), b=self.b.at(rows))

    def __abs__(self) -> ProgramData:
        """The same with the sizes of all entries of A."""
        A = self.A
        return replace(self, A=Varying(np.abs(A.base), A.where, np.abs(A.values)))

    @property
    def offsets(self) -> Any:
        """The constant of the objective, at each context or the same for all."""
        q = self.q
        if len(q.where) and q.where[-1] == len(q.base) - 1:
            return q.values[:, -1]
        return q.base[-1]

    @property
    def finite(self) -> Any:
        """Whether all numbers of a context are finite, shape (n,)."""
        blocks = (self.q, self.A, self.b)
        fixed = all(np.isfinite(block.base).all() for block in blocks)
        fixed = fixed and bool(np.isfinite(self.P.data).all())
        each = [np.isfinite(block.values).all(axis=1) for block in blocks]
        return np.all(each, axis=0) & fixed


def fill(program: ConeProgram, fixed: Array, contexts: dict[str, Array]) -> ProgramData:
    """The data at n contexts.

    Parameters
    ----------
    fixed : array of shape (slots + 1,)
        The slot vector; what it holds in slots that `contexts` names is ignored.
    contexts : slot name -> array of shape (n, size of the slot)
    """
    changing, moved = program.moving(tuple(contexts))
    given = list(contexts.values())
    theta = np.hstack(given) if given else np.zeros((1, 0))
    fixed = fixed.copy()
    fixed[changing] = 0.0
    return ProgramData(
        program,
        _quadratic(program, fixed),
        _varying(program.q, fixed, moved["q"], theta),
        _varying(program.A, fixed, moved["A"], theta),
        _varying(program.b, fixed, moved["b"], theta),
    )


def _moved(table: Any) -> tuple[Any, Any]:
    """The rows of a sparse table that have entries, and these rows."""
    table = sp.csr_array(table)
    where = np.flatnonzero(np.diff(table.indptr))
    return where, table[where]


def _varying(table: Any, fixed: Array, moved: Any, theta: Array) -> Varying:
    where, part = moved
    base = np.asarray(table @ fixed)
    # One sparse product for all contexts.
    values = base[where] + np.asarray((part @ theta.T).T)
    return Varying(base, where, np.ascontiguousarray(values))


def _quadratic(program: ConeProgram, fixed: Array) -> Any:
    """The upper triangle of P; entries are counted down the columns already."""
    width = program.width
    column, row = np.divmod(program.P_where, width)
    upper = row <= column
    entries = np.asarray(program.P @ fixed)[upper]
    ends = np.cumsum(np.bincount(column[upper], minlength=width))
    pattern = entries, row[upper], np.concatenate([[0], ends])
    return sp.csc_array(pattern, shape=(width, width))
