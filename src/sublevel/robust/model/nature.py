"""An expression as nature sees it: the decision is given, the outcome is to choose."""

from __future__ import annotations

import cvxpy as cp

from ...conic.substitution import substituted
from .uncertain import uncertain_in
from .variable_bounds import declared_sign


class Nature:
    """An expression in which variables are given, and uncertain parameters variables.

    So CVXPY says how the expression bends in the outcome.

    Parameters
    ----------
    expression : CVXPY expression of decision and outcome

    Examples
    --------
    >>> import sublevel as sl
    >>> y, x = sl.Uncertain(2, name="y"), cp.Variable(2)
    >>> Nature(y @ x).is_affine, Nature(cp.pos(y - x)).is_convex
    (True, True)
    """

    def __init__(self, expression: cp.Expression) -> None:
        self.expression = expression
        self.outcomes = {
            p.id: cp.Variable(p.shape, nonneg=p.is_nonneg())
            for p in uncertain_in(expression)
        }
        given = {v.id: _as_given(v) for v in expression.variables()}
        self.view = substituted(expression, {**self.outcomes, **given})
        self.given = given

    @property
    def is_affine(self) -> bool:
        """Whether the outcome enters linearly."""
        return bool(self.view.is_affine())

    @property
    def is_concave(self) -> bool:
        """Whether its largest value over a convex set is a convex problem."""
        return bool(self.view.is_concave())

    @property
    def is_convex(self) -> bool:
        """Whether its largest value over a set is at one of the set's corners."""
        return bool(self.view.is_convex())


def _as_given(variable: cp.Variable) -> cp.Parameter:
    sign = declared_sign(variable)
    return cp.Parameter(variable.shape, nonneg=sign > 0, nonpos=sign < 0)
