"""From a robust model to arrays: one cone program for every context, and its judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...checks import Array
from ...conic.canonical import cone_program
from ...conic.layout import layout_of
from ...conic.pinning import Pins, pinned, without
from ...conic.program import ConeProgram, Indices, Uncompilable
from ...conic.substitution import substituted_problem
from ...epigraph import Epigraph
from ...sets import UncertaintySet
from ..judge.ruler import Ruler
from ..model.products import present_value
from ..model.robust_model import RobustModel
from ..model.rows import UncertainRow
from ..model.uncertain import Key, key_signs
from ..model.variable_bounds import declared_bounds, integer_entries
from .arrays import NO_COLUMNS, Compiled
from .slot_values import end_slot
from .slots import FixedSet, SlotSet


def compile_counterpart(
    model: RobustModel,
    ruler: Ruler,
    forms: Mapping[Key, FixedSet | SlotSet],
    frozen: bool = False,
    branched: bool = False,
) -> Compiled:
    """The compiled counterpart; Uncompilable where there is none for all contexts.

    Parameters
    ----------
    forms : how the set of each key enters, lifted ones included
    frozen : whether ordinary parameters are taken at their present values
    branched : whether integers are to be branched on: the objective is then linear, and
        curved parts are cones
    """
    problem = counterpart(model, forms)
    if frozen:
        values = {p.id: present_value(p) for p in model.ordinary}
        problem = substituted_problem(problem, values)
    if model.ends and not problem.is_dcp(dpp=True):
        raise Uncompilable(
            "a curve of the outcome's ends is no affine function of them"
        )
    written, plain = _without_integers(problem)
    own = [forms[key] for key in model.keys]
    labels = _labels(model, own)
    program = cone_program(written, labels, quadratic=not branched)
    refuse_moving_curvature(program)
    pins = pinned(program)
    integer = NO_COLUMNS
    if branched:
        integer = _integer_columns(problem, program, plain, pins)
    return compiled_program(
        program,
        pins,
        ruler,
        [(plain.get(v.id, v.id), v.size) for v in model.variables],
        tuple(f.region if isinstance(f, FixedSet) else None for f in own),
        tuple(
            f.nonneg if isinstance(f, SlotSet) else key_signs(key)
            for key, f in zip(model.keys, own, strict=True)
        ),
        [name for name in labels.values() if not name.startswith("ordinary.")],
        [p.size for p in model.ordinary],
        integer,
    )


def compiled_program(
    program: ConeProgram,
    pins: Pins,
    ruler: Ruler,
    variables: Sequence[tuple[int, int]],
    regions: tuple[UncertaintySet | None, ...],
    nonneg: tuple[npt.NDArray[np.bool_], ...],
    slots: Sequence[str],
    ordinary: Sequence[int],
    integer: Indices = NO_COLUMNS,
) -> Compiled:
    """A cone program with its judge, without the columns whose value is settled.

    Parameters
    ----------
    pins : these columns
    variables : number and size of each of the user's variables, in the judge's order
    regions, nonneg : as for `Compiled`
    slots : names of those that differ between contexts, as they will be given
    ordinary : sizes of the ordinary parameters
    integer : integer columns, of those that are kept
    """
    parts = [
        program.variables[number]
        if number in program.variables
        else sp.csr_array((size, program.width))
        for number, size in variables
    ]
    outputs = sp.csr_array(sp.vstack(parts))
    offset = np.asarray(outputs[:, pins.columns] @ pins.values)
    keep = np.setdiff1d(np.arange(program.width), pins.columns)
    program = without(program, pins)
    # What all contexts share is worked out before the first of them.
    program.moving(tuple(name for name in slots if name in program.slots))
    layout_of(program)
    return Compiled(
        program,
        ruler,
        sp.csr_array(outputs[:, keep]),
        offset,
        regions,
        nonneg,
        _ordinary(ordinary, program),
        integer,
    )


def with_integers(compiled: Compiled, whole: Array) -> Compiled:
    """The program of the other columns, with integers at given values.

    Parameters
    ----------
    whole : whole numbers, one for each of `compiled.integer`
    """
    columns = compiled.integer
    keep = np.setdiff1d(np.arange(compiled.program.width), columns)
    settled = np.asarray(compiled.outputs[:, columns] @ whole)
    return replace(
        compiled,
        program=without(compiled.program, Pins(columns, whole)),
        outputs=sp.csr_array(compiled.outputs[:, keep]),
        offset=compiled.offset + settled,
        integer=NO_COLUMNS,
    )


def _ordinary(
    sizes: Sequence[int], program: ConeProgram
) -> tuple[tuple[slice, int], ...]:
    """Slots of the ordinary parameters, and where their values start."""
    ends = np.cumsum([0, *sizes]).tolist()
    named = [(f"ordinary.{number}", start) for number, start in enumerate(ends[:-1])]
    return tuple((program.slots[n], at) for n, at in named if n in program.slots)


def _integer_columns(
    problem: cp.Problem, program: ConeProgram, plain: dict[int, int], pins: Pins
) -> Indices:
    """Which of the columns that are kept are integer."""
    keep = np.setdiff1d(np.arange(program.width), pins.columns)
    columns = [NO_COLUMNS]
    for variable in problem.variables():
        if variable.id in plain:
            part = program.variables[plain[variable.id]]
            columns.append(part[integer_entries(variable)].indices)
    return np.flatnonzero(np.isin(keep, np.concatenate(columns)))


def refuse_moving_curvature(program: ConeProgram) -> None:
    """A quadratic part that moves with the context may cease to be convex."""
    if not program.P.nnz:
        return
    for name, slots in program.slots.items():
        if not name.startswith("ordinary.") and program.P[:, slots].nnz:
            raise Uncompilable("the quadratic part of the objective is uncertain")


def counterpart(
    model: RobustModel, forms: Mapping[Key, FixedSet | SlotSet]
) -> cp.Problem:
    """The robust counterpart.

    An uncertain objective of a single row is optimised as it is, without a variable
    for its worst case: that spares the solver a dense row.
    """

    def bound(key: Key, direction: cp.Expression, entries: Indices) -> Epigraph:
        return forms[key].bound(direction, entries)

    sets = {k: f.region for k, f in forms.items() if isinstance(f, FixedSet)}
    goal, conditions = model.bounded_goal(), model.all_certain(sets)
    alone = _lone_objective(model)
    for row in model.rows:
        if row is not alone:
            conditions += row.counterpart(bound)
    if alone is not None:
        bounds = [bound(k, v, alone.entries[k]) for k, v in alone.slopes.items()]
        loss = sum((b.value for b in bounds[1:]), bounds[0].value)
        if _has_certain_part(alone, model.goal):
            loss = loss - alone.form.certain(alone.index, leave_out=model.goal)
        goal = type(goal)(loss if isinstance(goal, cp.Minimize) else -loss)
        conditions += [c for b in bounds for c in b.constraints]
    return cp.Problem(goal, conditions)


def _without_integers(problem: cp.Problem) -> tuple[cp.Problem, dict[int, int]]:
    """The problem with plain variables for integer ones, and their new ids."""
    plain = {}
    for v in problem.variables():
        if v.attributes["boolean"] or v.attributes["integer"]:
            ends = [e.reshape(v.shape, order="F") for e in declared_bounds(v)]
            plain[v.id] = cp.Variable(v.shape, bounds=ends)
    if not plain:
        return problem, {}
    relaxed = substituted_problem(problem, plain)
    return relaxed, {old: new.id for old, new in plain.items()}


def _lone_objective(model: RobustModel) -> UncertainRow | None:
    """The only row that speaks of the objective's worst case, if it is the only one."""
    if not model.has_uncertain_objective:
        return None
    part, goal = model.robust[-1], model.goal
    if len(part.rows) != 1 or part.equalities:
        return None
    if any(goal.id == v.id for other in part.certain for v in other.variables()):
        return None
    row = part.rows[0]
    # The goal is bounded from one side, and the slopes do not depend on it.
    plain = all(goal.id != v.id for s in row.slopes.values() for v in s.variables())
    return row if plain and abs(_goal_coefficient(row, goal)) == 1.0 else None


def _goal_coefficient(row: UncertainRow, goal: cp.Variable) -> float:
    columns, values = _constant(row)
    return float(values[_is_goal(row, goal)[columns]].sum())


def _has_certain_part(row: UncertainRow, goal: cp.Variable) -> bool:
    """Whether a row has a certain part besides the goal."""
    columns = _constant(row)[0]
    return bool(row.form.ordinary(row.index)) or not _is_goal(row, goal)[columns].all()


def _constant(row: UncertainRow) -> tuple[Indices, Array]:
    """Columns and values of a row's constant part."""
    table = row.form.constant
    at = slice(*table.indptr[[row.index, row.index + 1]])
    return table.indices[at], table.data[at]


def _is_goal(row: UncertainRow, goal: cp.Variable) -> npt.NDArray[np.bool_]:
    flags = np.zeros(row.form.width, dtype=bool)
    for variable, columns in row.form.columns:
        flags[columns] = variable.id == goal.id
    return flags


def _labels(model: RobustModel, forms: Sequence[FixedSet | SlotSet]) -> dict[int, str]:
    """Slots of sets keep their names; ordinary parameters are numbered."""
    slots = [form.parameters for form in forms if isinstance(form, SlotSet)]
    own = {p.id: p.name() for parts in slots for part in parts for p in part.values()}
    number = {key: k for k, key in enumerate(model.keys)}
    own |= {e.id: end_slot(number[e.key], e.side) for e in model.ends}
    return own | {p.id: f"ordinary.{k}" for k, p in enumerate(model.ordinary)}
