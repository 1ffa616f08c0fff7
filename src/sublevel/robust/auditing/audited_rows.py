"""The rows of a problem that an audit looks at, as arrays.

All uncertain rows, and those certain ones that tell what an uncertain auxiliary
variable is good for. Of  max(r @ x, 5) <= 9:  t >= r @ x,  t >= 5  and  t <= 9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..modelling.cone_form import ConeForm
from ..modelling.cone_program import ConeProgram, Uncompilable
from .auxiliary import defining_rows
from .row_check import FINAL, GOAL, RowCheck
from .units import Units


def audited_rows(
    problem: Any, program: ConeProgram, units: Units | None
) -> tuple[RowCheck, ...]:
    """Every row to look at, those that define auxiliary variables first."""
    ordinary = {p.id: f"ordinary.{k}" for k, p in enumerate(problem._ordinary)}
    frame = _Frame(problem, program, units, ordinary)
    found: list[RowCheck] = []
    for number, part in enumerate(problem._robust):
        name = number if number < problem._uncertain_parts else -1
        forms = {id(row.form): row.form for row in [*part.rows, *part.equalities]}
        for form in forms.values():
            found += _checks(frame, name, form, part)
    # A stable sort: within a form the order is already right.
    return tuple(sorted(found, key=lambda row: row.defines == FINAL))


@dataclass(frozen=True)
class _Frame:
    """Where things of the problem are in the program."""

    problem: Any
    program: ConeProgram
    units: Units | None
    ordinary: dict[int, str]

    def columns(self, form: ConeForm) -> Any:
        """Column of x for each column of a form; the goal stands for itself."""
        found = np.full(form.width - 1, GOAL)
        for variable, at in form.columns:
            if variable.id != self.problem._goal.id:
                # A variable that CVXPY left out has no part in any row.
                found[at] = self.program.variables.get(variable.id, 0)
        return found

    def certain(self, form: ConeForm, index: int) -> tuple[Any, Any, Any]:
        """A row without the outcome: (columns, slots, values) of its entries."""
        constant, terms = form.constant, form.ordinary(index)
        at = slice(*constant.indptr[[index, index + 1]])
        column, value = [constant.indices[at]], [constant.data[at]]
        slot = [np.full(len(value[0]), self.program.size - 1)]
        for parameter, term in terms:
            column.append(term.column)
            value.append(term.value)
            slot.append(self._start(parameter) + term.entry)
        return np.concatenate(column), np.concatenate(slot), np.concatenate(value)

    def unit(self, columns: Any, seen: list[Any], certain: Any) -> int:
        """Exponent of the outcomes' unit of a row, 0 where units are fixed.

        `seen` are the columns that outcomes multiply, `certain` those of the rest.
        """
        if self.units is None:
            return 0
        of = np.append(self.units.columns[columns], 0)
        of[:-1][columns == GOAL] = self.units.goal
        found = [*(1 + of[indices] for indices in seen), of[certain]]
        return int(np.concatenate(found)[0])

    def _start(self, parameter: Any) -> int:
        name = self.ordinary.get(parameter.id)
        if name not in self.program.slots:
            raise Uncompilable(
                f"the parameter {parameter.name()!r} was rewritten by CVXPY"
            )
        return int(self.program.slots[name].start)


def _checks(frame: _Frame, part: int, form: ConeForm, robust: Any) -> list[RowCheck]:
    """The rows of one form, in the order in which they can be evaluated."""
    rows = {row.index: row for row in robust.rows if row.form is form}
    equal = {row.index: row for row in robust.equalities if row.form is form}
    sets = defining_rows(form, rows)
    order = [*sets, *(i for i in [*rows, *equal] if i not in sets)]
    uncertain, columns = rows | equal, frame.columns(form)
    found = []
    for index in order:
        column = sets.get(index)
        defines = FINAL if column is None else int(columns[column])
        row = _check(frame, form, columns, index, uncertain.get(index))
        found.append(replace(row, part=part, equal=index in equal, defines=defines))
    return found


def _check(
    frame: _Frame, form: ConeForm, columns: Any, index: int, row: Any
) -> RowCheck:
    """A row by its number, and as an UncertainRow if the outcome enters."""
    keys = enumerate(frame.problem.uncertainty) if row is not None else ()
    numbers = {k: key for k, key in keys if key in row.slopes}
    slopes = {k: row.slope_matrix(key) for k, key in numbers.items()}
    column, slot, value = frame.certain(form, index)
    used = np.zeros(form.width, dtype=bool)
    for indices in (column, *(matrix.indices for matrix in slopes.values())):
        used[indices] = True
    used[-1] = True
    # Only columns that the row has to do with are kept, and the constant.
    place = np.cumsum(used) - 1
    width = int(place[-1]) + 1
    narrow = {k: _placed(matrix, place) for k, matrix in slopes.items()}
    where, shape = (place[column], slot), (width, frame.program.size)
    certain = sp.csr_array((value, where), shape=shape)
    columns = columns[used[:-1]]
    entries = {k: row.entries[key] for k, key in numbers.items()}
    seen = [matrix.indices for matrix in narrow.values()]
    unit = frame.unit(columns, seen, place[column])
    return RowCheck(-1, columns, certain, narrow, entries, unit=unit)


def _placed(matrix: Any, place: Any) -> Any:
    """A sparse matrix with its columns moved to other places."""
    moved = matrix.data, place[matrix.indices], matrix.indptr
    return sp.csr_array(moved, shape=(matrix.shape[0], int(place[-1]) + 1))
