"""Robust decisions in closed form, for the two linear problems of the paper.

Minimise over x the worst cost over an ellipsoid with axes along the components,

    location'x + radius ||scale x||,

which the robust engine solves in general; here a formula (simplex) or a list of all
decisions (paths) does it for many contexts at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from sublevel.checks import Array
from sublevel.models.nets import GridPathOracle


class Rule(Protocol):
    """From ellipsoids to decisions."""

    def decide(self, location: Array, scale: Array, radius: Any) -> tuple[Array, Array]:
        """Decisions (n, m) and worst costs (n,); radius is a number or (n,)."""

    def best(self, costs: Array) -> Array:
        """The least cost for someone who knows the costs, shape (n,)."""


@dataclass(frozen=True)
class Simplex:
    """Decisions at least 0 that sum to one.

    With returns r = -location, the worst return nu of the best decision solves
    ||(r - nu)_+ / scale|| = radius, and x is proportional to (r - nu)_+ / scale^2.

    Examples
    --------
    >>> x, worst = Simplex().decide(np.array([[-1.0, 0.0]]), np.ones((1, 2)), 1.0)
    >>> x, worst
    (array([[1., 0.]]), array([0.]))
    """

    def decide(self, location: Array, scale: Array, radius: Any) -> tuple[Array, Array]:
        radius = np.broadcast_to(radius, len(location))
        order = np.argsort(location, axis=1, kind="stable")
        top = np.take_along_axis(location, order[:, :1], axis=1)
        # Shortfall from the best return, growing, and what it weighs.
        gap = np.take_along_axis(location, order, axis=1) - top
        weight = np.take_along_axis(scale, order, axis=1) ** -2.0
        total, first, second = (
            np.cumsum(weight * gap**power, axis=1) for power in (0, 1, 2)
        )
        reach = total * gap**2 - 2 * first * gap + second
        active = np.sum(reach < radius[:, None] ** 2, axis=1).clip(1) - 1
        row = np.arange(len(location))
        total, first, second = (c[row, active] for c in (total, first, second))
        # The larger root of total d^2 - 2 first d + second = radius^2.
        spread = np.maximum(first**2 - total * (second - radius**2), 0)
        depth = (first + np.sqrt(spread)) / total
        x = np.maximum(depth[:, None] - (location - top), 0) * scale**-2.0
        x[radius == 0] = location[radius == 0] == top[radius == 0]
        return x / x.sum(axis=1, keepdims=True), top[:, 0] + depth

    def best(self, costs: Array) -> Array:
        return np.asarray(costs.min(axis=1))


@dataclass(frozen=True)
class GridPaths:
    """Paths through a square grid, east and south: all of them, 70 for side 5.

    Examples
    --------
    >>> GridPaths(5).paths.shape, set(GridPaths(5).paths.sum(axis=1).tolist())
    ((70, 40), {8.0})
    """

    side: int = 5

    @cached_property
    def paths(self) -> Array:
        """One row a path, 1 where it uses an edge; edges as in `GridPathOracle`."""
        grid, steps = GridPathOracle(self.side), 2 * (self.side - 1)
        paths = []
        for east in combinations(range(steps), self.side - 1):
            path, row, column = np.zeros(grid.n_edges), 0, 0
            for step in range(steps):
                if step in east:
                    path[grid.east(row, column)] = 1.0
                    column += 1
                else:
                    path[grid.south(row, column)] = 1.0
                    row += 1
            paths.append(path)
        return np.array(paths)

    def decide(self, location: Array, scale: Array, radius: Any) -> tuple[Array, Array]:
        norms = np.sqrt(scale**2 @ self.paths.T)
        worst = (
            location @ self.paths.T
            + np.broadcast_to(radius, len(norms))[:, None] * norms
        )
        which = worst.argmin(axis=1)
        return self.paths[which], worst[np.arange(len(which)), which]

    def best(self, costs: Array) -> Array:
        return np.asarray((costs @ self.paths.T).min(axis=1))
