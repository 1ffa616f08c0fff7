"""What a CVXPY variable declares of its entries: bounds and integrality."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from ...checks import Array
from ...conic.program import Indices

#: Attributes that speak of entries one by one.
_SIMPLE = {"nonneg", "nonpos", "pos", "neg", "bounds", "boolean", "integer"}


def is_simple(variable: cp.Variable) -> bool:
    """Whether its attributes say no more than numeric bounds and integrality.

    Examples
    --------
    >>> import cvxpy as cp
    >>> is_simple(cp.Variable(2, nonneg=True)), is_simple(cp.Variable((2, 2), PSD=True))
    (True, False)
    """
    attributes = variable.attributes.items()
    given = {name for name, value in attributes if value is not None}
    given -= {name for name, value in attributes if value is False}
    ends = variable.attributes.get("bounds") or []
    numeric = all(isinstance(end, int | float | np.number | np.ndarray) for end in ends)
    return given <= _SIMPLE and numeric


def integer_entries(variable: cp.Variable) -> Indices:
    """Which entries are integer, column by column: positions, sorted."""
    lists = (variable.boolean_idx, variable.integer_idx)
    entries = [_positions(variable, listed) for listed in lists]
    return np.unique(np.concatenate(entries))


def declared_bounds(variable: cp.Variable) -> tuple[Array, Array]:
    """Lower and upper bounds of the entries, column by column.

    Examples
    --------
    >>> import cvxpy as cp
    >>> declared_bounds(cp.Variable(2, bounds=[-1, np.array([3, 4])]))
    (array([-1., -1.]), array([3., 4.]))
    """
    given = variable.attributes
    lower, upper = np.full(variable.size, -np.inf), np.full(variable.size, np.inf)
    if given.get("bounds") is not None:
        low, high = (np.broadcast_to(end, variable.shape) for end in given["bounds"])
        lower = low.astype(float).ravel(order="F")
        upper = high.astype(float).ravel(order="F")
    if given["nonneg"] or given["pos"]:
        lower = np.maximum(lower, 0.0)
    if given["nonpos"] or given["neg"]:
        upper = np.minimum(upper, 0.0)
    binary = _positions(variable, variable.boolean_idx)
    lower[binary] = np.maximum(lower[binary], 0.0)
    upper[binary] = np.minimum(upper[binary], 1.0)
    return lower, upper


def declared_sign(variable: cp.Variable) -> int:
    """1 where no entry can be negative, -1 where none can be positive, else 0.

    Examples
    --------
    >>> import cvxpy as cp
    >>> declared_sign(cp.Variable(2, bounds=[0, 1])), declared_sign(cp.Variable(2))
    (1, 0)
    """
    if variable.is_nonneg():
        return 1
    if variable.is_nonpos():
        return -1
    ends = variable.attributes.get("bounds")
    if ends is None or not is_simple(variable):
        return 0
    lower, upper = declared_bounds(variable)
    return 1 if (lower >= 0).all() else -1 if (upper <= 0).all() else 0


def _positions(variable: cp.Variable, listed: Sequence[Indices]) -> Indices:
    """Entries in a list of CVXPY's, which holds an array of positions a dimension."""
    if not len(listed):
        return np.zeros(0, dtype=int)
    return np.ravel_multi_index(listed, variable.shape or (1,), order="F")
