"""SPO+ against its definition, by enumeration of every decision; the estimator."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from sublevel.errors import InvalidParameter
from sublevel.models.nets import (
    GridPathOracle,
    NetworkRegressor,
    SimplexOracle,
    SPOPlusRegressor,
)
from sublevel.models.nets.spo_plus import SPOPlus


def all_paths(side):
    """Every path of the grid: the oracle's answers to many random costs."""
    oracle = GridPathOracle(side)
    draws = np.random.default_rng(0).normal(size=(4000, oracle.n_edges))
    return np.unique(oracle(draws), axis=0)


CASES = {
    "simplex": (SimplexOracle(), np.eye(4)),
    "grid": (GridPathOracle(3), all_paths(3)),
}


def draw(m, seed):
    return np.random.default_rng(seed).normal(size=(30, m))


def tensors(*arrays):
    """Rows (n, m) as the tensors (1, m, n) that criteria take."""
    return [torch.from_numpy(array.T[None].copy()) for array in arrays]


def by_definition(predicted, costs, vertices):
    """max over w of (c - 2 p) w + 2 p w(c) - c w(c), over all vertices."""
    best = vertices[(costs @ vertices.T).argmin(axis=1)]
    worst = ((costs - 2 * predicted) @ vertices.T).max(axis=1)
    return worst + 2 * (predicted * best).sum(axis=1) - (costs * best).sum(axis=1)


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_its_definition(name):
    oracle, vertices = CASES[name]
    assert len(vertices) == {"simplex": 4, "grid": 6}[name]
    predicted, costs = draw(vertices.shape[1], 1), draw(vertices.shape[1], 2)
    criterion = SPOPlus(oracle)
    outputs, c = tensors(predicted, costs)
    found = criterion.value(outputs, criterion.with_decisions(c))[0].numpy()
    expected = by_definition(predicted, costs, vertices)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_slope_is_a_subgradient(name):
    oracle, vertices = CASES[name]
    m = vertices.shape[1]
    predicted, costs, elsewhere = draw(m, 1), draw(m, 2), draw(m, 3)
    criterion = SPOPlus(oracle)
    outputs, c, other = tensors(predicted, costs, elsewhere)
    outcomes = criterion.with_decisions(c)
    slope = criterion.slope(outputs, outcomes)
    by_hand = 2 * (oracle(costs) - oracle(2 * predicted - costs))
    np.testing.assert_array_equal(slope[0].numpy().T, by_hand)
    below = criterion.value(outputs, outcomes) + (slope * (other - outputs)).sum(1)
    assert (criterion.value(other, outcomes) >= below - 1e-12).all()
    # At most points the loss is differentiable, and the slope is the derivative.
    step = 1e-7 * (other - outputs)
    change = criterion.value(outputs + step, outcomes) - criterion.value(
        outputs, outcomes
    )
    torch.testing.assert_close(change, (slope * step).sum(1), rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_loss_bounds_the_regret_and_vanishes_at_the_truth(name):
    oracle, vertices = CASES[name]
    predicted, costs = draw(vertices.shape[1], 1), draw(vertices.shape[1], 2)
    criterion = SPOPlus(oracle)
    outputs, c = tensors(predicted, costs)
    outcomes = criterion.with_decisions(c)
    regret = (costs * (oracle(predicted) - oracle(costs))).sum(axis=1)
    loss = criterion.value(outputs, outcomes)[0].numpy()
    assert (loss >= regret - 1e-12).all()
    assert regret.max() > 0.1
    np.testing.assert_allclose(criterion.value(c, outcomes), 0.0, atol=1e-12)


def steep_costs(n, rng):
    """Costs that one hidden unit cannot fit, though it can tell the cheapest."""
    X = rng.normal(size=(n, 2))
    cheap = np.exp(2 * X[:, 0])
    return X, np.column_stack([cheap, np.full(n, 1.5)]) + 0.1 * rng.normal(size=(n, 2))


def test_it_decides_better_than_squared_error_where_the_network_cannot_fit():
    rng = np.random.default_rng(0)
    X, costs = steep_costs(600, rng)
    X_test, costs_test = steep_costs(4000, rng)
    oracle = SimplexOracle()

    def regret(network):
        gap = oracle(network.predict(X_test)) - oracle(costs_test)
        return (costs_test * gap).sum(axis=1).mean()

    settings = {"hidden_units": 1, "random_state": 0}
    squared = regret(NetworkRegressor(**settings).fit(X, costs))
    aware = regret(SPOPlusRegressor(oracle, **settings).fit(X, costs))
    assert aware < 0.6 * squared


def test_components_may_share_a_network_on_their_own_covariates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4, 2))
    costs = np.abs(X[..., 0])
    network = SPOPlusRegressor(SimplexOracle(), random_state=0).fit(X, costs)
    assert network.coefs_[1].shape == (5, 1)
    assert network.predict(X).shape == (300, 4)
    assert (network.decide(X).argmax(axis=1) == costs.argmin(axis=1)).mean() > 0.95
    with pytest.raises(
        InvalidParameter, match=r"must have 3 axes, the last of length 2"
    ):
        network.predict(X[..., :1])


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_of_the_costs_do_not_matter(scale):
    X, costs = steep_costs(200, np.random.default_rng(1))
    small = SPOPlusRegressor(SimplexOracle(), random_state=0).fit(X, costs)
    large = SPOPlusRegressor(SimplexOracle(), random_state=0).fit(X, scale * costs)
    np.testing.assert_allclose(scale * small.predict(X), large.predict(X), rtol=1e-5)


def test_errors():
    X, costs = np.ones((10, 2)), np.ones((10, 3))
    with pytest.raises(InvalidParameter, match=r"oracle=.* must be a callable"):
        SPOPlusRegressor("simplex").fit(X, costs)
    with pytest.raises(InvalidParameter, match="finite decisions of the same shape"):
        SPOPlusRegressor(lambda costs: costs[:, :1]).fit(X, costs)
    with pytest.raises(InvalidParameter, match=r"\(n, m, p\) with costs of shape"):
        SPOPlusRegressor(SimplexOracle()).fit(np.ones((10, 4, 2)), costs)
