"""From a robust problem to arrays: one cone program for every context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..errors import InvalidParameter
from .canonical import cone_program
from .cone_program import ConeProgram
from .counterpart import UncertainRow
from .row_check import GOAL, RowCheck
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
    """

    program: ConeProgram
    rows: tuple[RowCheck, ...]
    parts: int
    regions: tuple[Any, ...]
    nonneg: tuple[Array, ...]


def compile_counterpart(
    problem: Any, forms: Sequence[FixedSet | SlotSet]
) -> Compiled | None:
    """The compiled counterpart; None where a variable has no columns of its own."""
    keys = list(problem.uncertainty)
    by_key = dict(zip(keys, forms, strict=True))
    counterpart = _counterpart(problem, lambda k, v, e: by_key[k].bound(v, e))
    program = cone_program(counterpart, _labels(problem, forms))
    if program is None:
        return None
    parts = problem._uncertain_parts
    rows = tuple(
        _row_check(row, number if number < parts else -1, keys, program)
        for number, part in enumerate(problem._robust)
        for row in part.rows
    )
    fixed = [form.region if isinstance(form, FixedSet) else None for form in forms]
    nonneg = [
        form.nonneg if isinstance(form, SlotSet) else np.zeros(form.region.dim, bool)
        for form in forms
    ]
    return Compiled(program, rows, parts, tuple(fixed), tuple(nonneg))


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
        total = sum((b.value for b in bounds[1:]), bounds[0].value)
        loss = total - alone.form.certain(alone.index, leave_out=problem._goal)
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
    for variable, columns in row.form.columns:
        if variable.id == goal.id:
            return float(row.form.constant[[row.index]][:, columns].sum())
    return 0.0


def ordinary_values(problem: Any, compiled: Compiled) -> Array:
    """The slot vector with the ordinary parameters' present values."""
    found = np.zeros(compiled.program.size)
    found[-1] = 1.0
    for number, parameter in enumerate(problem._ordinary):
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


def refreshed(problem: Any, compiled: Compiled) -> Compiled:
    """The same with rows at the ordinary parameters' present values."""
    if not problem._ordinary:
        return compiled
    pairs = zip(problem._rows(), compiled.rows, strict=True)
    return replace(
        compiled,
        rows=tuple(replace(check, certain=_certain(row)) for row, check in pairs),
    )


def _labels(problem: Any, forms: Sequence[Any]) -> dict[int, str]:
    """Slots of sets keep their names; ordinary parameters are numbered."""
    slots = [form.parameters for form in forms if isinstance(form, SlotSet)]
    own = {p.id: p.name() for parts in slots for part in parts for p in part.values()}
    return own | {p.id: f"ordinary.{k}" for k, p in enumerate(problem._ordinary)}


def _row_check(
    row: UncertainRow, part: int, keys: list[Any], program: ConeProgram
) -> RowCheck:
    columns = [
        program.variables.get(variable.id, np.full(variable.size, GOAL))
        for variable, _ in row.form.columns
    ]
    return RowCheck(
        part,
        np.concatenate(columns),
        _certain(row),
        {keys.index(key): row.slope_matrix(key) for key in row.slopes},
        {keys.index(key): entries for key, entries in row.entries.items()},
    )


def _certain(row: UncertainRow) -> Array:
    return np.asarray(row.form.certain_matrix(row.index).toarray()[0], dtype=float)
