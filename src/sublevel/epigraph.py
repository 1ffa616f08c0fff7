"""A convex function written for a solver: a value and the constraints it needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from .deferred import cp


@dataclass(frozen=True)
class Epigraph:
    """A convex CVXPY expression, exact where its constraints hold.

    The function it stands for is the least `value` over everything that satisfies
    `constraints`; it is +inf where nothing does.

    Examples
    --------
    >>> slope = cp.Variable(2)
    >>> Epigraph(cp.sum_squares(slope), [cp.abs(slope) <= 1]).value.is_convex()
    True
    """

    value: cp.Expression
    constraints: list[cp.Constraint] = field(default_factory=list)


def magnitude(slope: cp.Expression) -> cp.Expression:
    """|slope|, without the detour where CVXPY knows the sign.

    Examples
    --------
    >>> str(magnitude(cp.Variable(2, nonneg=True, name="x")))
    'x'
    """
    if slope.is_nonneg():
        return slope
    return -slope if slope.is_nonpos() else cp.abs(slope)
