"""The gamma line against scikit-learn's and against finite differences."""

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor

from sublevel.models.families import fit_gamma_line, nix_weigend

RNG = np.random.default_rng(5)
Z = RNG.normal(size=(300, 4))
Y = np.exp(0.7 * Z[:, 0] - 0.4 * Z[:, 1]) * RNG.normal(size=300) ** 2 + 1e-9
WEIGHT = RNG.uniform(0.2, 3, size=300)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_it_agrees_with_scikit_learn(penalty, weight):
    theirs = GammaRegressor(alpha=penalty, tol=1e-10, max_iter=10_000)
    theirs.fit(Z, Y, sample_weight=weight)
    ours = fit_gamma_line(Z, Y, weight, penalty).coefficients
    assert np.allclose(ours, [theirs.intercept_, *theirs.coef_], atol=2e-5)


def test_no_direction_leads_down():
    found = fit_gamma_line(Z, Y, None, 0.01).coefficients
    ones = np.column_stack([np.ones(300), Z])

    def loss(b):
        return np.mean(nix_weigend(Y, np.exp(ones @ b))) + 0.005 * b[1:] @ b[1:]

    for direction in np.eye(5):
        slope = loss(found + 1e-5 * direction) - loss(found - 1e-5 * direction)
        assert abs(slope / 2e-5) < 1e-4


def test_squares_that_stop_newton_do_not_stop_it():
    # Newton's step divides by y / prediction, which is 1e-12 for most of these rows.
    squares = np.full(300, 1e-12)
    squares[:5] = 1.0
    found = fit_gamma_line(50 * Z, squares, None, 1e-3)
    assert np.isfinite(found.coefficients).all()
    far = found.predict(1e9 * np.eye(4))
    assert np.isfinite(far).all()
    assert (far > 0).all()


def test_columns_that_repeat_each_other_are_no_obstacle():
    once = fit_gamma_line(Z, Y, None, 1e-3)
    twice = fit_gamma_line(np.column_stack([Z, Z]), Y, None, 5e-4)
    assert np.isfinite(twice.coefficients).all()
    shared = twice.coefficients[1:5] + twice.coefficients[5:]
    # Half the weight on each copy costs half the penalty on the whole.
    halved = fit_gamma_line(Z, Y, None, 2.5e-4).coefficients[1:]
    assert np.allclose(shared, halved, atol=1e-3)
    assert not np.allclose(shared, once.coefficients[1:], atol=1e-5)
