"""From a robust problem to arrays: one cone program for every context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...errors import InvalidParameter
from ..auditing.audited_rows import audited_rows
from ..auditing.row_check import RowCheck
from ..auditing.units import Units, find_units
from ..modelling.canonical import cone_program
from ..modelling.cone_program import ConeProgram, Uncompilable
from ..modelling.counterpart import UncertainRow
from .slots import FixedSet, SlotSet


@dataclass(frozen=True)
class Compiled:
    """A robust problem as arrays: everything a worker needs.

    Attributes
    ----------
    program : the counterpart, its data affine in the slots
    rows : the uncertain rows, for the audit
    parts : number of uncertain constraints, the objective not counted
    regions : for each key, its set if that is a value, or None
    nonneg : for each key, which entries are known not to be negative
    units : how the program answers to a change of units, or None
    """

    program: ConeProgram
    rows: tuple[RowCheck, ...]
    parts: int
    regions: tuple[Any, ...]
    nonneg: tuple[Array, ...]
    units: Units | None = None


def compile_counterpart(problem: Any, forms: Sequence[FixedSet | SlotSet]) -> Compiled:
    """The compiled counterpart; Uncompilable where there is none for all contexts."""
    by_key = dict(zip(problem.uncertainty, forms, strict=True))
    counterpart = _counterpart(problem, lambda k, v, e: by_key[k].bound(v, e))
    program = cone_program(counterpart, _labels(problem, forms))
    _refuse_moving_curvature(program)
    units = find_units(program)
    fixed = [form.region if isinstance(form, FixedSet) else None for form in forms]
    nonneg = [
        form.nonneg if isinstance(form, SlotSet) else np.zeros(form.region.dim, bool)
        for form in forms
    ]
    return Compiled(
        program,
        audited_rows(problem, program, units),
        problem._uncertain_parts,
        tuple(fixed),
        tuple(nonneg),
        units,
    )


def _refuse_moving_curvature(program: ConeProgram) -> None:
    """The quadratic part is the same for all contexts of a chunk."""
    for name, slots in program.slots.items():
        if not name.startswith("ordinary.") and program.P[:, slots].nnz:
            raise Uncompilable("the quadratic part of the objective is uncertain")


def _counterpart(problem: Any, bound: Any) -> cp.Problem:
    """The robust counterpart.

    An uncertain objective of a single row is optimised as it is, without a variable
    for its worst case: that spares the solver a dense row.
    """
    goal, conditions = problem._bounded_goal(), problem._all_certain()
    alone = _lone_objective(problem)
    for row in problem._rows():
        if row is not alone:
            conditions += row.counterpart(bound)
    if alone is not None:
        bounds = [bound(k, v, alone.entries[k]) for k, v in alone.slopes.items()]
        loss = sum((b.value for b in bounds[1:]), bounds[0].value)
        if _says_more(alone, problem._goal):
            loss = loss - alone.form.certain(alone.index, leave_out=problem._goal)
        goal = type(goal)(loss if isinstance(goal, cp.Minimize) else -loss)
        conditions += [c for b in bounds for c in b.constraints]
    return cp.Problem(goal, conditions)


def _lone_objective(problem: Any) -> UncertainRow | None:
    """The only row that speaks of the objective's worst case, if it is the only one."""
    if not problem._has_uncertain_objective:
        return None
    part, goal = problem._robust[-1], problem._goal
    if len(part.rows) != 1 or part.equalities:
        return None
    if any(goal.id == v.id for other in part.certain for v in other.variables()):
        return None
    row: UncertainRow = part.rows[0]
    # The goal is bounded from one side, and the slopes do not depend on it.
    plain = all(goal.id != v.id for s in row.slopes.values() for v in s.variables())
    return row if plain and abs(_goal_coefficient(row, goal)) == 1.0 else None


def _goal_coefficient(row: UncertainRow, goal: Any) -> float:
    columns, values = _constant(row)
    return float(values[_is_goal(row, goal)[columns]].sum())


def _says_more(row: UncertainRow, goal: Any) -> bool:
    """Whether a row has a certain part besides the goal."""
    columns = _constant(row)[0]
    return bool(row.form.ordinary(row.index)) or not _is_goal(row, goal)[columns].all()


def _constant(row: UncertainRow) -> tuple[Any, Any]:
    """Columns and values of a row's constant part."""
    table = row.form.constant
    at = slice(*table.indptr[[row.index, row.index + 1]])
    return table.indices[at], table.data[at]


def _is_goal(row: UncertainRow, goal: Any) -> Any:
    found = np.zeros(row.form.width, dtype=bool)
    for variable, columns in row.form.columns:
        found[columns] = variable.id == goal.id
    return found


def ordinary_values(ordinary: Sequence[Any], compiled: Compiled) -> Array:
    """The slot vector with the present values of the ordinary parameters."""
    found = np.zeros(compiled.program.size)
    found[-1] = 1.0
    for number, parameter in enumerate(ordinary):
        if f"ordinary.{number}" not in compiled.program.slots:
            continue
        if parameter.value is None:
            raise InvalidParameter(
                f"The parameter {parameter.name()!r} must have a value before a "
                "decision can be made."
            )
        found[compiled.program.slots[f"ordinary.{number}"]] = np.ravel(
            parameter.value, order="F"
        )
    return found


def _labels(problem: Any, forms: Sequence[Any]) -> dict[int, str]:
    """Slots of sets keep their names; ordinary parameters are numbered."""
    slots = [form.parameters for form in forms if isinstance(form, SlotSet)]
    own = {p.id: p.name() for parts in slots for part in parts for p in part.values()}
    return own | {p.id: f"ordinary.{k}" for k, p in enumerate(problem._ordinary)}
