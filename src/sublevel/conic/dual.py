"""The support function of a convex set, for a solver: the dual of its constraints.

    sup { v'y : M y + N u + c in K }  =  inf { c'p : M'p = -v, N'p = 0, p in K* },

with u whatever auxiliary variables the constraints need. Every call has multipliers p
of its own, so two sets never share any. (CVXPY's `suppfunc` may merge two sets that
meet the same direction: see docs/decisions.)
"""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from ..epigraph import Epigraph
from ..errors import NotRobustifiable
from .canonical import cone_form
from .cone_form import Cone


def support_of(
    outcome: cp.Variable,
    constraints: Sequence[cp.Constraint],
    direction: cp.Expression,
) -> Epigraph:
    """Largest `direction @ outcome` under the constraints, as an Epigraph.

    Parameters
    ----------
    outcome : variable of shape (m,)
    constraints : DCP constraints of the outcome and other variables
    direction : affine expression of shape (m,)

    Examples
    --------
    >>> y, v = cp.Variable(2), cp.Variable(2)
    >>> bound = support_of(y, [cp.norm(y) <= 2], v)
    >>> limits = [v == [3, 4], *bound.constraints]
    >>> problem = cp.Problem(cp.Minimize(bound.value), limits)
    >>> round(float(problem.solve()), 5)
    10.0
    """
    written = [*constraints, *_declared(constraints)]
    form = cone_form(*written)
    multipliers, conditions = [], []
    for cone in form.cones:
        multiplier, needed = _dual_of(cone)
        multipliers.append(multiplier)
        conditions += needed
    price = cp.hstack(multipliers)
    matrix = form.constant[:, :-1].T.tocsr()
    seen = np.zeros(form.width - 1, dtype=bool)
    for variable, columns in form.columns:
        if variable.id == outcome.id:
            conditions.append(matrix[columns] @ price == -direction)
            seen[columns] = True
    if not seen.any():
        # No constraint speaks of the outcome: only the zero direction is bounded.
        conditions.append(direction == 0)
    others = np.flatnonzero(~seen)
    if others.size:
        conditions.append(matrix[others] @ price == 0)
    right = form.constant[:, [-1]].toarray().ravel()
    return Epigraph(right @ price, conditions)


def _declared(constraints: Sequence[cp.Constraint]) -> list[cp.Constraint]:
    """What auxiliary variables say of themselves."""
    variables = {v.id: v for c in constraints for v in c.variables()}
    conditions = []
    for variable in variables.values():
        attributes = {k for k, value in variable.attributes.items() if _is_set(value)}
        if attributes - {"nonneg", "pos", "nonpos", "neg"}:
            raise NotRobustifiable(
                f"A set whose conditions have variables that are "
                f"{', '.join(sorted(attributes))} has no exact dual. Use engine='cuts'."
            )
        if attributes & {"nonneg", "pos"}:
            conditions.append(variable >= 0)
        if attributes & {"nonpos", "neg"}:
            conditions.append(variable <= 0)
    return conditions


def _is_set(value: object) -> bool:
    return value is not None and value is not False


def _dual_of(cone: Cone) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Multipliers of a cone's rows, in their order, and what makes them dual."""
    size = cone.rows.stop - cone.rows.start
    if cone.kind == "zero":
        return cp.Variable(size), []
    if cone.kind == "nonneg":
        return cp.Variable(size, nonneg=True), []
    parts = [cp.Variable(argument.shape) for argument in cone.constraint.args]
    stacked = cp.hstack([cp.vec(part, order="F") for part in parts])
    if cone.kind == "SOC":
        return stacked, [cp.SOC(parts[0], parts[1], axis=cone.constraint.axis)]
    if cone.kind == "ExpCone":
        u, v, w = parts
        return stacked, [cp.ExpCone(u - v, -u, w)]
    if cone.kind == "PowCone3D":
        u, v, w = parts
        share = cone.constraint.alpha
        dual = cp.PowCone3D(
            cp.multiply(1 / share.value, u),
            cp.multiply(1 / (1 - share.value), v),
            w,
            share,
        )
        return stacked, [dual]
    if cone.kind == "PSD":
        return stacked, [parts[0] >> 0, parts[0] == parts[0].T]
    raise NotRobustifiable(
        f"A set with a cone of the kind {cone.kind} has no exact dual here. Use "
        "engine='cuts'."
    )
