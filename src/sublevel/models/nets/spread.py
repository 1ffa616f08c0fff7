"""The spread that a network's raw output stands for, in NumPy."""

import numpy as np

from ...checks import Array

#: Smallest spread, in units of the root mean squared residual. The likelihood is
#: unbounded without one.
FLOOR = 1e-3
#: The raw output of spread one.
UNIT_SPREAD = float(np.log(np.expm1(1.0 - FLOOR)))


def spread(raw: Array) -> Array:
    """softplus(raw) + floor.

    Examples
    --------
    >>> spread(np.array([UNIT_SPREAD, -np.inf, 50.0]))
    array([1.000e+00, 1.000e-03, 5.0001e+01])
    """
    softplus: Array = np.logaddexp(0.0, raw)
    return softplus + FLOOR
