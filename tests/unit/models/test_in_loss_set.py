"""From covariates to calibrated sets: the spread inside a LossSet.

Given the calibration sample of n scores, a fresh outcome is missed with probability
1 - (i-th smallest of n uniforms), i = ceil((1 - alpha) (n + 1)), which is distributed
as Beta(n + 1 - i, i); so the misses among T fresh outcomes are beta-binomial, exactly,
whatever the model is worth.
"""

import numpy as np
import pytest
from scipy.stats import betabinom

import sublevel as sl

ALPHA, CALIBRATION, FRESH = 0.1, 499, 4000
RANK = int(np.ceil((1 - ALPHA) * (CALIBRATION + 1)))
MISSES = betabinom(FRESH, CALIBRATION + 1 - RANK, RANK)


def draw(rng, n):
    """Two outputs; the noise of both grows along the first column, eightfold."""
    X = rng.uniform(-1, 1, size=(n, 3))
    std = np.exp(np.column_stack([X[:, 0], X[:, 0]]))
    return X, np.column_stack([X[:, 1], X[:, 2]]) + std * rng.normal(size=(n, 2))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(7)
    return draw(rng, 800), draw(rng, CALIBRATION), draw(rng, FRESH)


@pytest.fixture(scope="module")
def sets(samples):
    train, calibration, _ = samples
    found = sl.LossSet(sl.MeanVarianceRegressor(), loss="gaussian").fit(*train)
    return found.calibrate(*calibration, alpha=ALPHA)


def missed(sets, X, Y, budget=None):
    return ~sets.predict_set(X, budget=budget).contains(Y)


def accepted(count):
    return MISSES.ppf(1e-6) <= count <= MISSES.isf(1e-6)


def test_the_promise_is_kept(sets, samples):
    assert accepted(missed(sets, *samples[2]).sum())


def test_half_the_budget_breaks_it(sets, samples):
    assert not accepted(missed(sets, *samples[2], budget=sets.budget_ / 2).sum())


def test_calm_and_noisy_contexts_are_covered_alike(sets, samples):
    train, calibration, (X, Y) = samples
    even = sl.LossSet(sl.MeanVarianceRegressor(), loss="squared").fit(*train)
    even.calibrate(*calibration, alpha=ALPHA)
    calm, noisy = X[:, 0] < -0.5, X[:, 0] > 0.5
    gaps = [
        missed(kind, X[noisy], Y[noisy]).mean() - missed(kind, X[calm], Y[calm]).mean()
        for kind in (sets, even)
    ]
    # Sets of one size miss nothing where it is calm and pay for it where it is not.
    assert abs(gaps[0]) < 0.05 < 0.2 < gaps[1]


def test_sets_breathe_with_the_spread(sets):
    calm, noisy = (sets.predict_set([[x, 0.0, 0.0]])[0] for x in (-0.9, 0.9))
    width = [np.ptp(found.bounds(), axis=0)[0] for found in (calm, noisy)]
    assert width[1] > 3 * width[0]


def test_one_shared_model_serves_every_component():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(300, 4, 2))
    Y = X[:, :, 0] * rng.uniform(0.5, 1.5, size=(300, 4))
    shared = sl.SharedModel(sl.MeanVarianceRegressor(cv=2))
    found = sl.LossSet(shared, loss="gaussian").fit(X[:200], Y[:200])
    found.calibrate(X[200:], Y[200:], alpha=0.2)
    assert found.predict_set(X[:3])[0].dim == 4
