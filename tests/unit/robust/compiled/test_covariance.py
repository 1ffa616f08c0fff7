"""Policies over ellipsoids that turn with X: compiled, saved, with integers."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel import losses
from sublevel.errors import InvalidParameter

DIM = 3
BASE = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.3, 0.7]])


def model(X):
    """A location and a factor whose rows go up and down with X."""
    X = np.asarray(X, dtype=float)
    return 1.0 + X[:, :DIM], np.exp(0.5 * X[:, :DIM])[:, :, None] * BASE


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, DIM))
    location, factor = model(X)
    return X, location + np.einsum("nij,nj->ni", factor, rng.normal(size=(n, DIM)))


def by_hand(x, budget, rows):
    """Best worst case of w'r on the simplex, each of `rows` protected by itself."""
    location, factor = (part[0] for part in model(x))
    w, floor = cp.Variable(DIM, nonneg=True), cp.Variable()
    reach = np.sqrt(budget) * cp.norm(factor.T @ w)
    conditions = [cp.sum(w) == 1, floor <= location @ w - reach]
    for j in rows:
        size = np.sqrt(budget) * np.linalg.norm(factor[j])
        conditions.append(w[j] * (location[j] + size) <= 2.0)
    return float(cp.Problem(cp.Maximize(floor), conditions).solve())


def policy_of(loss, source=model, **kinds):
    r, w = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, nonneg=True, **kinds)
    conditions = [cp.sum(w) == 1, r[1] * w[1] <= 2.0]
    sets = sl.LossSet(source, loss)
    return sl.RobustProblem(cp.Maximize(r @ w), conditions, {r: sets}).compile(), w


@pytest.mark.parametrize("fitted", [False, True])
def test_decisions_are_those_of_the_model_by_hand(fitted):
    X, Y = draw(60)
    r, w = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, nonneg=True)
    sets = sl.LossSet(model, "gaussian")
    if fitted:
        sets.fit(X[:20], Y[:20])
        assert sets.loss_ == losses.Gaussian(full=True)
    problem = sl.RobustProblem(
        cp.Maximize(r @ w), [cp.sum(w) == 1, r[1] * w[1] <= 2.0], {r: sets}
    )
    policy = problem.compile()
    policy.calibrate(X[20:], Y[20:], alpha=0.2)
    assert policy.one_by_one is None
    decisions = policy.decide(X[:5])
    assert (decisions.status == "optimal").all()
    for i in range(5):
        wanted = by_hand(X[i : i + 1], policy.budget_, rows=[1])
        assert decisions.objective[i] == pytest.approx(wanted, abs=1e-6)


def test_a_saved_policy_takes_factors_and_refuses_spreads(tmp_path):
    policy, _ = policy_of("gaussian")
    X, Y = draw(40)
    policy.calibrate(X, Y, alpha=0.2)
    policy.save(tmp_path / "turned")
    loaded = sl.load_policy(tmp_path / "turned")
    location, factor = model(X[:4])
    decisions = loaded.decide(sl.Prediction(location, factor=factor))
    assert np.allclose(decisions.objective, policy.decide(X[:4]).objective)
    with pytest.raises(InvalidParameter, match="compiled for"):
        loaded.decide(sl.Prediction(location, np.ones_like(location)))


def test_a_model_must_not_change_its_kind():
    kinds = [model, lambda X: (model(X)[0], np.ones((len(X), DIM)))]
    policy, _ = policy_of("gaussian", lambda X: kinds[0](X))
    X, Y = draw(40)
    policy.calibrate(X, Y, alpha=0.2)
    kinds[0] = kinds[1]
    with pytest.raises(InvalidParameter, match="compiled for"):
        policy.decide(X[:2])


def test_integers_beside_cones():
    policy, _ = policy_of("gaussian", integer=True)
    X, Y = draw(12)
    policy.calibrate(X[2:], Y[2:], alpha=0.3)
    decisions = policy.decide(X[:2])
    for i in range(2):
        location, factor = (part[0] for part in model(X[i : i + 1]))
        reach = np.sqrt(policy.budget_) * np.linalg.norm(factor, axis=1)
        kept = [0, 2] if location[1] + reach[1] > 2.0 else [0, 1, 2]
        best = max(location[j] - reach[j] for j in kept)
        assert decisions.objective[i] == pytest.approx(best, abs=1e-6)


def test_signs_that_are_declared_are_kept_by_sets_that_turn():
    """The outcome nearest to zero from below is not the clipped one."""
    # Far below zero along a narrow direction, within reach along the wide one.
    factor = np.array([[1.0, 0.0], [0.99, 0.1]])
    at = sl.Prediction(np.array([[-1.0, 0.3]]), factor=factor[None])
    clipped = np.array([[0.0, 0.3]])
    budget = 4.0
    assert losses.Gaussian().score(at, clipped) > budget
    r, w = sl.Uncertain(2, nonneg=True), cp.Variable(2, nonneg=True)
    sets = sl.LossSet(lambda X: at, losses.Gaussian(full=True))
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    policy = problem.compile().at(budget=budget)
    decision = policy.decide(np.zeros((1, 1)))
    assert decision.status[0] == "optimal"
    y, floor = cp.Variable(2, nonneg=True), []
    inside = cp.sum_squares(np.linalg.inv(factor) @ (y - at.location[0])) <= budget
    # The maximin over the simplex is the least over outcomes of the larger entry.
    floor = cp.Problem(cp.Minimize(cp.max(y)), [inside]).solve()
    assert decision.objective[0] == pytest.approx(floor, abs=1e-5)
