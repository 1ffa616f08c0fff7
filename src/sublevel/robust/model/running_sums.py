"""Running sums as products with a triangle of ones.

CVXPY gives `cp.cumsum` auxiliary variables tied by equalities, which could not hold for
every outcome. As a product it needs none, and rows with it stay linear in the outcome.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def as_product(summed: cp.Expression, axis: int | None) -> cp.Expression:
    """The running sums of an expression.

    Examples
    --------
    >>> x = cp.Variable((2, 2), value=np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> print(as_product(x, 1).value)
    [[1. 3.] [3. 7.]]
    """
    if axis is None:
        summed, axis = cp.vec(summed, order="C"), 0
    if summed.ndim == 0:
        return summed
    ones = np.tri(summed.shape[axis])
    return ones @ summed if axis % summed.ndim == 0 else summed @ ones.T
