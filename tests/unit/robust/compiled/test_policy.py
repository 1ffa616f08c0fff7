"""Compiled decisions against problems solved one by one, for every loss."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel import losses

from .given import Given, assert_as_solved, calibrated, contexts, portfolio

DIM = 3
COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])
LOSSES = {
    "squared": losses.Squared(),
    "squared-weighted": losses.Squared(weights=(0.5, 1.0, 2.0)),
    "mahalanobis": losses.Mahalanobis(COVARIANCE),
    "absolute": losses.Absolute(),
    "huber": losses.Huber(0.7, weights=(0.5, 1.0, 2.0)),
    "gaussian": losses.Gaussian(),
    "nll": losses.NLL(),
    "pinball": losses.Pinball(0.8),
    "epsilon-insensitive": losses.EpsilonInsensitive(0.2),
    "log-cosh": losses.LogCosh(),
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(weights=(0.5, 1.0, 2.0)),
}
COMBINED = {
    "numbers": losses.Combined(["squared", "absolute"], weights=(2.0, 0.5)),
    "spread": losses.Combined(["nll", "gaussian"], weights=(1.0, 0.5)),
    "smooth": losses.Combined(["poisson", "gamma"], weights=(1.0, 2.0)),
    "steep": losses.Combined(
        [losses.Pinball(0.8), losses.Huber(0.5)], weights=(1.0, 0.5)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_decided_as_solved(name):
    rng = np.random.default_rng(1)
    r, w, problem = portfolio(calibrated(LOSSES[name], DIM, rng), DIM)
    X = contexts(6, DIM, rng)
    found = assert_as_solved(problem, X)
    worst = np.sum(found.worst_case(r) * found.value(w), axis=1)
    np.testing.assert_allclose(worst, found.objective, rtol=1e-6)
    values = [problem.solve(X[i : i + 1]).value(w) for i in range(2)]
    np.testing.assert_allclose(found.value("w")[:2], values, atol=1e-3)


@pytest.mark.parametrize("name", COMBINED)
def test_combined_losses_are_compiled_when_their_widths_are_seen(name):
    rng = np.random.default_rng(2)
    model = [Given(0, 2), Given(2, 3)]
    X = contexts(40, DIM, rng)
    Y = np.abs(X[:, :DIM] + X[:, DIM:] * rng.normal(size=(40, DIM)))
    blocks = sl.ModelBlocks(model, widths=[2, 1])
    sets = sl.LossSet(blocks, COMBINED[name]).calibrate(X, Y, alpha=0.2)
    assert_as_solved(portfolio(sets, DIM)[2], contexts(4, DIM, rng))


def test_unions_of_folds():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    Y = X[:, :DIM] + 0.3 * rng.normal(size=(60, DIM))
    sets = sl.LossSet(LinearRegression())
    sets.calibrate(X, Y, alpha=0.3, guarantee=sl.guarantees.CVPlus(4))
    found = assert_as_solved(portfolio(sets, DIM)[2], X[:5])
    assert (found.status == "optimal").all()


@pytest.mark.parametrize("loss", ["gaussian", "absolute", "huber", "nll"])
def test_declared_signs_tighten_the_sets(loss):
    """Locations near zero: the sign rules outcomes out that the loss allows."""
    rng = np.random.default_rng(4)
    sets = calibrated(loss, DIM, rng)
    X = np.hstack([rng.uniform(0.05, 0.4, (5, DIM)), rng.uniform(0.5, 1, (5, DIM))])
    free, signed = portfolio(sets, DIM)[2], portfolio(sets, DIM, nonneg=True)[2]
    assert_as_solved(signed, X)
    gain = signed.compile().decide(X).objective - free.compile().decide(X).objective
    assert (gain > 0.01).all()


def test_a_model_with_a_spread_that_the_loss_does_not_need():
    rng = np.random.default_rng(5)

    def model(X):
        return X[:, :DIM], X[:, DIM:]

    sets = calibrated("huber", DIM, rng, model=model)
    assert_as_solved(portfolio(sets, DIM)[2], contexts(3, DIM, rng))


def test_predictions_in_place_of_covariates():
    rng = np.random.default_rng(6)
    _, w, problem = portfolio(calibrated("gaussian", DIM, rng), DIM)
    X, policy = contexts(4, DIM, rng), problem.compile()
    said = sl.Prediction(X[:, :DIM], X[:, DIM:])
    for given in (said, {"r": said}):
        found = policy.decide(given)
        np.testing.assert_array_equal(found.value(w), policy.decide(X).value(w))
    with pytest.raises(sl.errors.InvalidParameter, match="must have one for 'r'"):
        policy.decide({"s": said})
    with pytest.raises(sl.errors.InvalidParameter, match="as many rows"):
        policy.decide({"r": said, "s": said[:2]})
    with pytest.raises(sl.errors.InvalidParameter, match=r"of shape \(n, m\)"):
        policy.decide(sl.Prediction(X[0, :DIM]))


def test_predictions_are_refused_where_the_budget_depends_on_the_context():
    """A weighted budget is that of a typical context: not of this one."""
    rng = np.random.default_rng(7)
    ratio = sl.guarantees.Weighted(lambda X: np.exp(X[:, 0] - 3))
    X = contexts(40, DIM, rng)
    Y = np.abs(X[:, :DIM] + X[:, DIM:] * rng.normal(size=(40, DIM)))
    sets = sl.LossSet(Given(), "gaussian").calibrate(X, Y, 0.3, ratio)
    problem = portfolio(sets, DIM)[2]
    assert_as_solved(problem, contexts(4, DIM, rng))
    with pytest.raises(sl.errors.InvalidParameter, match="differs between contexts"):
        problem.compile().decide(sl.Prediction(X[:3, :DIM], X[:3, DIM:]))


def test_a_loss_set_fitted_again_must_be_compiled_again():
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(90, 2)), rng.normal(size=(90, 2))
    sets = sl.LossSet(LinearRegression(), "mahalanobis").fit(X[:30], Y[:30])
    sets.calibrate(X[30:60], Y[30:60], alpha=0.2)
    policy = portfolio(sets, 2)[2].compile()
    assert (policy.decide(X[60:]).status == "optimal").all()
    # Another budget needs no other program.
    before = policy.decide(X[60:]).objective
    sets.calibrate(X[30:60], Y[30:60], alpha=0.4)
    assert (policy.decide(X[60:]).objective > before).all()
    sets.fit(X[60:], Y[60:]).calibrate(X[:30], Y[:30], alpha=0.2)
    with pytest.raises(sl.errors.InvalidParameter, match="fitted again"):
        policy.decide(X[60:])


def test_what_the_caller_can_get_wrong():
    rng = np.random.default_rng(9)
    sets = calibrated("gaussian", DIM, rng)
    policy, X = portfolio(sets, DIM)[2].compile(), contexts(3, DIM, rng)
    for wrong, message in [
        (lambda: policy.decide(), "needs covariates"),
        (lambda: policy.decide(X[:0]), "at least one context"),
        (lambda: policy.decide(X, chunk=0), "whole number of at least 1"),
        (lambda: policy.decide(X[:, :2]), "must have dimension 3, got 1"),
    ]:
        with pytest.raises(sl.errors.InvalidParameter, match=message):
            wrong()
    r, w = sl.Uncertain(4), cp.Variable(4, nonneg=True)
    wide = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    with pytest.raises(sl.errors.InvalidParameter, match="must have dimension 4"):
        wide.compile().decide(X)
