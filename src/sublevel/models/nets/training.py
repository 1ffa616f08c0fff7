"""From arrays to trained networks: in groups, restarts compared, units restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...checks import Array
from ...errors import InvalidParameter
from .draws import row_order
from .epochs import Rules
from .gauss_newton import BLOCK
from .plans import Plan, Result, Starts
from .rows import Rows
from .weights import Scaling, Weights, standardise

#: Networks train in groups whose working memory is about this: larger groups leave the
#: processor's cache, smaller ones wait for Python.
GROUP_BYTES = 8e6


@dataclass(frozen=True)
class Task:
    """B networks to train.

    Parameters
    ----------
    X : array of shape (B, N, p) or (B, N, m, p); B may be 1 for shared covariates
    Y : array of shape (B, N, m)
    labels : array of shape (B, N), or None: classes that the split keeps in balance
    seeds : list of B integers
    """

    X: Array
    Y: Array
    labels: npt.NDArray[np.int_] | None
    seeds: list[int]
    hidden_units: int
    n_restarts: int
    n_validation: int
    rules: Rules


@dataclass(frozen=True)
class Fitted:
    """Weights of B networks, outcome units (B, 1, m), losses and epochs (B,)."""

    weights: Weights
    units: Array
    losses: Array
    epochs: Array


def train(task: Task, plan: Plan) -> Fitted:
    """Train every network from every start and keep the best start of each."""
    scalings = standardise(task.X), plan.scale(task.Y)
    if not all(np.isfinite(s.unit).all() for s in scalings):
        raise InvalidParameter(
            "A network cannot be trained on values whose squares overflow. Divide them "
            "by a constant."
        )
    jobs = [(i, r) for i in range(len(task.Y)) for r in range(task.n_restarts)]
    size = _group_size(task)
    with _one_thread():
        results = [
            _train_group(task, plan, scalings, jobs[start : start + size])
            for start in range(0, len(jobs), size)
        ]
    return _best(results, task.n_restarts, scalings)


def _train_group(
    task: Task,
    plan: Plan,
    scalings: tuple[Scaling, Scaling],
    jobs: list[tuple[int, int]],
) -> Result:
    covariates, outcomes = [], []
    for i, _ in jobs:
        labels = None if task.labels is None else task.labels[i]
        order = row_order(task.seeds[i], task.Y.shape[1], labels)
        X = scalings[0].apply(task.X[i if len(task.X) > 1 else 0][order], i)
        X = X.reshape(-1, X.shape[-1]).T
        covariates.append(np.vstack([X, np.ones((1, X.shape[1]))]))
        outcomes.append(scalings[1].apply(task.Y[i][order], i).T)
    rows = Rows(
        torch.from_numpy(np.stack(covariates)),
        torch.from_numpy(np.stack(outcomes)),
        task.Y.shape[1] - task.n_validation,
    )
    draws = [np.random.default_rng([task.seeds[i], 1, r]) for i, r in jobs]
    return plan.train(rows, Starts(draws, task.hidden_units), task.rules)


def _best(
    results: list[Result], n_restarts: int, scalings: tuple[Scaling, Scaling]
) -> Fitted:
    """The restart of lowest validation loss of each network, in the data's units."""

    def joined(parts: list[Tensor]) -> Array:
        whole: Array = torch.cat(parts).numpy()
        return whole.reshape(-1, n_restarts, *whole.shape[1:])

    losses = joined([r.trained.loss for r in results])
    winner = np.nanargmin(losses, axis=1)

    def chosen(parts: list[Tensor]) -> Array:
        best: Array = joined(parts)[np.arange(len(winner)), winner]
        return best

    layers = [r.trained.layers for r in results]
    weights = Weights.of_layers(
        chosen([x.hidden for x in layers]), chosen([x.output for x in layers])
    )
    units = scalings[1].unit * chosen([r.unit for r in results])[:, None]
    outputs = _output_scaling(scalings[1], units, weights.coefs[1].shape[2])
    epochs = joined([r.trained.epochs for r in results]).sum(axis=1)
    return Fitted(
        weights.in_units(scalings[0], outputs), units, losses.min(axis=1), epochs
    )


def _output_scaling(outcomes: Scaling, units: Array, n_outputs: int) -> Scaling:
    """Outputs that stand for outcomes are in their units; others (spreads) are bare."""
    B, _, m = units.shape
    center, unit = np.zeros((B, 1, n_outputs)), np.ones((B, 1, n_outputs))
    # A network that all components share has one output for all m.
    own = min(m, n_outputs)
    center[..., :own], unit[..., :own] = outcomes.center[..., :own], units[..., :own]
    return Scaling(center, unit)


def _group_size(task: Task) -> int:
    """How many networks fit into the working memory of one group."""
    columns = task.hidden_units * (task.X.shape[-1] + 2) + 1
    rows = min(BLOCK, np.prod(task.X.shape[1:-1]))
    return max(1, int(GROUP_BYTES / (8 * columns * rows)))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Matrices this small are slower on several threads, far slower on busy cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
