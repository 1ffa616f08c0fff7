"""The data are what the paper describes."""

import numpy as np
import pytest

from reproduction.experiments.generators import (
    RELEVANT,
    newsvendor,
    portfolio,
    shortest_path,
)


def test_portfolio_noise_is_multiplicative_and_bounded():
    X, costs = portfolio(np.random.default_rng(0), (2000, 5), noise=0.1)
    assert np.abs(X).max() <= 1
    factor = -costs / (X[..., :RELEVANT].sum(axis=-1) / np.sqrt(10))
    assert factor.min() >= 0.9 - 1e-9
    assert factor.max() <= 1.1 + 1e-9
    # Uniform on [0.9, 1.1]: deviation 0.1 / sqrt(3); 10^4 draws give three digits.
    assert factor.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.02)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_path_costs_without_noise_are_the_polynomial(degree):
    X, costs = shortest_path(np.random.default_rng(0), (3, 40), 0.0, degree)
    signal = X[..., 0] + X[..., 1] + X[..., 2] + X[..., 3] + X[..., 4] + X[..., 5]
    assert costs == pytest.approx((signal + 3) ** degree + 1)


def test_noiseless_demand_is_low_where_the_signal_is_positive():
    X, high = newsvendor(np.random.default_rng(0), 500, noise=0.0)
    assert ((X[:, :RELEVANT].sum(axis=1) < 0) == (high == 1)).all()
    assert 0.4 < high.mean() < 0.6
