"""Expressions and problems with some of their leaves replaced."""

from __future__ import annotations

from collections.abc import Mapping

from ..checks import Array
from ..deferred import cp

#: Id of a leaf -> what stands in its place.
Parts = Mapping[int, "cp.Expression | Array"]


def substituted(expression: cp.Expression, parts: Parts) -> cp.Expression:
    """The expression with leaves replaced: id of the leaf -> array or expression.

    Examples
    --------
    >>> y = cp.Parameter(2)
    >>> print(substituted(cp.square(y), {y.id: [1.0, 3.0]}).value)
    [1. 9.]
    """
    if isinstance(expression, cp.Parameter | cp.Variable):
        return cp.Expression.cast_to_const(parts.get(expression.id, expression))
    given = list(expression.args)
    arguments = [substituted(argument, parts) for argument in given]
    if all(new is old for new, old in zip(arguments, given, strict=True)):
        return expression
    return expression.copy(arguments)


def substituted_problem(problem: cp.Problem, parts: Parts) -> cp.Problem:
    """The problem with leaves replaced."""
    constraints = [
        c.copy([substituted(side, parts) for side in c.args])
        for c in problem.constraints
    ]
    aim = substituted(problem.objective.args[0], parts)
    return cp.Problem(type(problem.objective)(aim), constraints)
