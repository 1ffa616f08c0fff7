"""Centre and unit of the data, so that training does not depend on their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import Array


@dataclass(frozen=True)
class Scaling:
    """Scaled values are (value - center) / unit; both of shape (B, 1, columns)."""

    center: Array
    unit: Array

    def apply(self, values: Array, which: Any) -> Array:
        """Scaled values (..., columns) of network `which`."""
        which = which if len(self.center) > 1 else 0
        scaled: Array = (values - self.center[which, 0]) / self.unit[which, 0]
        return scaled


def standardise(values: Array) -> Scaling:
    """Mean and standard deviation over rows, for values of shape (B, ..., columns).

    Examples
    --------
    >>> found = standardise(np.array([[[1.0, 7.0], [3.0, 7.0]]]))
    >>> found.center, found.unit
    (array([[[2., 7.]]]), array([[[1., 1.]]]))
    """
    rows = values.reshape(len(values), -1, values.shape[-1])
    center, unit = _moments(rows)
    return Scaling(center, _positive(unit, center))


def pooled(values: Array) -> Scaling:
    """One unit for all columns and no centre: differences between columns keep."""
    center, unit = _moments(values.reshape(len(values), -1, 1))
    one = np.ones((len(values), 1, values.shape[-1]))
    return Scaling(0.0 * one, _positive(unit, center) * one)


def unscaled(values: Array) -> Scaling:
    """Values as they are."""
    shape = (len(values), 1, values.shape[-1])
    return Scaling(np.zeros(shape), np.ones(shape))


def _moments(rows: Array) -> tuple[Array, Array]:
    """Mean and standard deviation; infinite or NaN where the squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return rows.mean(axis=1, keepdims=True), rows.std(axis=1, keepdims=True)


def _positive(unit: Array, size: Array) -> Array:
    """Units of constant columns, which rounding may leave above zero, become one."""
    return np.where(unit <= 1e-14 * np.abs(size), 1.0, unit)
