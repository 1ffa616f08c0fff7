"""The judge of a model, made from what the user wrote."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from ...checks import Array
from ..model.nature import Nature
from ..model.products import at_values, products_in
from ..model.robust_model import RobustModel
from ..model.spelling import spelled_out
from ..model.uncertain import uncertain_in
from ..model.variable_bounds import declared_bounds, integer_entries
from .concave import ConcavePart
from .place import Place
from .places import affine_parts, places_of, split
from .reading import Frame, read, violation_tape
from .ruler import Ruler
from .sum_rows import sum_rows
from .tape import Step, Tape
from .written_rows import WrittenRows

#: Numbers of an array from which on it is long, and how many of its ends are shown.
LONG, ENDS = 20, 3


def ruler_of(model: RobustModel, frame: Frame) -> Ruler:
    """The judge of a model's decisions, at the values of its products."""
    products = products_in([model.objective, *model.constraints])
    uncertain = [
        _rows(at_values(c, products), frame, _words(c))
        for c in model.uncertain_constraints
    ]
    certain = [_rows(c, frame, _words(c)) for c in model.certain_constraints]
    certain += [_rows(c, frame, _words(c)) for c in _declared(model.variables)]
    value = model.objective.args[0]
    cost = None
    if model.has_uncertain_objective:
        aim = value if model.minimises else -value
        aim = at_values(aim <= 0, products).args[0]
        cost = _rows_of(aim, (aim,), False, frame, _words(model.objective))
    sizes = [int(v.size) for v in model.variables]
    ends = [_bounds(v, model.certain_constraints) for v in model.variables]
    whole = np.zeros(sum(sizes), dtype=bool)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(int)
    for variable, start in zip(model.variables, starts.tolist(), strict=True):
        whole[start + integer_entries(variable)] = True
    return Ruler(
        tuple(uncertain),
        tuple(certain),
        read(value, frame),
        cost,
        model.sense,
        np.concatenate([low for low, _ in ends]),
        np.concatenate([high for _, high in ends]),
        whole,
        starts,
    )


def _words(written: cp.Constraint | cp.Minimize | cp.Maximize) -> str:
    """A constraint or an objective in CVXPY's words; of long arrays the ends alone.

    Of a table CVXPY shows no more, but it writes down all of it to see if it is one.
    """
    with np.printoptions(threshold=LONG, edgeitems=ENDS):
        return str(written)


def frame_of(model: RobustModel) -> Frame:
    """Where the leaves of a model are: variables, outcomes and ordinary parameters."""
    variables, start = {}, 0
    for variable in model.variables:
        variables[variable.id] = start
        start += variable.size
    outcomes = {}
    for number, key in enumerate(model.keys):
        start = 0
        for parameter in key:
            outcomes[parameter.id] = (start, number)
            start += parameter.size
    ordinary, start = {}, 0
    for parameter in model.ordinary:
        ordinary[parameter.id] = start
        start += parameter.size
    every = [*model.variables, *(p for key in model.keys for p in key), *model.ordinary]
    return Frame(variables, outcomes, ordinary, {leaf.id: leaf for leaf in every})


def _bounds(
    variable: cp.Variable, constraints: Sequence[cp.Constraint]
) -> tuple[Array, Array]:
    """Bounds of a variable's entries, declared or written as x <= constant."""
    lower, upper = declared_bounds(variable)
    for constraint in constraints:
        if type(constraint).__name__ != "Inequality":
            continue
        left, right = constraint.args
        for side, other, ends in ((left, right, 1), (right, left, 0)):
            if side is variable and _is_number(other) and _fits(other, variable):
                wide = np.broadcast_to(other.value, variable.shape)
                bound = np.ravel(wide, order="F").astype(float)
                if ends:
                    upper = np.minimum(upper, bound)
                else:
                    lower = np.maximum(lower, bound)
    return (lower, upper) if (lower <= upper).all() else declared_bounds(variable)


def _is_number(expression: cp.Expression) -> bool:
    return not expression.variables() and not expression.parameters()


def _fits(number: cp.Expression, variable: cp.Variable) -> bool:
    return bool(number.size == 1 or number.shape == variable.shape)


def _declared(variables: Sequence[cp.Variable]) -> list[cp.Constraint]:
    """What variables declare beyond bounds and whole numbers."""
    conditions = []
    for variable in variables:
        if variable.attributes["PSD"]:
            conditions.append(variable >> 0)
        if variable.attributes["NSD"]:
            conditions.append(variable << 0)
    return conditions


def _rows(constraint: cp.Constraint, frame: Frame, text: str) -> WrittenRows:
    """The rows of a constraint: what must not be positive, or must be zero."""
    kind = type(constraint).__name__
    args = constraint.args
    if kind == "FiniteSet":
        return _choice(constraint, frame, text)
    if kind in ("Inequality", "Equality"):
        left, right = args
        return _rows_of(left - right, (left, right), kind == "Equality", frame, text)
    if kind in ("NonNeg", "NonPos", "Zero"):
        side = -args[0] if kind == "NonNeg" else args[0]
        return _rows_of(side, (side,), kind == "Zero", frame, text)
    if kind == "SOC":
        top, inner = args
        axis = constraint.axis if inner.ndim > 1 else None
        length = cp.norm(inner, 2, axis=axis)
        top = cp.reshape(top, length.shape, order="F")
        return _rows_of(length - top, (length, top), False, frame, text)
    if kind == "PSD":
        return _rows_of(
            cp.lambda_max(-args[0]), (cp.lambda_max(args[0]),), False, frame, text
        )
    if kind == "ExpCone":
        x, y, z = args
        top = cp.multiply(y, cp.exp(x / y))
        return _rows_of(top - z, (top, z), False, frame, text)
    if kind == "PowCone3D":
        x, y, z = args
        share = np.ravel(constraint.alpha.value)
        if not (share == share[0]).all():
            return _by_cvxpy(constraint, frame, text)
        top = cp.multiply(cp.power(x, share[0]), cp.power(y, 1 - share[0]))
        return _rows_of(cp.abs(z) - top, (cp.abs(z), top), False, frame, text)
    return _by_cvxpy(constraint, frame, text)


def _rows_of(
    residual: cp.Expression,
    sides: tuple[cp.Expression, ...],
    equal: bool,
    frame: Frame,
    text: str,
) -> WrittenRows:
    free, seeing = split(residual)
    tapes = tuple(read(side, frame) for side in sides)
    tape = read(residual, frame)
    if not seeing:
        return WrittenRows(text, equal, tape, tape, tapes, None)
    rest = sum(free[1:], free[0]) if free else None
    free_tape = None if rest is None else read(rest, frame)
    moving = spelled_out(sum(seeing[1:], seeing[0]))
    if Nature(moving).is_affine:
        plain = places_of(moving, frame)
        return WrittenRows(text, equal, tape, free_tape, tapes, plain)
    places: list[Place] = []
    for part in affine_parts(moving):
        places += [place for place in places_of(part, frame) if place.entries]
    concave = tuple(ConcavePart(Nature(part), frame) for part in _concave_parts(moving))
    sums = () if equal else sum_rows(moving, frame)
    return WrittenRows(
        text, equal, tape, free_tape, tapes, None, tuple(places), concave, sums
    )


def _concave_parts(expression: cp.Expression, sense: int = 1) -> list[cp.Expression]:
    """Parts that bend the outcome as nature wants them, with the sign that makes them
    concave.

    `sense` is 1 where nature wants the expression large, -1 small, 0 where that is not
    known.
    """
    if not uncertain_in(expression):
        return []
    view = Nature(expression).view
    if view.is_affine():
        return []
    if sense >= 0 and view.is_concave():
        return [expression]
    if sense <= 0 and view.is_convex():
        return [-expression]
    parts = []
    for i, arg in enumerate(expression.args):
        slope = 1 if view.is_incr(i) else -1 if view.is_decr(i) else 0
        parts += _concave_parts(arg, sense * slope)
    return parts


def _choice(constraint: cp.Constraint, frame: Frame, text: str) -> WrittenRows:
    chosen, options = constraint.args
    inner = read(chosen, frame)
    step = Step(
        "nearest", (len(inner.steps) - 1,), inner.shape, (np.ravel(options.value),)
    )
    tape = Tape((*inner.steps, step))
    return WrittenRows(text, True, tape, tape, (inner,), None)


def _by_cvxpy(constraint: cp.Constraint, frame: Frame, text: str) -> WrittenRows:
    """Any other kind of constraint: CVXPY says by how much it is violated."""
    tape = violation_tape(constraint, frame)
    sides = tuple(read(arg, frame) for arg in constraint.args)
    return WrittenRows(text, False, tape, tape, sides, None)
