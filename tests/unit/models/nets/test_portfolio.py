"""The paper's portfolio with full noise: what a predicted spread does to the radius."""

import numpy as np
import pytest

pytest.importorskip("torch")

import sublevel as sl
from sublevel.models.nets import GaussianNetworkRegressor, NetworkRegressor

ALPHAS = (0.1, 0.05, 0.01)
SOME = np.array([1, 1, 1, 1, 1, 1, 0, 0, 0, 0]) / np.sqrt(10)
UNIT = np.sqrt(0.2 * (1 + 1 / 3))


def draw(rng, *shape, noise=1.0):
    """Returns: a line times uniform noise around 1, or a line plus even noise."""
    X = rng.uniform(-1, 1, size=(*shape, 10))
    mean = X @ SOME / UNIT
    if noise == "even":
        return X, mean + rng.uniform(-0.7, 0.7, size=shape)
    return X, mean * rng.uniform(1 - noise, 1 + noise, size=shape)


def losses(seed, noise=1.0):
    """Component losses of 2000 instances of 5 assets, and the mean spread of each."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, 5000, noise=noise)
    plain = NetworkRegressor(random_state=seed).fit(X, y)
    spread = GaussianNetworkRegressor(random_state=seed).fit(X, y)
    X, Y = draw(rng, 2000, 5, noise=noise)
    rows = X.reshape(-1, 10)
    mean, std = (a.reshape(Y.shape) for a in spread.predict(rows, return_std=True))
    squared = (Y - plain.predict(rows).reshape(Y.shape)) ** 2
    return squared, ((Y - mean) / std) ** 2, std.mean()


def paper(components, alpha):
    return sl.guarantees.PaperLLN().radius(components, alpha)


def order_statistic(components, alpha):
    found = sl.guarantees.Marginal().calibrate(components.sum(axis=1), alpha)
    return np.sqrt(found.budget)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("rule", [paper, order_statistic])
def test_the_spread_makes_the_radius_smaller_at_every_level(seed, rule):
    squared, scaled, unit = losses(seed)
    for alpha in ALPHAS:
        # In the units of the outcome: times the mean spread, as the paper reports it.
        assert unit * rule(scaled, alpha) < 0.85 * rule(squared, alpha)


def test_even_noise_leaves_nothing_to_gain():
    squared, scaled, unit = losses(0, noise="even")
    for alpha in ALPHAS:
        ratio = unit * order_statistic(scaled, alpha) / order_statistic(squared, alpha)
        assert 0.95 < ratio < 1.1
