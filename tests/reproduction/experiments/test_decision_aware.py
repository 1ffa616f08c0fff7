"""The closed-form calibration is the policy's own."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from reproduction.experiments.decision_aware import decision_aware_radii, exceeds
from reproduction.experiments.ellipsoids import Placed
from reproduction.experiments.rules import GridPaths, Simplex


class Sure:
    """A regressor whose prediction is its covariates."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X


def test_the_same_radius_as_policy_calibrate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    Y = X + 0.7 * rng.normal(size=X.shape)
    sets = sl.LossSet(lambda X: X, loss="squared")
    costs, share = sl.Uncertain(5, name="costs"), cp.Variable(5, nonneg=True)
    problem = sl.RobustProblem(
        cp.Minimize(costs @ share), [cp.sum(share) == 1], {costs: sets}
    )
    for alpha in (0.1, 0.05):
        policy = problem.compile()
        policy.calibrate(X, Y, alpha=alpha)
        placed = Placed(X, np.ones_like(X))
        found = decision_aware_radii(Simplex(), placed, Y, (alpha,))[0]
        assert found == pytest.approx(np.sqrt(policy.budget_), rel=1e-6)


@pytest.mark.parametrize("rule, m", [(Simplex(), 5), (GridPaths(), 40)])
def test_realised_violation_is_as_promised(rule, m):
    # Mean over R calibrations of N points, each tested on T: the rate is alpha less at
    # most 1 / (N + 1) and a grid step, with the Beta law's spread between calibrations.
    rng, alpha, n, repeats, tests = np.random.default_rng(1), 0.1, 99, 60, 400
    rates, shrunk = [], []
    for _ in range(repeats):
        radius = decision_aware_radii(rule, *_draw(rng, n, m), (alpha,))[0]
        placed, costs = _draw(rng, tests, m)
        for factor, kept in ((1.0, rates), (0.7, shrunk)):
            x, worst = rule.decide(placed.location, placed.scale, factor * radius)
            kept.append(exceeds((costs * x).sum(axis=1), worst).mean())
    error = np.sqrt(alpha * (1 - alpha) * (1 / (n + 2) + 1 / tests) / repeats)
    assert np.mean(rates) <= alpha + 4 * error
    assert np.mean(shrunk) > alpha + 4 * error


def _draw(rng, n, m):
    location, scale = rng.normal(size=(n, m)), rng.uniform(0.5, 1.5, size=(n, m))
    return Placed(location, scale), location + scale * rng.normal(size=(n, m))
