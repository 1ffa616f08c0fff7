"""SPO+ (Elmachtoub and Grigas 2022): costs predicted for the decisions they lead to."""

from __future__ import annotations

import numpy as np

from sublevel.checks import Array
from sublevel.models.nets import (
    GridPathOracle,
    SimplexOracle,
    SPOPlusRegressor,
    fit_many,
)

from .settings import EXPERIMENTS, Cell


def smart_costs(cell: Cell, data: list[tuple[Array, Array, Array]]) -> list[Array]:
    """Predicted costs (n, m) for each seed, from rows, their costs, and contexts.

    The loss needs whole instances, so m consecutive rows make one.
    """
    m = EXPERIMENTS[cell.setting.problem].components
    n = cell.setting.size // m
    oracle = SimplexOracle() if m == 5 else GridPathOracle(5)
    rows = np.stack([X[: n * m].reshape(n, m, -1) for X, _, _ in data])
    costs = np.stack([y[: n * m].reshape(n, m) for _, y, _ in data])
    networks = fit_many(
        SPOPlusRegressor(oracle, n_restarts=1), rows, costs, list(cell.seeds)
    )
    each = zip(networks, data, strict=True)
    return [np.asarray(network.predict(X)) for network, (_, _, X) in each]
