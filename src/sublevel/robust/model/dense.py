"""Values of CVXPY's expressions, which may be sparse, as arrays."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...checks import Array


def as_dense(value: object) -> Array:
    """A number, an array or a sparse matrix as an array.

    Examples
    --------
    >>> as_dense(sp.eye_array(2)), as_dense(2.0)
    (array([[1., 0.],
           [0., 1.]]), array(2.))
    """
    if isinstance(value, sp.sparray | sp.spmatrix):
        value = value.toarray()
    return np.asarray(value)
