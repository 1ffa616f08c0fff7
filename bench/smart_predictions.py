"""SPO+ next to PyEPO on the shortest path through a 5 x 5 grid: time, and regret.

Both train the same network (5 rectified linear units) by Adam from the same weights,
on the same batches in the same order: after as many steps the regrets must agree. So
the ratio is that of the loss with its oracle, and of the loop around it. PyEPO solves
instance by instance; it is given

- a dynamic program in plain Python, far faster than any solver it comes with, and
- its own model, solved by HiGHS, if Pyomo is installed.

Data as in Elmachtoub & Grigas (2022), degree 4, noise 1/2. Regret is relative to the
cost of the best paths. The ways alternate from seed to seed, medians of CPU time an
epoch. Needs torch and `pip install pyepo`.
Run with `python bench/smart_predictions.py [epochs] [seeds]`.
"""

import sys
import time
from importlib.util import find_spec
from statistics import median

import numpy as np
import torch

from sublevel.models.nets import GridPathOracle
from sublevel.models.nets.adam import BATCH, LEARNING_RATE, adam
from sublevel.models.nets.epochs import Rules
from sublevel.models.nets.plans import Starts
from sublevel.models.nets.rows import Layers, Rows
from sublevel.models.nets.spo_plus import SPOPlus

SIDE, COVARIATES, UNITS = 5, 5, 5
TRAIN, VALIDATION, TEST = 700, 300, 2000
ORACLE = GridPathOracle(SIDE)


def draw(seed):
    """Covariates with a constant (p + 1, n), and costs (m, n), in one unit."""
    rng = np.random.default_rng(seed)
    n = TRAIN + VALIDATION + TEST
    X = rng.normal(size=(n, COVARIATES))
    kinds = rng.integers(0, 2, size=(COVARIATES, ORACLE.n_edges))
    costs = (X @ kinds / np.sqrt(COVARIATES) + 3) ** 4 / 3.5**4 + 1
    costs *= rng.uniform(0.5, 1.5, size=costs.shape)
    return np.vstack([X.T, np.ones((1, n))]), costs.T / costs.std()


def start(seed):
    """Rows to train on, rows to test on, and first weights."""
    X, costs = (torch.from_numpy(part[None]) for part in draw(seed))
    end = TRAIN + VALIDATION
    rows = Rows(X[..., :end], SPOPlus(ORACLE).with_decisions(costs[..., :end]), TRAIN)
    weights = Starts([np.random.default_rng(seed)], UNITS).layers(rows, ORACLE.n_edges)
    weights.output[..., -1] = costs[..., :TRAIN].mean(2)
    return rows, (X[..., end:], costs[..., end:]), weights


def ours(rows, weights, epochs, seed):
    """Weights of least validation loss in so many epochs."""
    draws = [np.random.default_rng(seed)]
    return adam(rows, weights, SPOPlus(ORACLE), Rules(epochs, epochs), draws).layers


def by_pyepo(rows, weights, epochs, seed, model):
    """The same by PyEPO's loss, torch's gradients and torch's Adam."""
    from pyepo.func import SPOPlus as Loss

    loss, rng = Loss(model, processes=1), np.random.default_rng(seed)
    hidden, output = (
        w.clone().requires_grad_() for w in (weights.hidden, weights.output)
    )
    optimiser = torch.optim.Adam([hidden, output], lr=LEARNING_RATE)
    costs, decisions = rows.outcomes[0].chunk(2)

    def value(chosen):
        said = Layers(hidden, output).outputs(rows.covariates[..., chosen])[1][0]
        c, w = costs[:, chosen], decisions[:, chosen]
        return loss(said.T, c.T, w.T, (c * w).sum(0)[:, None])

    validation = torch.arange(TRAIN, TRAIN + VALIDATION)
    best, kept = np.inf, weights
    for epoch in range(epochs + 1):
        order = rng.permutation(TRAIN) if epoch else []
        for first in range(0, len(order), BATCH):
            optimiser.zero_grad()
            value(torch.from_numpy(order[first : first + BATCH])).backward()
            optimiser.step()
        with torch.no_grad():
            now = float(value(validation))
        if now < best:
            best, kept = now, Layers(hidden.detach().clone(), output.detach().clone())
    return kept


def by_hand():
    """A PyEPO model of the grid: a dynamic program in plain Python."""
    from pyepo.model.opt import optModel

    class Grid(optModel):
        def _getModel(self):  # noqa: N802, PyEPO's name
            return None, range(ORACLE.n_edges)

        def setObj(self, c):  # noqa: N802, PyEPO's name
            self.costs = np.asarray(c, dtype=float).tolist()

        def solve(self):
            return path(self.costs)

    return Grid()


def path(costs):
    """Cheapest path and its cost, node by node from the end."""
    last, to_go, ahead = SIDE - 1, {(SIDE - 1, SIDE - 1): 0.0}, {}
    for row in range(last, -1, -1):
        for column in range(last, -1, -1):
            ways = []
            if column < last:
                edge, node = ORACLE.east(row, column), (row, column + 1)
                ways.append((costs[edge] + to_go[node], edge, node))
            if row < last:
                edge, node = ORACLE.south(row, column), (row + 1, column)
                ways.append((costs[edge] + to_go[node], edge, node))
            if ways:
                to_go[row, column], *ahead[row, column] = min(ways)
    decision, node = np.zeros(len(costs)), (0, 0)
    while node in ahead:
        edge, node = ahead[node]
        decision[edge] = 1.0
    return decision, to_go[0, 0]


def by_highs():
    """PyEPO's own model of the grid, by Pyomo and HiGHS."""
    from pyepo.model.omo import shortestPathModel

    return shortestPathModel((SIDE, SIDE), solver="appsi_highs")


def regret(weights, X, costs):
    """Cost above that of the best paths, as a share of it."""
    said, costs = weights.outputs(X)[1][0].T.numpy(), costs[0].T.numpy()
    best = np.sum(costs * ORACLE(costs))
    return float(np.sum(costs * ORACLE(said)) / best - 1)


def timed(model, rows, weights, epochs, seed):
    """Trained weights, by PyEPO if it is given a model, and CPU seconds an epoch."""
    begin = time.process_time()
    if model is None:
        found = ours(rows, weights, epochs, seed)
    else:
        found = by_pyepo(rows, weights, epochs, seed, model)
    return found, (time.process_time() - begin) / epochs


def main(epochs=5, seeds=3):
    torch.set_num_threads(1)
    models = {"sublevel": None, "PyEPO, plain Python": by_hand()}
    if find_spec("pyomo"):
        models["PyEPO, HiGHS"] = by_highs()
    results = {name: [] for name in models}
    before = []
    # The first call loads what PyEPO needs.
    rows, _, weights = start(0)
    timed(models["PyEPO, plain Python"], rows, weights, 1, 0)
    for seed in range(seeds):
        rows, test, weights = start(seed)
        before.append(regret(weights, *test))
        for name, model in models.items():
            found, seconds = timed(model, rows, weights, epochs, seed)
            results[name].append((seconds, regret(found, *test)))
    print(f"{seeds} seeds, {epochs} epochs of {TRAIN} rows")
    print(f"regret before training {np.mean(before):.2%}")
    print(f"{'':<22}{'CPU ms/epoch':>14}{'ratio':>8}{'regret':>10}{'difference':>12}")
    own = np.array(results["sublevel"])
    for name, pairs in results.items():
        found = np.array(pairs)
        cost, base = median(found[:, 0]), median(own[:, 0])
        gap = np.abs(found[:, 1] - own[:, 1]).max()
        print(f"{name:<22}{1e3 * cost:>14.1f}{cost / base:>8.1f}", end="")
        print(f"{found[:, 1].mean():>10.2%}{gap:>12.1e}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
