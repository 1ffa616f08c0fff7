"""Every method of the paper that ends in ellipsoids, on one set of data.

Components share a model: a row is one component's covariates and cost. A method says
where the sets are and how wide (`Placed`), and a radius for each level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neighbors import NearestNeighbors

from sublevel.checks import Array
from sublevel.theory.classical import ellipsoid_radius

from .network_losses import spread_of
from .plain_network import Networks


@dataclass(frozen=True)
class Placed:
    """Ellipsoids at n contexts: location and scale, both of shape (n, m)."""

    location: Array
    scale: Array

    def losses(self, costs: Array) -> Array:
        """Squared residuals in units of the scale, shape (n, m)."""
        return np.asarray(((costs - self.location) / self.scale) ** 2)


def by_network(networks: Networks, which: int, X: Array) -> Placed:
    """The paper's sets: a network's mean, with its spread if it predicts one."""
    outputs = networks.outputs(which, X)
    location = outputs[..., 0]
    if outputs.shape[-1] == 1:
        return Placed(location, np.ones_like(location))
    return Placed(location, spread_of(outputs[..., 1]))


def classical(costs: Array, n: int) -> Placed:
    """Mean and deviation of past costs (N, m), at every one of n contexts."""
    mean, deviation = costs.mean(axis=0), costs.std(axis=0, ddof=1)
    return Placed(np.tile(mean, (n, 1)), np.tile(deviation, (n, 1)))


def nearest(rows: Array, costs: Array, X: Array) -> Placed:
    """Mean and deviation over the sqrt(N) nearest rows of each component.

    Ohmori (2021) encloses the neighbours' cost vectors; with components that share a
    model the neighbours of each are sought among all rows, 5 or 40 times as many.
    """
    count = max(2, round(np.sqrt(len(rows))))
    index = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(rows)
    near = index.kneighbors(X.reshape(-1, X.shape[-1]), return_distance=False)
    around = costs[near]
    shape = X.shape[:-1]
    # A tie of noiseless neighbours would have no spread at all.
    deviation = np.maximum(around.std(axis=1, ddof=1), 1e-6)
    return Placed(around.mean(axis=1).reshape(shape), deviation.reshape(shape))


@dataclass(frozen=True)
class ResidualQuantile:
    """Sun, Liu and Li's shape: a quantile of the absolute residual, by boosting.

    One shape serves all levels; the factor in front of it is found for each.
    """

    model: Any
    floor: float

    @staticmethod
    def fit(rows: Array, residuals: Array) -> ResidualQuantile:
        """Learn the 90 % quantile from rows (N, p) and residuals (N,)."""
        model = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=0.9,
            max_iter=40,
            max_leaf_nodes=15,
            early_stopping=False,
        )
        size = np.abs(residuals)
        return ResidualQuantile(model.fit(rows, size), 0.01 * float(np.median(size)))

    def scale(self, X: Array) -> Array:
        """The quantile at X of shape (n, m, p), kept above zero."""
        predicted = self.model.predict(X.reshape(-1, X.shape[-1]))
        kept = np.maximum(predicted, max(self.floor, 1e-9))
        return np.asarray(kept.reshape(X.shape[:-1]))


def share_inside(losses: Array, alpha: float) -> float:
    """The least radius that holds a share 1 - alpha of the outcomes at hand."""
    norms = np.sort(np.sqrt(losses.sum(axis=1)))
    rank = int(np.ceil(len(norms) * (1 - alpha) - 1e-9))
    return float(norms[rank - 1])


def classical_radius(costs: Array, alpha: float) -> float:
    """The radius as the paper's tables have it: times the mean deviation of a test."""
    return ellipsoid_radius(alpha) * float(costs.std(axis=0, ddof=1).mean())
