"""Gradient and Gauss-Newton matrix against finite differences of the network."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from sublevel.models.nets import gauss_newton as module
from sublevel.models.nets.adam import by_component
from sublevel.models.nets.gauss_newton import linearise
from sublevel.models.nets.rows import Layers

B, P, H, K, N = 3, 2, 4, 3, 50


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def network():
    X = torch.cat([normal(B, P, N), torch.ones(B, 1, N, dtype=torch.float64)], dim=1)
    return X, Layers(normal(B, H, P + 1, seed=1), normal(B, K, H + 1, seed=2))


def jacobian(layers, X, step=1e-6):
    """Derivative of every output by every weight, by central differences: (B, K, N, P).

    Outputs are piecewise linear in each weight, so this is exact up to rounding.
    """
    columns = []
    for index in range(layers.size):
        move = torch.zeros(B, layers.size, dtype=torch.float64)
        move[:, index] = step
        up, down = (layers.moved(sign * move).outputs(X)[1] for sign in (1, -1))
        columns.append((up - down) / (2 * step))
    return torch.stack(columns, dim=3)


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("block", [4096, 7])
def test_against_finite_differences(uniform, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    X, layers = network()
    slope = normal(B, K, N, seed=3)
    weight = normal(B, K, N, seed=4).abs()
    if uniform:
        weight = torch.ones(1, 1, 1, dtype=torch.float64)
    inputs, _ = layers.outputs(X)
    gradient, matrix = linearise(inputs, X, slope, weight, layers)
    by_weight = jacobian(layers, X)
    expected = torch.einsum("bknp,bkn->bp", by_weight, slope) / N
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-8)
    each = weight.expand(B, K, N)
    square = torch.einsum("bknp,bkn,bknq->bpq", by_weight, each, by_weight) / N
    torch.testing.assert_close(matrix, square, rtol=1e-6, atol=1e-8)


def test_components_that_share_a_network_are_told_apart():
    # Columns are row by row, the components of a row next to each other.
    outputs = torch.arange(6.0).view(1, 1, 6)
    assert by_component(outputs, n=3).tolist() == [[[0, 2, 4], [1, 3, 5]]]
