"""Gradient and Gauss-Newton matrix against automatic differentiation of the network."""

import numpy as np
import pytest
import torch

from sublevel.models.nets import curvature as module
from sublevel.models.nets.adam import by_component
from sublevel.models.nets.curvature import linearise
from sublevel.models.nets.rows import Layers

B, P, H, K, N = 3, 2, 4, 3, 50


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def network():
    X = torch.cat([normal(B, P, N), torch.ones(B, 1, N, dtype=torch.float64)], dim=1)
    return X, Layers(normal(B, H, P + 1, seed=1), normal(B, K, H + 1, seed=2))


def flat_outputs(layers, X, b):
    """The outputs of network b as a function of its weights in one row."""

    def run(weights):
        moved = Layers(
            weights[: H * (P + 1)].view(1, H, P + 1),
            weights[H * (P + 1) :].view(1, K, H + 1),
        )
        return moved.outputs(X[b : b + 1])[1][0]

    weights = torch.cat([layers.hidden[b].flatten(), layers.output[b].flatten()])
    return run, weights


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("block", [4096, 7])
def test_against_automatic_differentiation(uniform, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    X, layers = network()
    slope = normal(B, K, N, seed=3)
    weight = normal(B, K, N, seed=4).abs()
    if uniform:
        weight = torch.ones(1, 1, 1, dtype=torch.float64)
    inputs, _ = layers.outputs(X)
    gradient, matrix = linearise(inputs, X, slope, weight, layers)
    for b in range(B):
        run, weights = flat_outputs(layers, X, b)
        jacobian = torch.autograd.functional.jacobian(run, weights)  # (K, N, P)
        expected = torch.einsum("knp,kn->p", jacobian, slope[b]) / N
        torch.testing.assert_close(gradient[b], expected)
        each = weight.expand(B, K, N)[b]
        square = torch.einsum("knp,kn,knq->pq", jacobian, each, jacobian) / N
        torch.testing.assert_close(matrix[b], square)


def test_components_that_share_a_network_are_told_apart():
    # Columns are row by row, the components of a row next to each other.
    outputs = torch.arange(6.0).view(1, 1, 6)
    assert by_component(outputs, n=3).tolist() == [[[0, 2, 4], [1, 3, 5]]]
