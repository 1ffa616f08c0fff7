"""Running sums as products with a triangle of ones.

CVXPY gives `cp.cumsum` auxiliary variables tied by equalities, which could not hold for
every outcome. As a product it needs none, and rows with it stay linear in the outcome.
"""

from __future__ import annotations

from typing import TypeVar

import cvxpy as cp
import numpy as np

#: An expression or a constraint.
Node = TypeVar("Node", bound=cp.Expression | cp.Constraint)


def spelled_out(written: Node) -> Node:
    """An expression or constraint without `cp.cumsum`; itself where it has none.

    Examples
    --------
    >>> x = cp.Variable((2, 2), value=[[1.0, 2.0], [3.0, 4.0]])
    >>> print(spelled_out(cp.cumsum(x, axis=1)).value)
    [[1. 3.] [3. 7.]]
    """
    given = list(written.args)
    arguments = [spelled_out(argument) for argument in given]
    if isinstance(written, cp.cumsum):
        summed: Node = _product(arguments[0], written.axis)
        return summed
    if all(new is old for new, old in zip(arguments, given, strict=True)):
        return written
    copied: Node = written.copy(arguments)
    return copied


def _product(summed: cp.Expression, axis: int | None) -> cp.Expression:
    if axis is None:
        summed, axis = cp.vec(summed, order="C"), 0
    if summed.ndim == 0:
        return summed
    ones = np.tri(summed.shape[axis])
    return ones @ summed if axis % summed.ndim == 0 else summed @ ones.T
