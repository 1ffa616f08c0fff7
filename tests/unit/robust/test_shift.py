"""Policies where the world is not the one calibrated on."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.drift import Adaptive
from sublevel.errors import InvalidParameter
from sublevel.guarantees import Marginal, Weighted


def predicted(X):
    return X[:, :1]


def cover():
    """Least x above the outcome."""
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(
        cp.Minimize(x), [x >= y], {y: sl.LossSet(predicted, "absolute")}
    )
    return problem.compile(), x


def spread(X):
    return 0.1 + 2 * X[:, 0] ** 4


def data(rng, n, tilt=0.0):
    """Contexts on [0, 1], towards 1 if tilted; noisier the closer to 1."""
    u = rng.random((n, 1))
    X = u if not tilt else np.log1p(u * (np.exp(tilt) - 1)) / tilt
    return X, X + spread(X)[:, None] * rng.normal(size=(n, 1))


TILT = 5.0


def ratio(X):
    return np.exp(TILT * X[:, 0])


def test_envelope_scores_by_hand():
    """Violated exactly below y - prediction."""
    rng = np.random.default_rng(0)
    X, Y = data(rng, 50)
    policy, _ = cover()
    found = policy.envelope_scores(X, Y)
    above = (Y - X)[:, 0]
    up = above > 1e-2
    assert (found[up] >= above[up] * (1 - 1e-5)).all()
    assert (found[up] <= 1.05 * above[up] * (1 + 1e-5)).all()
    assert (found[~up] <= found[up].min() + 1e-2).all()
    grid = [0.1, 0.5, 1.0, 9.0]
    on_grid = policy.envelope_scores(X, Y, grid=grid)
    expected = [min(v for v in grid if v >= gap - 1e-6) for gap in above]
    np.testing.assert_array_equal(on_grid, expected)


def test_weighted_budgets_are_those_of_weighted_envelope_scores():
    rng = np.random.default_rng(1)
    X, Y = data(rng, 60)
    policy, x = cover()
    grid = np.geomspace(0.05, 8, 60)
    policy.calibrate(X, Y, 0.2, guarantee=Weighted(ratio), grid=grid)
    full = Weighted(ratio).calibrate(policy.envelope_scores(X, Y, grid), 0.2, X)
    new, _ = data(rng, 30, TILT)
    budgets = full.at(new, 30)
    assert len(np.unique(budgets)) > 1
    np.testing.assert_allclose(
        policy.decide(new).value(x), new[:, 0] + budgets, atol=1e-6
    )
    assert policy.budget_ == full.budget
    assert policy.certificate_.guarantee == "DecisionAware, Weighted"
    assert policy.decide(new).certificate is policy.certificate_


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(2)
    X, Y = data(rng, 120)
    policy, _ = cover()
    plain = policy.calibrate(X, Y, 0.1).budget_
    same = policy.calibrate(X, Y, 0.1, guarantee=Weighted(lambda X: np.ones(len(X))))
    assert same.budget_ == plain


def shifted_violations(guarantee, n=60, alpha=0.1):
    """Violation rate of each of many calibrations, where contexts have shifted."""
    rng = np.random.default_rng(3)
    policy, x = cover()
    grid = np.geomspace(0.05, 6, 40)
    rates = []
    for _ in range(60):
        policy.calibrate(*data(rng, n), alpha, guarantee=guarantee, grid=grid)
        new, outcome = data(rng, 50, TILT)
        # Without a decision nothing is violated; nan compares as False.
        rates.append(np.mean(outcome[:, 0] > policy.decide(new).value(x) + 1e-6))
    return np.array(rates)


def test_the_promise_is_kept_where_contexts_have_shifted():
    rates = shifted_violations(Weighted(ratio))
    assert rates.mean() <= 0.1 + 4 * rates.std() / np.sqrt(len(rates))
    # Negative control: without weights it is broken.
    rates = shifted_violations("marginal")
    assert rates.mean() > 0.1 + 4 * rates.std() / np.sqrt(len(rates))


def test_weighted_policies_do_not_go_to_files(tmp_path):
    rng = np.random.default_rng(4)
    X, Y = data(rng, 60)
    policy, _ = cover()
    policy.calibrate(X, Y, 0.2, guarantee=Weighted(ratio))
    with pytest.raises(InvalidParameter, match="cannot write a function"):
        policy.save(tmp_path / "policy.npz")
    with pytest.raises(InvalidParameter, match="Give covariates"):
        policy.decide(sl.Prediction(X))


def test_a_policy_at_a_budget():
    rng = np.random.default_rng(5)
    X, Y = data(rng, 60)
    policy, x = cover()
    at = policy.at(0.7)
    np.testing.assert_allclose(at.decide(X).value(x), X[:, 0] + 0.7, atol=1e-6)
    assert (at.budget_, at.radius_) == (0.7, 0.7)
    certificate = at.decide(X).certificate
    assert certificate.heuristic
    assert certificate.alpha == 1.0
    assert not hasattr(policy, "budget_")
    np.testing.assert_allclose(
        policy.at(-np.inf).decide(X).value(x), X[:, 0], atol=1e-6
    )
    assert (policy.at(np.inf).decide(X).status == "unbounded_set").all()
    policy.calibrate(X, Y, 0.3, fallback={x: 50.0})
    assert (policy.at(np.inf).decide(X).value(x) == 50.0).all()
    for wrong in ("much", {"z": 1.0}, [1.0, 2.0], None):
        with pytest.raises(InvalidParameter, match=r"Policy.at\(budget\) must be"):
            policy.at(wrong)


def test_two_loss_sets_at_budgets_by_name():
    y, z, x = sl.Uncertain(name="y"), sl.Uncertain(name="z"), cp.Variable(name="x")
    sets = [sl.LossSet(predicted, "absolute") for _ in range(2)]
    problem = sl.RobustProblem(
        cp.Minimize(x), [x >= y, x >= z + 1], {y: sets[0], z: sets[1]}
    )
    policy = problem.compile().at({"y": 3.0, "z": 0.5})
    X = np.array([[1.0], [2.0]])
    np.testing.assert_allclose(policy.decide(X).value(x), [4.0, 5.0], atol=1e-6)
    assert policy.budget_ == (3.0, 0.5)
    with pytest.raises(InvalidParameter, match="a number for each of"):
        problem.compile().at(1.0)


def test_an_adaptive_budget_follows_a_drifting_world():
    """The noise grows sixfold: a frozen budget fails, an adaptive one does not."""
    rng = np.random.default_rng(6)
    X, Y = data(rng, 200)
    policy, x = cover()
    alpha, steps = 0.1, 300
    policy.calibrate(X, Y, alpha, fallback={x: 1e6})
    adaptive = Adaptive(policy.envelope_scores(X, Y), alpha, gamma=0.05)
    new, outcome = data(rng, steps)
    outcome = new + (1 + 5 * np.linspace(0, 1, steps)[:, None]) * (outcome - new)
    frozen = np.mean(outcome[:, 0] > policy.decide(new).value(x))
    for t in range(steps):
        decided = policy.at(adaptive.budget).decide(new[t : t + 1]).value(x)[0]
        adaptive.update(violated=bool(outcome[t, 0] > decided))
    rate = adaptive.violations / steps
    assert abs(rate - alpha) <= adaptive.bound <= 0.07
    # Negative control: what the bound says is not true of the frozen budget.
    assert frozen > alpha + adaptive.bound


def test_marginal_of_envelope_scores_is_the_calibrated_budget():
    rng = np.random.default_rng(7)
    X, Y = data(rng, 99)
    policy, _ = cover()
    scores = policy.envelope_scores(X, Y)
    budget = Marginal().certify(scores, 0.1).budget
    assert policy.calibrate(X, Y, 0.1).budget_ == budget
