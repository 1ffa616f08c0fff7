"""The smallest spread that an outcome can have: half of the digits of its own size.

Outcomes are compared with predictions in units of the spread. Numbers of the size of an
outcome are rounded, and solvers and checks have tolerances: with a spread below some
1e-9 of the outcome itself, verdicts are about rounding. How large the spreads of other
outputs are makes no difference, so that units make none either.
"""

from __future__ import annotations

import numpy as np

from ..checks import Array

#: A spread below this share of an output's size is not told from none.
RESOLUTION = float(np.sqrt(np.finfo(float).eps))


def least_spreads(Y: Array) -> Array:
    """The smallest spreads of outputs of shape (n, m): shape (m,), always positive.

    An output that is always zero has no size: the largest of the others stands for it.

    Examples
    --------
    >>> least_spreads(np.array([[2.0, 0.0, -1e6], [2.0, 0.0, 1e6]])) / RESOLUTION
    array([2.e+00, 1.e+06, 1.e+06])
    """
    size = np.sqrt(np.mean(Y**2, axis=0))
    # Subnormal numbers have hardly any digits: they are zeros here.
    size = np.where(size > np.sqrt(np.finfo(float).tiny), size, 0.0)
    return np.asarray(RESOLUTION * np.where(size > 0, size, size.max() or 1.0))
