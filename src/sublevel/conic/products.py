"""Products with the matrices of a program, at all contexts at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..checks import Array
from .program import ProgramData


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
    product = np.ascontiguousarray((program.by_rows(constant) @ x.T).T)
    if len(block.where):
        terms = block.values * x[:, program.columns[block.where]]
        rows = program.indices[block.where]
        order = np.argsort(rows, kind="stable")
        hit, first = np.unique(rows[order], return_index=True)
        product[:, hit] += np.add.reduceat(terms[:, order], first, axis=1)
    return product


def sizes(data: ProgramData) -> ProgramData:
    """The program with the sizes of its entries in A and P."""
    A, P = (
        replace(block, base=np.abs(block.base), values=np.abs(block.values))
        for block in (data.A, data.P)
    )
    return replace(data, A=A, P=P)
