"""The units of a cone program: how its solution answers to a change of units.

Returns in percent or in basis points make the same portfolio. Where outcomes enter a
program so that a change of their unit only rescales rows, columns and objective, every
context can be solved in a unit in which its numbers are near one. A solver's tolerances
are absolute, and a live solver keeps the scaling of its first context, so contexts of
very different size would lose digits otherwise.

With outcomes measured in c, a slot that is c times larger has exponent 1. Row i and
column j have exponents such that every entry adds up,

    row_i = exponent(A_ij) + column_j = exponent(b_i),
    goal = exponent(q_j) + column_j,

if such exponents exist; all rows of a curved cone share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...checks import Array
from ..modelling.cone_program import ConeProgram, rows_of

#: Slots in the unit of the outcome. That of a budget depends on the loss.
OUTCOME = ("location", "scale", "reach", "radius")
#: Most steps from one known exponent to the next.
MOST_SWEEPS = 300


@dataclass(frozen=True)
class Units:
    """Exponents of the outcomes' unit.

    Attributes
    ----------
    columns : of each variable, shape (nx,)
    goal : of the objective
    slots : name of a slot of a set -> exponent
    """

    columns: Any
    goal: int
    slots: dict[str, int]

    def scale(self, contexts: dict[str, Array]) -> Array:
        """The unit in which each context's largest number is near one, shape (n,).

        Powers of two, so that changing units rounds nothing.
        """
        largest = np.zeros(len(next(iter(contexts.values()))))
        for name, values in contexts.items():
            if self.slots[name] == 1:
                size = np.max(np.abs(values), axis=1, initial=0.0)
                largest = np.maximum(largest, size)
        usable = (largest > 0) & np.isfinite(largest)
        exponent = np.round(np.log2(np.where(usable, largest, 1.0)))
        # Squares of the unit must stay representable.
        return np.asarray(np.exp2(np.clip(exponent, -250, 250)))

    def measured(self, contexts: dict[str, Array], scale: Array) -> dict[str, Array]:
        """The slots in units of `scale`."""
        return {
            name: values / scale[:, None] ** self.slots[name]
            for name, values in contexts.items()
        }


def find_units(program: ConeProgram) -> Units | None:
    """The exponents of a program, or None if its own constants fix the units."""
    own = [name for name in program.slots if not name.startswith("ordinary.")]
    budgets = any(_last(name) == "budget" for name in own)
    for budget in (1, 0, 2) if budgets else (1,):
        slots = {name: 1 if _last(name) in OUTCOME else budget for name in own}
        found = _solve(program, slots)
        if found is not None:
            return Units(found[: program.width], int(found[program.width]), slots)
    return None


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _solve(program: ConeProgram, slots: dict[str, int]) -> Any:
    """Exponents of the columns and of the objective, or None."""
    exponents = np.zeros(program.size, dtype=int)
    for name, exponent in slots.items():
        exponents[program.slots[name]] = exponent
    tables = (program.A, program.b, program.q, program.P)
    found = [_uniform(table, exponents) for table in tables]
    if any(each is None for each in found):
        return None
    left, right, by = _equations(program, *found[:3])
    known = _propagate(left, right, by, program.width + 1)
    if known is None or (known[left] != known[right] + by).any():
        return None
    return known if _quadratic_agrees(program, known, found[3]) else None


def _uniform(table: Any, exponents: Any) -> Any:
    """(entries that are not zero, their exponent), or None if one mixes units."""
    table = sp.csr_array(table)
    table.sum_duplicates()
    full = np.flatnonzero(np.diff(table.indptr))
    if not full.size:
        return full, np.zeros(0, dtype=int)
    of_slot, start = exponents[table.indices], table.indptr[full]
    low = np.minimum.reduceat(of_slot, start)
    high = np.maximum.reduceat(of_slot, start)
    return (full, low) if (low == high).all() else None


def _equations(program: ConeProgram, A: Any, b: Any, q: Any) -> tuple[Any, Any, Any]:
    """Arrays of equations: known[left] = known[right] + by.

    Nodes are the columns, the objective, the unit one, then the groups of rows.
    """
    nx = program.width
    goal, one, first = nx, nx + 1, nx + 2
    group = first + _groups(program.cones)
    column = np.repeat(np.arange(nx), np.diff(program.indptr))
    where, by = zip(A, b, q, strict=True)
    constant = where[2] == nx
    left = [group[program.indices[where[0]]], group[where[1]], np.full(len(q[0]), goal)]
    right = [
        column[where[0]],
        np.full(len(b[0]), one),
        np.where(constant, one, where[2]),
    ]
    return np.concatenate(left), np.concatenate(right), np.concatenate(by)


def _groups(cones: Any) -> Any:
    """Number of the group of each row: a curved cone is one group."""
    found, last = [], 0
    for kind, size in cones:
        rows = rows_of(kind, size)
        apart = kind in ("zero", "nonneg")
        found.append(last + (np.arange(rows) if apart else np.zeros(rows, dtype=int)))
        last += rows if apart else 1
    return np.concatenate(found) if found else np.zeros(0, dtype=int)


def _propagate(left: Any, right: Any, by: Any, one: int) -> Any:
    """A solution of the equations, if there is any: from known nodes outwards."""
    count = 1 + max(one, left.max(initial=0), right.max(initial=0))
    edges = sp.coo_array((np.ones(len(left)), (left, right)), shape=(count, count))
    _, label = connected_components(edges, directed=False)
    # What no constant reaches can have any unit; one node of each part is set.
    value, known = np.zeros(count, dtype=int), np.zeros(count, dtype=bool)
    known[np.unique(label, return_index=True)[1]] = True
    for _ in range(MOST_SWEEPS):
        forth = known[right] & ~known[left]
        back = known[left] & ~known[right]
        if not forth.any() and not back.any():
            return np.where(label == label[one], value - value[one], value)
        value[left[forth]] = value[right[forth]] + by[forth]
        value[right[back]] = value[left[back]] - by[back]
        known[left[forth]] = known[right[back]] = True
    return None


def _quadratic_agrees(program: ConeProgram, known: Any, P: Any) -> bool:
    where, by = P
    column, row = np.divmod(program.P_where[where], program.width)
    return bool((known[program.width] == known[row] + known[column] + by).all())
