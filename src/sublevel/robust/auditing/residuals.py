"""How far solutions are from the cones of their program: no solver is believed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import Array
from ..modelling.cone_program import ProgramData, Varying, rows_of


def residuals(data: ProgramData, x: Array, tolerance: float) -> Array:
    """Largest violation of any row at each context, relative, shape (n,).

    Relative to the size of the slack and, where that is not enough to stay within
    tolerance, to the sizes of the terms it is the difference of.
    """
    slack = _rows(data.b) - _products(data, x)
    found = _violations(data.program.cones, slack, np.abs(slack))
    far = np.flatnonzero(~(found <= tolerance))
    if far.size:
        found[far] = _violations(
            data.program.cones, slack[far], _terms(data.at(far), x[far])
        )
    return found


def _violations(cones: Any, slack: Array, size: Array) -> Array:
    found, start = np.zeros(len(slack)), 0
    for kind, extent in cones:
        rows = slice(start, start + rows_of(kind, extent))
        distance = _distance(kind, extent, slack[:, rows], size[:, rows])
        found = np.maximum(found, distance)
        start = rows.stop
    return found


def _distance(kind: str, extent: float, part: Array, size: Array) -> Array:
    """Relative distance from a cone, or from the worst of its rows: shape (n,)."""
    if kind == "zero":
        return np.asarray(np.max(np.abs(part) / (1 + size), axis=1))
    if kind == "nonneg":
        return np.asarray(np.max(np.maximum(-part, 0.0) / (1 + size), axis=1))
    outside = np.maximum(_outside(kind, extent, part), 0.0)
    return np.asarray(outside / (1 + np.max(size, axis=1)))


def _outside(kind: str, extent: float, part: Array) -> Array:
    """Distance from a curved cone, or less than 0 inside: shape (n,)."""
    if kind == "soc":
        return np.asarray(np.linalg.norm(part[:, 1:], axis=1) - part[:, 0])
    if kind == "psd":
        return _semidefinite(part, int(extent))
    x, y, z = part.T
    return _exponential(x, y, z) if kind == "exp" else _power(x, y, z, extent)


def _semidefinite(part: Array, side: int) -> Array:
    """Minus the least eigenvalue; off-diagonals come times the square root of 2."""
    column, row = np.tril_indices(side)
    matrix = np.zeros((len(part), side, side))
    matrix[:, row, column] = part / np.where(row == column, 1.0, np.sqrt(2))
    return -np.asarray(np.linalg.eigvalsh(matrix, UPLO="U")[:, 0])


def _exponential(x: Array, y: Array, z: Array) -> Array:
    """How far from y exp(x / y) <= z: what z lacks, or x has too much."""
    inside = (y > 0) & (z > 0)
    level, top = np.where(inside, y, 1.0), np.where(inside, z, 1.0)
    with np.errstate(over="ignore"):
        short = level * np.exp(np.minimum(x / level, 700.0)) - top
    long = x - level * np.log(top / level)
    # On the face y = 0 the cone asks for x <= 0 <= z.
    face = np.maximum(np.maximum(x, -y), -z)
    return np.where(inside, np.minimum(short, long), face)


def _power(x: Array, y: Array, z: Array, exponent: float) -> Array:
    """How far from x^a y^(1 - a) >= |z|: what z has too much, or x or y lacks."""
    a, b, size = exponent, 1 - exponent, np.abs(z)
    one, two = np.maximum(x, 0.0), np.maximum(y, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lacks = [
            size - one**a * two**b,
            (size / two**b) ** (1 / a) - one,
            (size / one**a) ** (1 / b) - two,
        ]
    least = np.asarray(np.fmin.reduce(lacks))
    return np.asarray(np.maximum(np.maximum(-x, -y), least))


def _rows(block: Varying) -> Array:
    found = np.tile(block.base, (len(block.values), 1))
    found[:, block.where] = block.values
    return found


def _products(data: ProgramData, x: Array) -> Array:
    """A x at each context: the constant part, then the entries that vary."""
    program, block = data.program, data.A
    constant = block.base.copy()
    constant[block.where] = 0.0
    found = np.ascontiguousarray((program.matrix(constant) @ x.T).T)
    columns = np.repeat(np.arange(program.width), np.diff(program.indptr))
    terms = block.values * x[:, columns[block.where]]
    rows = program.indices[block.where]
    order = np.argsort(rows, kind="stable")
    if len(order):
        hit, first = np.unique(rows[order], return_index=True)
        found[:, hit] += np.add.reduceat(terms[:, order], first, axis=1)
    return found


def _terms(data: ProgramData, x: Array) -> Array:
    """|b| + |A| |x|: the sizes of what each row adds up."""
    return np.abs(_rows(data.b)) + _products(abs(data), np.abs(x))
