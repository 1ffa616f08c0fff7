"""Whether points and multipliers satisfy the conditions of optimality, row by row.

    A x + s = b,  s in K,      q + A' z = 0,  z in K*,      s' z = 0

Every condition is measured beside the terms it is the sum of, so that units do not
matter and no large number elsewhere lets a small one pass. This is for solutions that
are exact but for rounding; those of an interior point are measured in `optimality`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .program import ConeProgram, Indices, ProgramData, Rows, Varying, rows_of

#: Share of its own terms by which a condition may be missed.
ROUNDING = 1e-10


class Conditions:
    """The conditions of optimality of some contexts.

    Of programs without a quadratic objective, with linear and second-order cones only.

    Parameters
    ----------
    data : the data of all contexts; those of a block are looked at together
    """

    def __init__(self, data: ProgramData) -> None:
        program = data.program
        self._data, self._cones = data, program.cones
        self._products = _Products(program, data.A)
        self._priced = priced_rows(data)

    def hold(
        self, block: Rows, x: Array, z: Array
    ) -> tuple[npt.NDArray[np.bool_], Array, Array]:
        """Whether x with multipliers z is optimal, its value, and that of the dual.

        For a block of m contexts, each of shape (m,).

        Parameters
        ----------
        x : array of shape (nx, m)
        z : array of shape (rows, m)
        """
        # Beyond all numbers nothing holds: nan is never within a bound.
        with np.errstate(all="ignore"):
            return self._hold(block, x, z)

    def _hold(
        self, block: Rows, x: Array, z: Array
    ) -> tuple[npt.NDArray[np.bool_], Array, Array]:
        q, b = (_columns(part.at(block)) for part in (self._data.q, self._data.b))
        q, moving = q[:-1], np.ascontiguousarray(self._data.A.values[block].T)
        # Extremes instead of `all`: they are faster, and nan is never within them.
        residual, size = self._products.transposed(moving, z)
        residual += q
        size += np.abs(q)
        good = _excess(residual, size).max(axis=0) <= 0
        cost, price = q * x, b[self._priced] * z[self._priced]
        value, dual = cost.sum(axis=0), -price.sum(axis=0)
        terms = np.abs(cost, out=cost).sum(axis=0)
        terms += np.abs(price, out=price).sum(axis=0)
        good &= np.abs(value - dual) - ROUNDING * terms <= 0
        slack, size = self._products.times(moving, x)
        np.negative(slack, out=slack)
        slack[self._priced] += b[self._priced]
        size[self._priced] += np.abs(b[self._priced])
        start = 0
        for kind, number in self._cones:
            rows = slice(start, start + rows_of(kind, number))
            good &= _inside(kind, slack[rows], z[rows], size[rows])
            start = rows.stop
        return np.asarray(good), value, dual


def priced_rows(data: ProgramData) -> Indices:
    """Rows whose right-hand side is not 0 throughout: the others have no price."""
    priced = data.b.base != 0
    priced[data.b.where] = True
    return np.flatnonzero(priced)


def _inside(kind: str, slack: Array, z: Array, size: Array) -> npt.NDArray[np.bool_]:
    """Whether slacks are in a cone and multipliers in its dual; slacks are used up."""
    if kind == "zero":
        return np.asarray(_excess(slack, size).max(axis=0) <= 0)
    if kind == "nonneg":
        size *= ROUNDING
        size += slack
        return np.asarray((size.min(axis=0) >= 0) & (z.min(axis=0) >= 0))
    if kind != "soc":
        return np.zeros(slack.shape[1], dtype=bool)
    norm, of_z = _norm(slack[1:]), _norm(z[1:])
    within = norm - (slack[0] + ROUNDING * (size[0] + norm)) <= 0
    return np.asarray(within & (of_z - z[0] * (1 + ROUNDING) <= 0))


def _excess(miss: Array, size: Array) -> Array:
    """How far misses are beyond rounding; both arrays are used up."""
    np.abs(miss, out=miss)
    size *= ROUNDING
    miss -= size
    return miss


def _norm(rows: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", rows, rows)))


def _columns(block: Varying) -> Array:
    """All entries, contexts last: shape (entries, m), or (entries, 1)."""
    if not len(block.where):
        return block.base[:, None]
    columns = np.repeat(block.base[:, None], len(block.values), axis=1)
    columns[block.where] = block.values.T
    return columns


class _Products:
    """Products with A at every context, and with the sizes of its entries."""

    def __init__(self, program: ConeProgram, block: Varying) -> None:
        fixed = block.base.copy()
        fixed[block.where] = 0.0
        steady = np.flatnonzero(fixed)
        self._shape = program.height, program.width
        self._fixed = fixed[steady][:, None]
        # Columns and rows of entries that are the same throughout, and of others.
        self._places = [
            (program.columns[entries], program.indices[entries])
            for entries in (steady, block.where)
        ]
        self._down = [_Scatter(columns, rows) for columns, rows in self._places]
        self._across = [_Scatter(rows, columns) for columns, rows in self._places]

    def times(self, moving: Array, x: Array) -> tuple[Array, Array]:
        """A x, and |A| |x|, shape (rows, m)."""
        return self._both(self._shape[0], self._down, moving, x)

    def transposed(self, moving: Array, z: Array) -> tuple[Array, Array]:
        """A' z, and |A|' |z|, shape (nx, m)."""
        return self._both(self._shape[1], self._across, moving, z)

    def _both(
        self, rows: int, scatters: list[_Scatter], moving: Array, given: Array
    ) -> tuple[Array, Array]:
        product, size = np.zeros((2, rows, given.shape[1]))
        for scatter, values in zip(scatters, (self._fixed, moving), strict=True):
            if len(scatter.to):
                terms = given[scatter.taken]
                terms *= values
                scatter.add(product, terms)
                scatter.add(size, np.abs(terms, out=terms))
        return product, size


class _Scatter:
    """Where entries that vary take from, and where they are added to."""

    def __init__(self, taken: Indices, to: Indices) -> None:
        self.taken, self.to = taken, to
        self._order = np.argsort(to, kind="stable")
        self._hit, self._first = np.unique(to[self._order], return_index=True)

    def add(self, product: Array, terms: Array) -> None:
        """Add terms, one a row, to the rows of a product."""
        if len(self._hit) == len(self.to):
            product[self.to] += terms
        else:
            added = np.add.reduceat(terms[self._order], self._first, axis=0)
            product[self._hit] += added
