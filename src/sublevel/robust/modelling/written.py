"""Whether what a user wrote is a model that can be taken apart at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
from cvxpy.atoms.atom import Atom
from cvxpy.expressions.leaf import Leaf

from ...errors import InvalidParameter, NotRobustifiable
from .uncertain import Uncertain, uncertain_in


def check_model(objective: Any, constraints: Any) -> None:
    """Raise unless these are a CVXPY objective and constraints that hide nothing.

    Examples
    --------
    >>> x = cp.Variable()
    >>> check_model(cp.Minimize(x), [x >= 1])
    """
    if not isinstance(objective, cp.Minimize | cp.Maximize):
        raise InvalidParameter(
            "RobustProblem(objective=...) must be cp.Minimize(...) or "
            f"cp.Maximize(...), got {_what(objective)}."
        )
    if not isinstance(constraints, list | tuple):
        raise InvalidParameter(
            "RobustProblem(constraints=...) must be a list of CVXPY constraints, got "
            f"{_what(constraints)}. Put a single constraint in brackets."
        )
    for k, constraint in enumerate(constraints):
        if not isinstance(constraint, cp.Constraint):
            raise InvalidParameter(
                "RobustProblem(constraints=...) must be a list of CVXPY constraints, "
                f"got {_what(constraint)} at position {k}. {_way_out(constraint)}"
            )
    for part in (objective, *constraints):
        _check_open(part)


def _check_open(part: Any) -> None:
    """Uncertain data that CVXPY does not show would be taken at its present value."""
    shown = {parameter.id for parameter in part.parameters()}
    for inner in _nodes(part):
        hidden = isinstance(inner, Uncertain) and inner.id not in shown
        if hidden or _is_closed(inner):
            raise NotRobustifiable(
                f"{part} cannot be made robust: it has uncertain data in a part that "
                "cannot be looked into. Write it with CVXPY's atoms."
            )
    for variable in part.variables():
        if uncertain_in(variable):
            raise NotRobustifiable(
                f"{part} cannot be made robust: the bounds of {variable.name()!r} are "
                "uncertain. Write them as constraints."
            )


def _is_closed(inner: Any) -> bool:
    """Whether it is an expression with uncertain data that is neither leaf nor atom."""
    if isinstance(inner, Atom | Leaf) or not isinstance(inner, cp.Expression):
        return False
    return bool(uncertain_in(inner))


def _nodes(part: Any) -> Iterator[Any]:
    """The tree of an objective, constraint or expression."""
    yield part
    for inner in getattr(part, "args", ()):
        yield from _nodes(inner)


def _what(given: Any) -> str:
    kind = type(given).__name__
    return f"{kind} {given}" if isinstance(given, cp.Expression) else kind


def _way_out(given: Any) -> str:
    if isinstance(given, list | tuple):
        return "Join lists: [*first, *second]."
    if isinstance(given, cp.Expression):
        return "Compare it with something: <=, >= or ==."
    return "A comparison of two numbers is not a constraint: leave it out."
