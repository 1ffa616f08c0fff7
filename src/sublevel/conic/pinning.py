"""Columns whose value is settled before anything is solved.

A variable between equal bounds, or an integer that was branched on, is a number. Left
to a solver it would be that number up to its tolerance, and a large coefficient (the M
of `M * (1 - z)`) would make a loose constraint of what should be a tight one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..deferred import sp
from .program import ConeProgram, Indices, rows_of


@dataclass(frozen=True)
class Pins:
    """Columns and the values they are pinned to."""

    columns: Indices
    values: Array


def pinned(program: ConeProgram) -> Pins:
    """Columns that rows of one entry leave no choice.

    Only rows whose numbers are the same at every context and at any value of the
    ordinary parameters count.
    """
    lower, upper = np.full(program.width, -np.inf), np.full(program.width, np.inf)
    single = np.bincount(program.indices, minlength=program.height) == 1
    entries = np.flatnonzero(single[program.indices])
    row, column = program.indices[entries], program.columns[entries]
    kind = np.repeat(
        [k for k, _ in program.cones], [rows_of(k, s) for k, s in program.cones]
    )
    slope, fixed_slope = constants(program.A)
    right, fixed_right = constants(program.b)
    use = fixed_slope[entries] & fixed_right[row] & (slope[entries] != 0)
    use &= np.isin(kind[row], ("zero", "nonneg"))
    row, column, slope = row[use], column[use], slope[entries][use]
    ends, equal = right[row] / slope, kind[row] == "zero"
    low, high = equal | (slope < 0), equal | (slope > 0)
    np.maximum.at(lower, column[low], ends[low])
    np.minimum.at(upper, column[high], ends[high])
    columns = np.flatnonzero(np.isfinite(lower) & (lower == upper))
    return Pins(columns, lower[columns])


def without(program: ConeProgram, pins: Pins) -> ConeProgram:
    """The program of the other columns."""
    if not pins.columns.size:
        return program
    keep = np.ones(program.width, dtype=bool)
    keep[pins.columns] = False
    values = np.zeros(program.width)
    values[pins.columns] = pins.values
    number = np.cumsum(keep) - 1
    entry_columns = program.columns
    kept = keep[entry_columns]
    counts = np.bincount(number[entry_columns[kept]], minlength=int(keep.sum()))
    q, P_where, P = _objective(program, keep, values, number)
    return replace(
        program,
        indices=program.indices[kept],
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        P_where=P_where,
        P=P,
        q=q,
        A=program.A[np.flatnonzero(kept)],
        b=_right(program, values),
        variables={i: m[:, np.flatnonzero(keep)] for i, m in program.variables.items()},
    )


def constants(table: sp.csr_array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The constant part of a table's rows, and whether that is all there is of them."""
    last = table.shape[1] - 1
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    constant = table.indices == last
    values = np.bincount(rows[constant], table.data[constant], table.shape[0])
    moved = np.bincount(rows[~constant], minlength=table.shape[0])
    return np.asarray(values), np.asarray(moved == 0)


def _right(program: ConeProgram, values: Array) -> sp.csr_array:
    """B less what the pinned columns take."""
    weights = values[program.columns]
    at = np.flatnonzero(weights)
    shape = (program.height, len(program.indices))
    take = sp.csr_array((weights[at], (program.indices[at], at)), shape=shape)
    return sp.csr_array(program.b - take @ program.A)


def _objective(
    program: ConeProgram, keep: npt.NDArray[np.bool_], values: Array, number: Indices
) -> tuple[sp.csr_array, Indices, sp.csr_array]:
    """Q with its offset, and P, of the columns kept."""
    width = program.width
    column, row = np.divmod(program.P_where, width)
    moved = sp.csr_array(program.q)
    entries = np.arange(len(column))
    # x' P x / 2: a pinned entry's row becomes linear in the others, or constant.
    half = values[column] * np.where(keep[row], 1.0, values[row] / 2)
    target = np.where(keep[row], row, width)
    take = ~keep[column] & (half != 0)
    if take.any():
        shape = (width + 1, len(entries))
        lift = sp.csr_array((half[take], (target[take], entries[take])), shape=shape)
        moved = moved + lift @ program.P
    offset = moved[[width]]
    priced = np.flatnonzero(values)
    if priced.size:
        costs = sp.csr_array(values[None, priced])
        offset = offset + costs @ program.q[priced]
    kept_rows = np.flatnonzero(keep)
    both = keep[row] & keep[column]
    where = number[column[both]] * len(kept_rows) + number[row[both]]
    new_q = sp.csr_array(sp.vstack([moved[kept_rows], offset]))
    return new_q, where, program.P[np.flatnonzero(both)]
