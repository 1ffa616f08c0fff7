"""Slopes by finite differences; curvatures against the Hessian they stand for."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from sublevel.models.nets.criteria import (
    BinaryCrossEntropy,
    CrossEntropy,
    GaussianNLL,
    SpreadNLL,
    SquaredError,
    WeightedSquares,
    spread_and_growth,
)
from sublevel.models.nets.weights import FLOOR, UNIT_SPREAD, spread

B, N, STEP = 2, 7, 1e-6


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def one_hot(classes):
    codes = np.random.default_rng(1).integers(classes, size=(B, N))
    return torch.from_numpy(np.eye(classes)[codes]).mT.contiguous()


def held_gaussian():
    return GaussianNLL(beta=0.5).held(normal(B, 4, N, seed=5))


CASES = {
    "squared": (SquaredError(), normal(B, 3, N), normal(B, 3, N, seed=1)),
    "binary": (BinaryCrossEntropy(), normal(B, 1, N), one_hot(2)[:, 1:]),
    "cross-entropy": (CrossEntropy(), normal(B, 4, N), one_hot(4)),
    "gaussian": (GaussianNLL(), normal(B, 4, N), normal(B, 2, N, seed=1)),
    "beta": (held_gaussian(), normal(B, 4, N), normal(B, 2, N, seed=1)),
    "spread": (SpreadNLL(), normal(B, 2, N), normal(B, 2, N, seed=1)),
    "weighted": (WeightedSquares(), normal(B, 2, N), normal(B, 4, N, seed=1).abs()),
}


def numeric_slope(function, outputs):
    found = torch.empty(*outputs.shape, dtype=outputs.dtype)
    for c in range(outputs.shape[1]):
        move = torch.zeros_like(outputs)
        move[:, c] = STEP
        found[:, c] = (function(outputs + move) - function(outputs - move)) / (2 * STEP)
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_slope_is_the_derivative(name):
    criterion, outputs, outcomes = CASES[name]
    expected = numeric_slope(lambda f: criterion.value(f, outcomes), outputs)
    torch.testing.assert_close(
        criterion.slope(outputs, outcomes), expected, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("name", ["squared", "binary", "weighted"])
def test_the_curvature_is_the_second_derivative(name):
    criterion, outputs, outcomes = CASES[name]
    second = torch.empty_like(outputs)
    for c in range(outputs.shape[1]):
        move = torch.zeros_like(outputs)
        move[:, c] = STEP
        up, down = (criterion.slope(outputs + s * move, outcomes) for s in (1, -1))
        second[:, c] = (up - down)[:, c] / (2 * STEP)
    curvature = criterion.curvature(outputs, outcomes).expand_as(outputs)
    torch.testing.assert_close(curvature, second, rtol=1e-6, atol=1e-8)


def test_the_curvature_of_cross_entropy_is_above_the_hessian_and_half_is_not():
    criterion, outputs, outcomes = CASES["cross-entropy"]
    chance = torch.softmax(outputs, 1).permute(0, 2, 1)
    hessian = torch.diag_embed(chance) - chance[..., None] * chance[..., None, :]
    bound = torch.diag_embed(criterion.curvature(outputs, outcomes).permute(0, 2, 1))
    assert torch.linalg.eigvalsh(bound - hessian).min() > -1e-12
    assert torch.linalg.eigvalsh(bound / 2 - hessian).min() < -1e-3


def test_the_curvature_of_the_likelihood_is_the_fisher_information():
    criterion, outputs, _ = CASES["gaussian"]
    mean, raw = outputs.chunk(2, dim=1)
    deviation, _ = spread_and_growth(raw)
    # Gauss-Hermite quadrature is exact for the square of a quadratic.
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    expected = sum(
        weight * criterion.slope(outputs, mean + node * deviation).square()
        for node, weight in zip(nodes, weights, strict=True)
    )
    torch.testing.assert_close(criterion.curvature(outputs, mean), expected)


def test_beta_weighs_the_likelihood_by_the_spread_held_fixed():
    outputs, outcomes = CASES["gaussian"][1:]
    plain, held = GaussianNLL(), GaussianNLL(beta=1.0).held(outputs)
    deviation, _ = spread_and_growth(outputs.chunk(2, dim=1)[1])
    by_mean = held.slope(outputs, outcomes).chunk(2, dim=1)[0]
    # With beta = 1 the mean is trained by plain squared error.
    torch.testing.assert_close(by_mean, outputs.chunk(2, dim=1)[0] - outcomes)
    weight = torch.cat([deviation, deviation], dim=1).square()
    torch.testing.assert_close(
        held.slope(outputs, outcomes), weight * plain.slope(outputs, outcomes)
    )


def test_values_worked_by_hand():
    # softplus(u) + floor = 1 at the unit spread, where the loss is r^2 / 2.
    outputs = torch.tensor([[[1.0], [UNIT_SPREAD]]], dtype=torch.float64)
    outcomes = torch.tensor([[[3.0]]], dtype=torch.float64)
    assert GaussianNLL().value(outputs, outcomes).item() == pytest.approx(2.0)
    logits = torch.tensor([[[0.0], [np.log(3.0)]]], dtype=torch.float64)
    second = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64)
    wanted = pytest.approx(np.log(4 / 3))
    assert CrossEntropy().value(logits, second).item() == wanted
    odds = logits[:, 1:]
    assert BinaryCrossEntropy().value(odds, second[:, 1:]).item() == wanted


def test_numpy_and_torch_agree_on_the_spread():
    raw = np.linspace(-40, 40, 17)
    np.testing.assert_allclose(
        spread(raw), spread_and_growth(torch.from_numpy(raw))[0].numpy(), rtol=1e-8
    )
    assert spread(np.array(-np.inf)) == FLOOR


def test_a_likelihood_improves_by_an_absolute_amount_a_loss_by_a_share():
    new, best = torch.tensor([-5.0, -5.1]), torch.tensor([-5.0, -5.0])
    assert GaussianNLL().better(new, best).tolist() == [False, True]
    tiny = torch.tensor([1e-9]), torch.tensor([2e-9])
    assert SquaredError().better(*tiny).item()
    assert (
        not SquaredError().better(torch.tensor([1.0]), torch.tensor([1.00005])).item()
    )
