"""What a user wrote in words that the rest of the package knows.

CVXPY has several ways to say the same. Some hide how an outcome enters: running sums
and convolutions have auxiliary variables, Kronecker products take no parameters, a
quadratic form of a parameter is a product, a cone of second order is a norm in
disguise, bounds are no sign. Here they are said in the way that shows it; the values
are the same.
"""

from __future__ import annotations

from typing import TypeVar

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression
from cvxpy.atoms.affine.conj import conj
from cvxpy.atoms.affine.conv import conv, convolve
from cvxpy.atoms.affine.real import real
from cvxpy.atoms.affine.wraps import nonneg_wrap, nonpos_wrap
from cvxpy.atoms.quad_form import QuadForm

from .dense import as_dense
from .running_sums import as_product
from .uncertain import uncertain_in
from .variable_bounds import declared_sign

#: An expression or a constraint.
Node = TypeVar("Node", bound=cp.Expression | cp.Constraint)

#: Smallest eigenvalue, relative to the largest, that counts as zero.
ROUNDING = 1e-12


def spelled_out(written: Node) -> Node:
    """An expression or constraint in plainer words; itself where it is plain.

    Examples
    --------
    >>> x = cp.Variable(3, value=[1.0, 2.0, 4.0])
    >>> print(spelled_out(cp.cumsum(x)).value)
    [1. 3. 7.]
    >>> type(spelled_out(cp.SOC(cp.Variable(), x))).__name__
    'Inequality'
    """
    spelled: Node | None = _spelled(written)
    return written if spelled is None else spelled


def _spelled(
    written: cp.Expression | cp.Constraint,
) -> cp.Expression | cp.Constraint | None:
    """The same in plainer words, or None."""
    if isinstance(written, cp.Variable):
        return _signed(written)
    square = _square(written) or _quadratic(written)
    if square is not None:
        return spelled_out(square)
    given = list(written.args)
    arguments = [spelled_out(argument) for argument in given]
    if isinstance(written, cp.cumsum):
        return as_product(arguments[0], written.axis)
    if isinstance(written, conv | convolve) and uncertain_in(given[0]):
        return _convolved(arguments[0], arguments[1], written.shape)
    if isinstance(written, cp.kron) and written.parameters():
        return _kronecker(arguments[0], arguments[1])
    if isinstance(written, conj | real) and not given[0].is_complex():
        return arguments[0]
    if isinstance(written, cp.SOC):
        return _as_norm(arguments[0], arguments[1], written.axis)
    if all(new is old for new, old in zip(arguments, given, strict=True)):
        return None
    return written.copy(arguments)


def _signed(variable: cp.Variable) -> cp.Expression | None:
    """A variable whose bounds are a sign that CVXPY does not see."""
    sign = declared_sign(variable)
    if sign > 0 and not variable.is_nonneg():
        return nonneg_wrap(variable)
    if sign < 0 and not variable.is_nonpos():
        return nonpos_wrap(variable)
    return None


def _square(written: cp.Expression | cp.Constraint) -> cp.Expression | None:
    """(y' P) y as a sum of squares, where y is an outcome and P has a sign."""
    if not isinstance(written, MulExpression) or written.shape != ():
        return None
    left, right = written.args
    if not isinstance(left, MulExpression) or right.variables():
        return None
    first, matrix = left.args
    if isinstance(first, conj):
        first = first.args[0]
    if first is not right or not uncertain_in(right) or not matrix.is_constant():
        return None
    if matrix.parameters() or matrix.value is None:
        return None
    return _sum_of_squares(matrix, right)


def _quadratic(written: cp.Expression | cp.Constraint) -> cp.Expression | None:
    """A quadratic form as a sum of squares, where its matrix is a number of a sign."""
    if not isinstance(written, QuadForm):
        return None
    inner, matrix = written.args
    if not uncertain_in(inner) or matrix.parameters() or matrix.variables():
        return None
    return _sum_of_squares(matrix, inner)


def _sum_of_squares(
    matrix: cp.Expression, inner: cp.Expression
) -> cp.Expression | None:
    """The quadratic form of P, by the square root of P, or of minus P."""
    number = as_dense(matrix.value).astype(float)
    values, axes = np.linalg.eigh(number)
    values[np.abs(values) <= ROUNDING * np.abs(values).max()] = 0.0
    for sign in (1.0, -1.0):
        if (sign * values >= 0).all():
            # The symmetric root, so that what a diagonal keeps apart stays apart.
            root = axes * np.sqrt(sign * values) @ axes.T
            root[np.abs(root) <= ROUNDING * np.abs(root).max()] = 0.0
            name = "sqrtm(P)" if sign > 0 else "sqrtm(-P)"
            squares = cp.sum_squares(cp.Constant(root, name=name) @ inner)
            return squares if sign > 0 else -squares
    return None


def _convolved(
    one: cp.Expression, other: cp.Expression, shape: tuple[int, ...]
) -> cp.Expression:
    one, other = cp.vec(one, order="F"), cp.vec(other, order="F")
    size = one.size + other.size - 1
    shifted = [one[k] * (np.eye(size, other.size, -k) @ other) for k in range(one.size)]
    return cp.reshape(sum(shifted[1:], shifted[0]), shape, order="F")


def _kronecker(one: cp.Expression, other: cp.Expression) -> cp.Expression:
    """Entries times entries: what CVXPY makes of parameters there breaks its rules."""
    rows, columns = (
        (
            np.repeat(np.arange(one.shape[axis]), other.shape[axis]),
            np.tile(np.arange(other.shape[axis]), one.shape[axis]),
        )
        for axis in (0, 1)
    )
    first, second = zip(rows, columns, strict=True)
    return cp.multiply(one[np.ix_(*first)], other[np.ix_(*second)])


def _as_norm(top: cp.Expression, inner: cp.Expression, axis: int) -> cp.Constraint:
    length = cp.norm(inner, 2, axis=axis if inner.ndim > 1 else None)
    return length <= cp.reshape(top, length.shape, order="F")
