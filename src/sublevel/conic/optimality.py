"""Whether a solution is optimal, by its multipliers: a solver's word is not enough.

    minimise x' P x / 2 + q' x  subject to  A x + s = b, s in K

has, for multipliers z in K*, no value below  -x' P x / 2 - b' z + r' x*  with the
residual r = P x + q + A' z of the dual and an optimum x*. Solvers measure r against the
largest number in sight, so in a badly scaled program a large residual of one column can
pass. Here it is measured by what it may be worth: |r|' |x| beside the objective's own
terms.
"""

from __future__ import annotations

import numpy as np

from ..checks import Array
from .program import ProgramData

#: Relative error of the objective at which a solution is as good as optimal, that up to
#: which it may pass for it where no better one is to be had, and the least size of an
#: objective in the units that a solver sees.
GOOD, PASSABLE, LEAST = 1e-7, 1e-5, 1e-4


def relative_error(
    data: ProgramData, x: Array, z: Array, least: float = LEAST
) -> Array:
    """How far each solution may be from the best, by its multipliers, shape (n,).

    Parameters
    ----------
    x : array of shape (n, nx)
    z : array of shape (n, rows)
    least : float
        Least size of an objective, where the numbers are near one; 0 where they are
        not, and an objective may be as small as it likes.
    """
    curved = quadratic(data, x)
    q, b = data.q.rows()[:, :-1], data.b.rows()
    residual = curved + q + transposed(data, z)
    cost, price = q * x, b * z
    gap = np.sum(curved * x, axis=1) + cost.sum(axis=1) + price.sum(axis=1)
    error = np.abs(gap) + np.sum(np.abs(residual * x), axis=1)
    size = np.maximum(np.abs(cost).sum(axis=1), np.abs(price).sum(axis=1))
    size = np.maximum(size, np.abs(np.sum(curved * x, axis=1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(error / np.maximum(size, least))


def quadratic(data: ProgramData, x: Array) -> Array:
    """P x at each context, from the upper triangle of P."""
    product = np.zeros_like(x)
    values = data.P.rows()
    if not values.shape[1]:
        return product
    _, row, indptr = data.program.quadratic_pattern
    column = np.repeat(np.arange(data.program.width), np.diff(indptr))
    for k, (i, j) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
        product[:, i] += values[:, k] * x[:, j]
        if i != j:
            product[:, j] += values[:, k] * x[:, i]
    return product


def transposed(data: ProgramData, z: Array) -> Array:
    """A' z at each context: the constant part, then the entries that vary."""
    program, block = data.program, data.A
    constant = block.base.copy()
    constant[block.where] = 0.0
    product = np.ascontiguousarray((program.transposed(constant) @ z.T).T)
    if len(block.where):
        terms = block.values * z[:, program.indices[block.where]]
        columns = program.columns[block.where]
        hit, first = np.unique(columns, return_index=True)
        product[:, hit] += np.add.reduceat(terms, first, axis=1)
    return product


def times(data: ProgramData, x: Array) -> Array:
    """A x at each context: the constant part, then the entries that vary."""
    program, block = data.program, data.A
    constant = block.base.copy()
    constant[block.where] = 0.0
    product = np.ascontiguousarray((program.matrix(constant) @ x.T).T)
    if len(block.where):
        terms = block.values * x[:, program.columns[block.where]]
        rows = program.indices[block.where]
        order = np.argsort(rows, kind="stable")
        hit, first = np.unique(rows[order], return_index=True)
        product[:, hit] += np.add.reduceat(terms[:, order], first, axis=1)
    return product
