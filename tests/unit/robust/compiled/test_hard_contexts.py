"""Contexts in bad units: the best there is, and nothing claimed without a proof."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq

import sublevel as sl
from sublevel.robust.solve import chunk

COSTS = np.array([1.0, 0.5, 2.0, 1.0])


def covering(loss, budget, solver=None):
    """Enough of four yields, at least cost."""
    y, w = sl.Uncertain(4, name="y"), cp.Variable(4, nonneg=True, name="w")
    sets = sl.LossSet(lambda X: X, loss)
    problem = sl.RobustProblem(cp.Minimize(COSTS @ w), [y @ w >= 1], {y: sets})
    return problem.compile(solver=solver).at(budget)


@pytest.mark.parametrize("small", [1e-4, 1e-7, 1e-9])
@pytest.mark.parametrize("large", [1, 2])
def test_yields_of_very_different_size_are_no_excuse(small, large):
    """With one yield alone the answer is known; the others can only help a little."""
    means = np.full(4, small)
    means[large] = 1.0
    # Gamma's deviance of y = share * mean is 2 (share - 1 - log share).
    share = brentq(lambda t: 2 * (t - 1 - np.log(t)) - 0.1, 1e-9, 1)
    alone = COSTS[large] / share
    decisions = covering("gamma", 0.1).decide(means[None])
    assert decisions.status[0] == "optimal"
    assert decisions.objective[0] == pytest.approx(alone, rel=3e-6)
    assert decisions.bound[0] <= alone * (1 + 3e-6)


@pytest.mark.parametrize("size", [1.0, 1e4, 1e6])
def test_that_gains_grow_without_end_must_be_proved(size):
    """A cost of power 1.5 outgrows any gain, but a solver does not live to see it."""
    y, w = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True, name="w")
    gain = y @ w - cp.sum(cp.power(w, 1.5, approx=False))
    sets = sl.LossSet(lambda X: X)
    policy = sl.RobustProblem(cp.Maximize(gain), [], {y: sets}).compile().at(1e-6)
    X = size * np.random.default_rng(0).uniform(1, 2, size=(2, 3))
    status = policy.decide(X).status
    assert set(status) <= {"optimal", "solver_failed", "audit_failed"}
    assert size > 1 or (status == "optimal").all()


def test_what_grows_without_end_is_still_called_so():
    y, w = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True, name="w")
    sets = sl.LossSet(lambda X: X)
    for limits in ([], [w[0] <= 1], [cp.norm(w[:2]) <= 1]):
        problem = sl.RobustProblem(cp.Maximize(y @ w), limits, {y: sets})
        policy = problem.compile(solver="CLARABEL").at(0.01)
        assert policy.decide(np.full((3, 3), 2.0)).status.tolist() == ["unbounded"] * 3


def test_no_answer_depends_on_what_else_is_hard(monkeypatch):
    """Where several contexts need more trouble, each has its own."""
    tried = []
    solve = chunk._solutions

    def counted(solver, data):
        tried.append((getattr(solver, "effort", 0), len(data)))
        return solve(solver, data)

    monkeypatch.setattr(chunk, "_solutions", counted)
    rng = np.random.default_rng(3)
    X = 10.0 ** rng.uniform(4, 8, (40, 1)) * rng.uniform(0.05, 1, (40, 4))
    policy = covering("poisson", 0.5, "CLARABEL")
    whole, parts = policy.decide(X), policy.decide(X, chunk=7)
    assert any(effort == 2 and rows > 1 for effort, rows in tried)
    np.testing.assert_array_equal(whole.status, parts.status)
    np.testing.assert_array_equal(whole.value("w"), parts.value("w"))


def test_what_is_thought_too_dear_by_a_tenth_is_seen():
    """Next to no spread: a residual that counts in the column of what is not bought."""
    y, w = sl.Uncertain(4, name="y"), cp.Variable(4, nonneg=True, name="w")
    cost = y @ w + cp.sum(cp.power(w, 1.7, approx=False))
    means = np.array([-0.241418874, -0.228845783, 1.00992545, -1.34632911])
    spreads = np.array([0.563907691, 8.94026314e-10, 1.55868624e-10, 2.31271451e-09])
    sets = sl.LossSet(lambda X: (X[:, :4], X[:, 4:]), "gaussian")
    problem = sl.RobustProblem(cp.Minimize(cost), [cp.sum(w) >= 1], {y: sets})
    worst = means @ w + np.sqrt(0.5) * cp.norm(cp.multiply(spreads, w))
    goal = cp.Minimize(worst + cp.sum(cp.power(w, 1.7, approx=False)))
    best = cp.Problem(goal, [cp.sum(w) >= 1]).solve(solver="CLARABEL")
    for solver in ("CLARABEL", None):
        policy = problem.compile(solver=solver).at(0.5)
        X = np.tile(np.concatenate([means, spreads]), (80, 1))
        decisions = policy.decide(X)
        assert (decisions.status == "optimal").all()
        assert np.abs(decisions.objective - best).max() < 1e-6
