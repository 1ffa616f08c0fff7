"""Numbers and arrays as Python text, to the last digit."""

import numpy as np


def number(value) -> str:
    """A number as Python reads it back exactly."""
    value = float(value)
    if np.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def array(values) -> str:
    """An array as nested lists; CVXPY and the library's sets take them so."""
    values = np.asarray(values)
    if values.ndim == 0:
        return number(values)
    return "[" + ", ".join(array(row) for row in values) + "]"


def constant(values) -> str:
    """An array to calculate with."""
    return f"np.array({array(values)})"
