"""The paper's networks, trained as plainly as it did.

Five rectified units, Adam at 1e-3 on batches of 32, Glorot's starts, stopped after ten
epochs without improvement on a random 30 % of the rows. `sublevel.models.nets` trains
better ones; these are here because the published radii are those of plain training.
Networks are trained side by side, each with random numbers and a stopping rule of its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sublevel.checks import Array

from .network_losses import Criterion

UNITS, BATCH, PATIENCE, MOST_EPOCHS = 5, 32, 10, 600
HELD_OUT = 0.3
RATE, DECAY, SQUARE_DECAY, FLOOR = 1e-3, 0.9, 0.999, 1e-7


@dataclass(frozen=True)
class Networks:
    """Weights of b networks: hidden (b, p + 1, h) and output (b, h + 1, k).

    Attributes
    ----------
    held_out : array of shape (b, n_validation): rows that early stopping looked at
    epochs : array of shape (b,)
    """

    hidden: Array
    output: Array
    held_out: Any
    epochs: Any

    def outputs(self, which: int, X: Array) -> Array:
        """Outputs of one network at X of shape (..., p): shape (..., k)."""
        hidden, output = self.hidden[which], self.output[which]
        inside = np.maximum(X @ hidden[:-1] + hidden[-1], 0)
        return np.asarray(inside @ output[:-1] + output[-1])


def train(
    X: Array, y: Array, criterion: Criterion, rngs: Sequence[np.random.Generator]
) -> Networks:
    """Train b networks on X of shape (b, n, p) and y of shape (b, n).

    Examples
    --------
    >>> from reproduction.experiments.network_losses import SquaredError
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1, 400, 2))
    >>> networks = train(X, X[..., 0], SquaredError(), [rng])
    >>> bool(np.mean((networks.outputs(0, X[0])[:, 0] - X[0, :, 0]) ** 2) < 0.05)
    True
    """
    n_held = int(HELD_OUT * X.shape[1])
    order = np.stack([rng.permutation(X.shape[1]) for rng in rngs])
    X = np.concatenate([X, np.ones((*X.shape[:2], 1))], axis=2)
    X, y = _rows(X, order), np.take_along_axis(y, order, axis=1)
    weights = np.stack([_start(rng, X.shape[2] - 1, criterion.outputs) for rng in rngs])
    best, epochs = _descend(
        weights,
        (X[:, n_held:], y[:, n_held:]),
        (X[:, :n_held], y[:, :n_held]),
        criterion,
        list(rngs),
    )
    hidden, output = _split(best, X.shape[2], criterion.outputs)
    return Networks(hidden, output, order[:, :n_held], epochs)


def _descend(
    weights: Array,
    training: tuple[Array, Array],
    held: tuple[Array, Array],
    criterion: Criterion,
    rngs: list[np.random.Generator],
) -> tuple[Array, Any]:
    """The best weights of each network, and its number of epochs."""
    best, epochs = weights.copy(), np.zeros(len(weights), dtype=int)
    running = np.arange(len(weights))
    state = _Adam(weights.copy(), np.zeros_like(weights), np.zeros_like(weights))
    least, waited = np.full(len(weights), np.inf), np.zeros(len(weights), dtype=int)
    for _ in range(MOST_EPOCHS):
        order = np.stack([rngs[i].permutation(training[1].shape[1]) for i in running])
        X, y = _rows(training[0], order), np.take_along_axis(training[1], order, axis=1)
        for at in range(0, y.shape[1], BATCH):
            state.step(X[:, at : at + BATCH], y[:, at : at + BATCH], criterion)
        outputs = _forward(state.weights, held[0], criterion.outputs)[1]
        loss = criterion.value(outputs, held[1])
        lower = loss < least[running]
        best[running[lower]], least[running[lower]] = state.weights[lower], loss[lower]
        epochs[running] += 1
        waited[running] = np.where(lower, 0, waited[running] + 1)
        on = waited[running] < PATIENCE
        if not on.any():
            break
        if not on.all():
            running, state = running[on], state.keep(on)
            training = training[0][on], training[1][on]
            held = held[0][on], held[1][on]
    return best, epochs


@dataclass
class _Adam:
    """Weights (b, P) and running moments of their gradient."""

    weights: Array
    mean: Array
    square: Array
    steps: int = 0

    def step(self, X: Array, y: Array, criterion: Criterion) -> None:
        slope = _slope(self.weights, X, y, criterion)
        self.steps += 1
        self.mean += (1 - DECAY) * (slope - self.mean)
        self.square += (1 - SQUARE_DECAY) * (slope * slope - self.square)
        size = np.sqrt(self.square / (1 - SQUARE_DECAY**self.steps)) + FLOOR
        self.weights -= RATE / (1 - DECAY**self.steps) * self.mean / size

    def keep(self, on: Any) -> _Adam:
        return _Adam(self.weights[on], self.mean[on], self.square[on], self.steps)


def _slope(weights: Array, X: Array, y: Array, criterion: Criterion) -> Array:
    """Gradient of the mean loss by all weights, shape (b, P)."""
    inside, outputs = _forward(weights, X, criterion.outputs)
    back = criterion.slope(outputs, y)
    output = _split(weights, X.shape[2], criterion.outputs)[1]
    by_inside = (back @ output[:, :-1].mT) * (inside > 0)
    b = len(weights)
    return np.concatenate(
        [
            (X.mT @ by_inside).reshape(b, -1),
            (inside.mT @ back).reshape(b, -1),
            back.sum(axis=1),
        ],
        axis=1,
    )


def _forward(weights: Array, X: Array, outputs: int) -> tuple[Array, Array]:
    """Values of the hidden units (b, n, h) and outputs (b, n, k)."""
    hidden, output = _split(weights, X.shape[2], outputs)
    inside = np.maximum(X @ hidden, 0)
    return inside, inside @ output[:, :-1] + output[:, -1:]


def _split(weights: Array, rows: int, outputs: int) -> tuple[Array, Array]:
    b, cut = len(weights), rows * UNITS
    return (
        weights[:, :cut].reshape(b, rows, UNITS),
        weights[:, cut:].reshape(b, UNITS + 1, outputs),
    )


def _start(rng: np.random.Generator, p: int, outputs: int) -> Array:
    """Glorot's uniform weights, biases of zero, as one vector."""
    hidden, output = np.zeros((p + 1, UNITS)), np.zeros((UNITS + 1, outputs))
    reach = np.sqrt(6 / (p + UNITS)), np.sqrt(6 / (UNITS + outputs))
    hidden[:-1] = rng.uniform(-reach[0], reach[0], (p, UNITS))
    output[:-1] = rng.uniform(-reach[1], reach[1], (UNITS, outputs))
    return np.concatenate([hidden.ravel(), output.ravel()])


def _rows(X: Array, order: Any) -> Array:
    """Rows of each network in its own order."""
    return np.asarray(X[np.arange(len(X))[:, None], order])
