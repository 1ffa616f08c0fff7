"""Whether what a user wrote is a model that can be taken apart at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.atom import Atom
from cvxpy.expressions.leaf import Leaf

from ...errors import InvalidParameter, NotRobustifiable
from .uncertain import Uncertain, Written, uncertain_in


def check_model(objective: object, constraints: object) -> None:
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
        _check_numbers(part)
        if not uncertain_in(part) and not part.is_dcp():
            raise NotRobustifiable(
                f"{part} is not a convex part of a model as CVXPY knows it (DCP), so "
                "no solver takes it. See cvxpy.org for the rules."
            )


def require_variables(parts: Sequence[Written]) -> None:
    """Raise unless there is something to decide.

    Examples
    --------
    >>> require_variables([cp.Minimize(cp.Variable())])
    """
    if not any(part.variables() for part in parts):
        raise InvalidParameter(
            "RobustProblem(objective=..., constraints=...) must have a cp.Variable to "
            "decide, got none. The worst case of an outcome alone is its set's "
            "support(direction)."
        )


def spelled_out_choices(
    constraints: Sequence[cp.Constraint],
) -> tuple[list[cp.Constraint], list[cp.Constraint]]:
    """The constraints without `cp.FiniteSet`, and what says the same with booleans.

    CVXPY hands a finite set to a solver that knows no integers as if it were convex.

    Examples
    --------
    >>> x = cp.Variable()
    >>> kept, choices = spelled_out_choices([x >= 0, cp.FiniteSet(x, [1.0, 3.0])])
    >>> len(kept), len(choices), cp.Problem(cp.Minimize(x), choices).is_mixed_integer()
    (1, 2, True)
    """
    kept, choices = [], []
    for constraint in constraints:
        if not isinstance(constraint, cp.FiniteSet):
            kept.append(constraint)
            continue
        if uncertain_in(constraint):
            raise NotRobustifiable(
                f"{constraint} cannot be made robust: a value that depends on the "
                "outcome is not one of finitely many."
            )
        chosen, values = constraint.args
        options = np.ravel(values.value)
        pick = cp.Variable((chosen.size, options.size), boolean=True)
        choices += [
            cp.vec(chosen, order="F") == pick @ options,
            cp.sum(pick, axis=1) == 1,
        ]
    return kept, choices


def _check_open(part: Written) -> None:
    """Uncertain data that CVXPY does not show would be taken at its present value."""
    shown = {parameter.id for parameter in part.parameters()}
    for inner in nodes(part):
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


def _check_numbers(part: Written) -> None:
    """Numbers of the model must be numbers, and real."""
    for variable in part.variables():
        if variable.is_complex():
            raise NotRobustifiable(
                f"{part} cannot be made robust: the variable {variable.name()!r} is "
                "complex. Write its real and imaginary parts as two real variables."
            )
    for inner in nodes(part):
        if isinstance(inner, cp.imag) and uncertain_in(inner):
            raise NotRobustifiable(
                f"{part} cannot be made robust: outcomes are real, and {inner} is for "
                "complex numbers. Leave it out."
            )
        if isinstance(inner, cp.Parameter) and inner.is_complex():
            raise NotRobustifiable(
                f"{part} cannot be made robust: the parameter {inner.name()!r} is "
                "complex. Write its real and imaginary parts as two real ones."
            )
        if not isinstance(inner, cp.Constant) or inner.value is None:
            continue
        numbers = inner.value.data if sp.issparse(inner.value) else inner.value
        if np.isnan(np.asarray(numbers)).any():
            raise InvalidParameter(
                f"RobustProblem: {part} must be free of NaN, got nan among its "
                "constants. Find out where it comes from."
            )


def nodes(part: Written) -> Iterator[Written]:
    """The tree of an objective, constraint or expression."""
    yield part
    # Some of CVXPY's expressions have lists, or whole problems, for arguments.
    for inner in getattr(part, "args", ()):
        yield from nodes(inner)


def _is_closed(inner: Written) -> bool:
    """Whether it is an expression with uncertain data that is neither leaf nor atom."""
    if isinstance(inner, Atom | Leaf) or not isinstance(inner, cp.Expression):
        return False
    return bool(uncertain_in(inner))


def _what(given: object) -> str:
    kind = type(given).__name__
    return f"{kind} {given}" if isinstance(given, cp.Expression) else kind


def _way_out(given: object) -> str:
    if isinstance(given, list | tuple):
        return "Join lists: [*first, *second]."
    if isinstance(given, cp.Expression):
        return "Compare it with something: <=, >= or ==."
    return "A comparison of two numbers is not a constraint: leave it out."
