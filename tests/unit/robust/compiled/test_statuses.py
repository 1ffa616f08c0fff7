"""One context's failure is one row's status, and disturbs no other row."""

import logging

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.conic import solver

from .given import Given, assert_as_solved, calibrated, contexts, portfolio

DIM = 3


@pytest.fixture
def rng():
    return np.random.default_rng(21)


def undisturbed(problem, X, found, good):
    """The good rows are decided as if they were alone."""
    alone = problem.compile().decide(X[good])
    assert (found.status[good] == "optimal").all()
    np.testing.assert_allclose(found.objective[good], alone.objective, rtol=1e-6)
    bad = np.setdiff1d(np.arange(len(X)), good)
    assert np.isnan(found.objective[bad]).all()
    assert not found.audit.passed[bad].any()
    for values in found.variables.values():
        assert np.isnan(values[bad]).all()


def test_infeasible_contexts(rng):
    a, x = sl.Uncertain(DIM), cp.Variable(DIM, bounds=[1, 2])
    sets, X = calibrated("gaussian", DIM, rng), contexts(9, DIM, rng)
    X[[0, 4, 8], :DIM] += 100
    problem = sl.RobustProblem(cp.Maximize(cp.sum(x)), [a @ x <= 40], {a: sets})
    found = assert_as_solved(problem, X)
    assert found.status[[0, 4, 8]].tolist() == ["infeasible"] * 3
    undisturbed(problem, X, found, np.array([1, 2, 3, 5, 6, 7]))
    assert found[0].audit is None
    assert np.isnan(found[0].objective)


def test_unbounded_contexts(rng):
    r, w = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    sets, X = calibrated("gaussian", DIM, rng), contexts(6, DIM, rng)
    X[:, :DIM] -= 100
    X[[2, 5], :DIM] += 200
    limits = [w[0] <= 1, cp.sum(w) >= 2]
    problem = sl.RobustProblem(cp.Maximize(r @ w), limits, {r: sets})
    found = problem.compile().decide(X)
    assert found.status[[2, 5]].tolist() == ["unbounded"] * 2
    undisturbed(problem, X, found, np.array([0, 1, 3, 4]))


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
def test_infinite_budgets(rng):
    """A group without calibration data has no finite set; then all groups."""
    X = contexts(60, DIM, rng)
    Y = X[:, :DIM] + X[:, DIM:] * rng.normal(size=(60, DIM))
    groups = sl.guarantees.Mondrian(lambda X: (X[:, 0] > 3).astype(int))
    small = X[:, 0] <= 3
    sets = sl.LossSet(Given(), "gaussian")
    sets.calibrate(X[small], Y[small], alpha=0.2, guarantee=groups)
    problem = portfolio(sets, DIM)[2]
    found = problem.compile().decide(X)
    assert (found.status == np.where(small, "optimal", "unbounded_set")).all()
    undisturbed(problem, X, found, np.flatnonzero(small))
    assert (problem.compile().decide(X[~small]).status == "unbounded_set").all()
    few = sl.LossSet(Given(), "gaussian").calibrate(X[:3], Y[:3], alpha=0.01)
    assert set(portfolio(few, DIM)[2].compile().decide(X).status) == {"unbounded_set"}
    whole = cp.Variable(DIM, integer=True)
    r = sl.Uncertain(DIM)
    goal, limits = cp.Maximize(r @ whole), [whole >= 0, cp.sum(whole) <= 3]
    found = sl.RobustProblem(goal, limits, {r: few}).compile().decide(X[:2])
    assert found.status.tolist() == ["unbounded_set"] * 2


@pytest.mark.parametrize("loss", ["gaussian", "nll", "absolute"])
def test_sets_without_an_outcome_of_the_declared_sign(rng, loss):
    sets, X = calibrated(loss, DIM, rng), contexts(5, DIM, rng)
    X[[1, 3], :DIM] = -50
    problem = portfolio(sets, DIM, nonneg=True)[2]
    found = problem.compile().decide(X)
    assert found.status[[1, 3]].tolist() == ["empty_set"] * 2
    undisturbed(problem, X, found, np.array([0, 2, 4]))
    with pytest.raises(sl.errors.EmptySet):
        problem.solve(X[1:2])


class Gappy(LinearRegression):
    """Predicts what is not a number where the first covariate is large."""

    def predict(self, X):
        found = super().predict(X)
        found[X[:, 0] > 2] = np.nan
        return found


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("model", [Gappy, LinearRegression])
def test_contexts_that_cannot_be_predicted(rng, model, integer, caplog):
    """Predictions that are nan; covariates that a model refuses as a whole."""
    X = np.clip(rng.normal(size=(90, 2)), -2, 2)
    Y = X + 0.1 * rng.normal(size=(90, 2))
    sets = sl.LossSet(model()).fit(X[:40], Y[:40]).calibrate(X[40:80], Y[40:80])
    r, w = sl.Uncertain(2), cp.Variable(2, nonneg=True, integer=integer)
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    X, bad = X[:30].copy(), np.array([0, 7, 8, 29])
    X[bad, 0] = 5.0 if model is Gappy else np.nan
    good = np.setdiff1d(np.arange(30), bad)
    policy = problem.compile()
    with caplog.at_level(logging.WARNING):
        found = policy.decide(X) if integer else policy.decide(X, chunk=7)
    assert (found.status[bad] == "invalid_prediction").all()
    undisturbed(problem, X, found, good)
    assert "context 7 cannot be predicted" in caplog.text
    assert (found.status == policy.decide(X).status).all()


def test_an_error_of_every_context_is_the_callers(rng):
    """Not one context can be predicted: the model's own error, not a status."""
    sets, X = calibrated("gaussian", DIM, rng), contexts(250, DIM, rng)
    policy = portfolio(sets, DIM)[2].compile()
    with pytest.raises(sl.errors.InvalidParameter, match="finite"):
        policy.decide(np.full_like(X, np.nan))
    X[:240] = np.nan
    found = policy.decide(X, chunk=100)
    assert (found.status[:240] == "invalid_prediction").all()
    assert (found.status[240:] == "optimal").all()


def test_predictions_given_with_gaps(rng):
    sets, X = calibrated("gaussian", DIM, rng), contexts(4, DIM, rng)
    policy = portfolio(sets, DIM)[2].compile()
    location, scale = X[:, :DIM].copy(), X[:, DIM:].copy()
    location[1, 0], scale[2, 1] = np.inf, -1.0
    found = policy.decide(sl.Prediction(location, scale))
    bad = "invalid_prediction"
    assert found.status.tolist() == ["optimal", bad, bad, "optimal"]


def test_numbers_too_large_for_arithmetic(rng):
    a, x = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    sets, X = calibrated("gaussian", DIM, rng), contexts(4, DIM, rng)
    X[1, DIM:] = 1e308
    problem = sl.RobustProblem(cp.Maximize(cp.sum(x)), [a @ x <= 4, x <= 3], {a: sets})
    found = problem.compile().decide(X)
    assert found.status[1] == "solver_failed"
    undisturbed(problem, X, found, np.array([0, 2, 3]))


def without_closed_form(sets):
    """A portfolio with a second row."""
    r, w = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    rows = [cp.sum(w) == 1, w[0] + w[1] <= 0.9]
    return sl.RobustProblem(cp.Maximize(r @ w), rows, {r: sets})


def test_a_solver_that_gives_up_or_panics(rng, monkeypatch):
    sets, X = calibrated("gaussian", DIM, rng), contexts(6, DIM, rng)
    problem = without_closed_form(sets)
    policy = problem.compile(engine="dual")
    expected = policy.decide(X).objective

    def give_up(solved):
        return solver.NOTHING

    def panic(solved):
        raise BaseException("called `unwrap()` on a `None` value")

    for failure in (give_up, panic):
        with monkeypatch.context() as patch:
            patch.setattr(solver, "_read", failure)
            decisions = policy.decide(X)
            rescued = problem.compile().decide(X)
        assert (decisions.status == "solver_failed").all()
        # Cutting planes on HiGHS need no Clarabel.
        assert (rescued.status == "optimal").all()
        np.testing.assert_allclose(rescued.objective, expected, rtol=1e-6)
    # Only the live solver fails: a fresh one decides.
    build = solver._build

    def dead(data, i, settings):
        if settings is solver._LIVE:
            panic(None)
        return build(data, i, settings)

    with monkeypatch.context() as patch:
        patch.setattr(solver, "_build", dead)
        decisions = policy.decide(X)
    assert (decisions.status == "optimal").all()
    np.testing.assert_allclose(decisions.objective, expected, rtol=1e-6)


def test_an_interrupted_solver_is_interrupted(rng, monkeypatch):
    sets, X = calibrated("gaussian", DIM, rng), contexts(2, DIM, rng)
    policy = without_closed_form(sets).compile()

    def stop(solved):
        raise KeyboardInterrupt

    monkeypatch.setattr(solver, "_read", stop)
    with pytest.raises(KeyboardInterrupt):
        policy.decide(X)
