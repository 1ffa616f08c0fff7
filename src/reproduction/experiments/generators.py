"""The paper's made-up data, by the conventions that give its tables.

The truth is a sum of k of the p covariates. The paper draws each with probability one
half; k = 6 of 10 fits its tables, and a fixed k keeps that draw out of the spread over
seeds. Components (assets, edges) share this truth, each with covariates of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sublevel.checks import Array

#: Covariates, and how many of them matter.
COVARIATES, RELEVANT = 10, 6


def portfolio(
    rng: np.random.Generator, shape: tuple[int, ...], noise: float
) -> tuple[Array, Array]:
    """Covariates (*shape, p), uniform on [-1, 1], and costs: minus the returns.

    Examples
    --------
    >>> X, costs = portfolio(np.random.default_rng(0), (100, 5), noise=0.1)
    >>> X.shape, costs.shape
    ((100, 5, 10), (100, 5))
    """
    X = rng.uniform(-1, 1, (*shape, COVARIATES))
    signal = _signal(X) / np.sqrt(COVARIATES)
    return X, -signal * _factor(rng, shape, noise)


def shortest_path(
    rng: np.random.Generator, shape: tuple[int, ...], noise: float, degree: int
) -> tuple[Array, Array]:
    """Standard normal covariates (*shape, p) and costs of edges.

    The signal is not divided by sqrt(p), as the paper's formula has it: with the
    division its radii cannot be had.
    """
    X = rng.normal(size=(*shape, COVARIATES))
    costs = (_signal(X) + 3) ** degree + 1
    return X, costs * _factor(rng, shape, noise)


def newsvendor(
    rng: np.random.Generator, size: int, noise: float
) -> tuple[Array, Array]:
    """Standard normal covariates (size, p); 1.0 where demand is high, else 0.0."""
    X = rng.normal(size=(size, COVARIATES))
    q = _signal(X) / np.sqrt(COVARIATES) + noise * rng.normal(size=size)
    return X, (q < 0).astype(float)


def _signal(X: Array) -> Any:
    return X[..., :RELEVANT].sum(axis=-1)


def _factor(rng: np.random.Generator, shape: tuple[int, ...], noise: float) -> Array:
    """Multiplicative noise around one."""
    return np.asarray(rng.uniform(1 - noise, 1 + noise, shape))
