"""How far solutions are from the cones of their program: no solver is believed."""

from __future__ import annotations

import numpy as np

from ..checks import Array
from .cone_program import ProgramData, Varying


def residuals(data: ProgramData, x: Array) -> Array:
    """Largest violation of any row at each context, relative, shape (n,).

    Zero, nonnegative, second-order and exponential cones are looked at.
    """
    slack = _rows(data.b) - _products(data, x)
    found, start = np.zeros(len(x)), 0
    for kind, size in data.program.cones:
        rows = _rows_of(kind, size)
        part = slack[:, start : start + rows]
        found = np.maximum(found, _distance(kind, part) / _sizes(part))
        start += rows
    return found


def _rows(block: Varying) -> Array:
    found = np.tile(block.base, (len(block.values), 1))
    found[:, block.where] = block.values
    return found


def _products(data: ProgramData, x: Array) -> Array:
    """A x at each context: the constant part, then the entries that vary."""
    program, block = data.program, data.A
    constant = block.base.copy()
    constant[block.where] = 0.0
    found = np.asarray((program.matrix(constant) @ x.T).T)
    columns = np.repeat(np.arange(program.width), np.diff(program.indptr))
    terms = block.values * x[:, columns[block.where]]
    rows = program.indices[block.where]
    order = np.argsort(rows, kind="stable")
    if len(order):
        hit, first = np.unique(rows[order], return_index=True)
        found[:, hit] += np.add.reduceat(terms[:, order], first, axis=1)
    return found


def _rows_of(kind: str, size: float) -> int:
    if kind == "psd":
        return int(size * (size + 1) // 2)
    return 3 if kind == "power" else int(size)


def _sizes(part: Array) -> Array:
    return np.asarray(1 + np.max(np.abs(part), axis=1))


def _distance(kind: str, part: Array) -> Array:
    if kind == "zero":
        return np.asarray(np.max(np.abs(part), axis=1))
    if kind == "nonneg":
        return np.asarray(np.max(np.maximum(-part, 0.0), axis=1))
    if kind == "soc":
        return np.maximum(np.linalg.norm(part[:, 1:], axis=1) - part[:, 0], 0.0)
    if kind == "exp":
        return _exponential(*part.T)
    return np.zeros(len(part))


def _exponential(x: Array, y: Array, z: Array) -> Array:
    """How far z is below y exp(x / y); on the cone's face y = 0, how far from it."""
    inside = y > 1e-9
    level = np.where(inside, y, 1.0)
    with np.errstate(over="ignore"):
        short = level * np.exp(np.minimum(x / level, 700.0)) - z
    face = np.maximum.reduce([x, -y, -z, np.zeros_like(x)])
    return np.where(inside, np.maximum(short, 0.0), face)
