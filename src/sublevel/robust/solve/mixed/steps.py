"""The root of a linear function of binaries: what its steps are worth, in any order.

    sqrt(base + sum_k weight_k x_k)

is a submodular function of binaries x if no weight is negative; where one is, 1 - x
takes the place of x. Taking the binaries one after another, each is worth the step by
which the root grows, and the root is at least the sum of the steps of those that are
taken (Edmonds 1970; Atamtürk & Narayanan 2008). All orders together describe its convex
hull, so for binaries these cuts are much stronger than tangents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....checks import Array
from ....conic.program import Indices


@dataclass(frozen=True, eq=False)
class Steps:
    """A root over binaries.

    Attributes
    ----------
    columns : positions of the binaries, sorted, shape (k,)
    weights : array of shape (k,)
    base : float, at least the sum of the negative weights

    Examples
    --------
    >>> steps = Steps(np.array([4, 7]), np.array([9.0, 16.0]), 0.0)
    >>> start, each = steps.along(steps.order(np.array([0.2, 1.0])))
    >>> start, each, steps.least(np.array([1.0, 1.0]))
    (0.0, array([1., 4.]), 5.0)
    """

    columns: Indices
    weights: Array
    base: float

    def order(self, values: Array) -> Indices:
        """The order in which the steps add up to most, at values of the binaries."""
        taken = np.where(self.weights < 0, 1 - values, values)
        return np.argsort(-taken, kind="stable")

    def along(self, order: Indices) -> tuple[float, Array]:
        """What the root is at least: a constant, and a slope for each, shape (k,)."""
        negative = self.weights < 0
        floor = self.base + float(self.weights[negative].sum())
        total = floor + np.cumsum(np.abs(self.weights)[order])
        roots = np.sqrt(np.maximum(np.append(floor, total), 0.0))
        steps = np.empty(len(order))
        steps[order] = np.diff(roots)
        start = float(roots[0] + steps[negative].sum())
        return start, np.where(negative, -steps, steps)

    def least(self, values: Array) -> float:
        """The largest convex function below the root, at values between 0 and 1."""
        start, steps = self.along(self.order(values))
        return start + float(steps @ values)
