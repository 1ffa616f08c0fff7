"""The plain trainer: slopes by finite differences, and independence of the batch."""

import numpy as np
import pytest

from reproduction.experiments import plain_network
from reproduction.experiments.network_losses import (
    GaussianLikelihood,
    LogLoss,
    SquaredError,
)

CRITERIA = [SquaredError(), GaussianLikelihood(), LogLoss()]


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
def test_the_gradient_is_that_of_the_loss(criterion):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(2, 30, 3)), np.ones((2, 30, 1))], axis=2)
    y = (rng.normal(size=(2, 30)) > 0).astype(float)
    start = [plain_network._start(rng, 3, criterion.outputs) for _ in range(2)]
    weights = np.stack(start) + 0.1 * rng.normal(size=np.shape(start))

    def loss(w):
        outputs = plain_network._forward(w, X, criterion.outputs)[1]
        return criterion.value(outputs, y)

    slope = plain_network._slope(weights, X, y, criterion)
    for j in range(weights.shape[1]):
        step = np.zeros_like(weights)
        step[:, j] = 1e-6
        numeric = (loss(weights + step) - loss(weights - step)) / 2e-6
        assert slope[:, j] == pytest.approx(numeric, abs=1e-6)


def test_a_network_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3, 200, 2))
    y = X[..., 0] + 0.1 * rng.normal(size=(3, 200))
    together = plain_network.train(X, y, SquaredError(), _rngs(3))
    alone = plain_network.train(X[1:2], y[1:2], SquaredError(), _rngs(3)[1:2])
    assert (together.held_out[1] == alone.held_out[0]).all()
    assert together.outputs(1, X[1]) == pytest.approx(alone.outputs(0, X[1]), abs=0.05)


def test_early_stopping_keeps_the_best_weights(monkeypatch):
    monkeypatch.setattr(plain_network, "MOST_EPOCHS", 40)
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(1, 60, 4)), rng.normal(size=(1, 60))
    found = plain_network.train(X, y, SquaredError(), _rngs(1))
    held = found.held_out[0]
    assert len(held) == 18
    kept = np.mean((found.outputs(0, X[0, held])[:, 0] - y[0, held]) ** 2)
    monkeypatch.setattr(plain_network, "MOST_EPOCHS", 1)
    first = plain_network.train(X, y, SquaredError(), _rngs(1))
    assert kept <= np.mean((first.outputs(0, X[0, held])[:, 0] - y[0, held]) ** 2)


def _rngs(count):
    return [np.random.default_rng([7, i]) for i in range(count)]
