"""Models, sets and comparisons that the tests of compiled policies share."""

import cvxpy as cp
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

import sublevel as sl


class Given(RegressorMixin, BaseEstimator):
    """A model whose covariates are its predictions: location, then spread."""

    def __init__(self, first=0, last=None):
        self.first = first
        self.last = last

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X, return_std=False):
        location, scale = np.split(np.asarray(X, dtype=float), 2, axis=1)
        location = location[:, self.first : self.last]
        scale = scale[:, self.first : self.last]
        return (location, scale) if return_std else location


def contexts(n, dim, rng, positive=True):
    """Covariates of n contexts: locations around 3, spreads around 1/2."""
    location = rng.uniform(2, 4, (n, dim)) if positive else rng.normal(size=(n, dim))
    return np.hstack([location, rng.uniform(0.3, 0.7, (n, dim))])


def calibrated(loss, dim, rng, alpha=0.2, model=None, **options):
    """A LossSet around `Given`, calibrated on 40 outcomes that are not negative."""
    X = contexts(40, dim, rng)
    Y = np.abs(X[:, :dim] + X[:, dim:] * rng.normal(size=(40, dim)))
    return sl.LossSet(model or Given(), loss).calibrate(X, Y, alpha=alpha, **options)


def portfolio(sets, dim, **options):
    """Maximise the worst-case return on the simplex: its solution is unique."""
    r = sl.Uncertain(dim, name="r", **options)
    w = cp.Variable(dim, nonneg=True, name="w")
    return r, w, sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})


def compiled_of(policy):
    """The arrays of a policy that decides by one compiled program."""
    return policy._engine._compiled[1]


def assert_as_solved(problem, X, compiled=True, **options):
    """Every row as `problem.solve` decides it; returns the decisions."""
    policy = problem.compile(**options)
    found = policy.decide(X)
    assert (policy.one_by_one is None) == compiled, policy.one_by_one
    for i, decision in enumerate(found):
        alone = problem.solve(None if X is None else X[i : i + 1], **options)
        assert decision.status == alone.status
        if alone.status == "optimal":
            np.testing.assert_allclose(
                decision.objective, alone.objective, rtol=1e-6, atol=1e-7
            )
            assert decision.audit.passed
    return found
