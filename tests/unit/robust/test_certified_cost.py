"""Bounds on what a fixed policy's decisions will cost."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import binom

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.guarantees import Marginal


def predicted(X):
    return X


def data(rng, n, width=3):
    X = rng.normal(size=(n, width))
    return X, X + rng.uniform(0.2, 1.5, size=(n, 1)) * rng.normal(size=(n, width))


def portfolio(budget=0.5):
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    problem = sl.RobustProblem(
        cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sl.LossSet(predicted)}
    )
    return problem.compile().at(budget), w


def test_a_reward_by_hand():
    rng = np.random.default_rng(0)
    X, Y = data(rng, 60)
    policy, w = portfolio(0.5)
    certified = policy.certify(X, Y, alpha=0.2)
    weights = policy.decide(X).value(w)
    expected = np.sum(X * weights, axis=1)
    feared = np.sqrt(0.5) * np.linalg.norm(weights, axis=1)
    shortfall = (expected - np.sum(Y * weights, axis=1)) / feared
    quantile = np.sort(shortfall)[Marginal().rank(60, 0.2) - 1]
    assert certified.bound.quantile == pytest.approx(quantile, abs=1e-5)
    new, _ = data(rng, 10)
    other = policy.decide(new).value(w)
    bound = np.sum(new * other, axis=1) - quantile * np.sqrt(0.5) * np.linalg.norm(
        other, axis=1
    )
    np.testing.assert_allclose(certified.at(new), bound, atol=1e-5)
    np.testing.assert_allclose(certified.at(new, policy.decide(new)), bound, atol=1e-5)
    assert certified.certificate.guarantee == "CertifiedCost"
    assert certified.certificate.sample_size == 60


def test_promises_are_kept_and_no_more():
    """One fresh sample and one fresh outcome a replication: Bernoulli hits."""
    rng = np.random.default_rng(1)
    policy, w = portfolio(0.3)
    replications, n, alpha = 250, 19, 0.2
    kept = shrunk = 0
    for _ in range(replications):
        X, Y = data(rng, n + 1)
        decisions = policy.decide(X[n:])
        weights = decisions.value(w)[0]
        bound = policy.certify(X[:n], Y[:n], alpha).at(X[n:], decisions)[0]
        kept += Y[n] @ weights >= bound
        shrunk += Y[n] @ weights >= X[n] @ weights
    low = binom.ppf(1e-6, replications, 1 - alpha)
    high = binom.isf(1e-6, replications, 1 - alpha + 1 / (n + 1))
    assert low <= kept <= high
    # Negative control: the objective at the prediction is no bound.
    assert shrunk < low


def test_tighter_than_what_the_sets_certify():
    rng = np.random.default_rng(2)
    X, Y = data(rng, 400)
    policy, _ = portfolio()
    policy.calibrate(X[:200], Y[:200], 0.1)
    found = policy.certify(X[200:], Y[200:], 0.1)
    sets_say = policy.decide(X[200:]).objective
    # Decision-aware budgets leave a certificate of the same level little to gain.
    assert found.at(X[200:]).mean() == pytest.approx(sets_say.mean(), abs=0.2)
    loose = policy.at(25.0)
    tight = loose.certify(X[200:], Y[200:], 0.1)
    assert tight.at(X[200:]).mean() > loose.decide(X[200:]).objective.mean() + 1


def test_a_cost_with_contexts_that_have_no_decision():
    rng = np.random.default_rng(3)
    d, x = sl.Uncertain(name="d"), cp.Variable(nonneg=True, name="x")
    cost = x + 4 * cp.pos(d - x)
    problem = sl.RobustProblem(
        cp.Minimize(cost), [x >= d, x <= 6], {d: sl.LossSet(predicted)}
    )
    X = rng.uniform(3, 6, size=(80, 1))
    Y = X + 0.5 * rng.normal(size=(80, 1))
    policy = problem.compile().at(0.25)
    found = policy.certify(X, Y, 0.1)
    lost = X[:, 0] + 0.5 > 6
    assert found.certificate.sample_size == (~lost).sum() < 80
    bound = found.at(X)
    np.testing.assert_array_equal(np.isnan(bound), lost)
    x = X[~lost, 0] + 0.5
    realised = x + 4 * np.maximum(Y[~lost, 0] - x, 0)
    assert (realised > bound[~lost] + 1e-6).sum() == (~lost).sum() - Marginal().rank(
        int((~lost).sum()), 0.1
    )


def test_a_fallback_has_costs_too():
    rng = np.random.default_rng(4)
    d, x = sl.Uncertain(name="d"), cp.Variable(nonneg=True, name="x")
    problem = sl.RobustProblem(
        cp.Minimize(x + d * 0.5), [x >= d, x <= 6], {d: sl.LossSet(predicted)}
    )
    X = rng.uniform(3, 7, size=(80, 1))
    Y = X + 0.5 * rng.normal(size=(80, 1))
    policy = problem.compile().calibrate(X, Y, 0.2, fallback={x: 9.0})
    found = policy.certify(X, Y + 0.01, 0.2)
    assert found.certificate.sample_size == 80
    assert np.isfinite(found.at(X)).all()


def test_a_set_value_is_expected_at_its_middle():
    r, w = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True, name="w")
    box = sl.sets.Box([0.0, 1.0], [1.0, 3.0])
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: box})
    found = problem.compile().certify(None, np.full((1, 2), 2.0), alpha=0.5)
    assert found.certificate.sample_size == 1
    assert found.at(None) == pytest.approx([2.0], abs=1e-5)


def test_what_is_refused():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(
        cp.Minimize(x), [x >= y, x <= 0], {y: sl.LossSet(predicted)}
    )
    X = np.ones((20, 1))
    with pytest.raises(InvalidParameter, match="bounds an uncertain objective"):
        problem.compile().at(1.0).certify(X, X)
    uncertain = sl.RobustProblem(
        cp.Minimize(x + y), [x >= y, x <= 0], {y: sl.LossSet(predicted)}
    )
    with pytest.raises(InvalidParameter, match="must have contexts with a decision"):
        uncertain.compile().at(1.0).certify(X, X)
