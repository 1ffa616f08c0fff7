"""The loss of Nix and Weigend is a likelihood and, the mean fixed, a gamma deviance."""

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_gamma_deviance

from sublevel.models.families import nix_weigend

RNG = np.random.default_rng(3)
SQUARES = RNG.normal(size=50) ** 2
VARIANCES = np.exp(RNG.normal(size=(4, 50)))


def test_value_by_hand():
    assert np.isclose(nix_weigend(9.0, np.e**2), 9 / np.e**2 + 2)


def test_it_is_twice_the_gaussian_negative_log_likelihood():
    density = norm.logpdf(np.sqrt(SQUARES), scale=np.sqrt(VARIANCES[0]))
    whole = -2 * density - np.log(2 * np.pi)
    assert np.allclose(nix_weigend(SQUARES, VARIANCES[0]), whole)


def test_it_is_the_gamma_deviance_up_to_what_the_variance_cannot_change():
    constant = np.mean(1 + np.log(SQUARES))
    for variance in VARIANCES:
        ours = 2 * (np.mean(nix_weigend(SQUARES, variance)) - constant)
        assert np.isclose(ours, mean_gamma_deviance(SQUARES, variance))


def test_the_squared_error_is_not():
    # The control: another loss differs by something that moves with the variance.
    gaps = [
        np.mean(nix_weigend(SQUARES, v)) - np.mean((SQUARES - v) ** 2)
        for v in VARIANCES
    ]
    assert np.ptp(gaps) > 0.1


def test_a_gamma_regressor_predicts_the_minimiser_of_the_loss():
    # One leaf a group: the best constant variance of a group is its mean square.
    X = np.repeat([[0.0], [1.0]], 25, axis=0)
    trees = HistGradientBoostingRegressor(
        loss="gamma", min_samples_leaf=5, learning_rate=0.5, max_iter=60
    )
    found = trees.fit(X, SQUARES).predict([[0.0], [1.0]])
    assert np.allclose(found, [SQUARES[:25].mean(), SQUARES[25:].mean()], rtol=1e-6)
