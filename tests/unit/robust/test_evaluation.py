"""What decisions turned out to be worth, by hand."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binomtest

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.robust.clairvoyant import clairvoyant

RNG = np.random.default_rng(0)


def predicted(X):
    return X


def portfolio(budget=1.0):
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    sets = sl.LossSet(predicted)
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    return problem.compile().at(budget), w


def test_a_portfolio_by_hand():
    X = RNG.normal(size=(50, 3))
    Y = X + 0.5 * RNG.normal(size=(50, 3))
    policy, w = portfolio(0.25)
    seen = policy.evaluate(X, Y)
    weights = policy.decide(X).value(w)
    np.testing.assert_allclose(seen.realised, np.sum(Y * weights, axis=1))
    certified = np.sum(X * weights, axis=1) - 0.5 * np.linalg.norm(weights, axis=1)
    np.testing.assert_allclose(seen.certified, certified, atol=1e-6)
    np.testing.assert_allclose(seen.regret, Y.max(axis=1) - seen.realised, atol=1e-6)
    assert (seen.regret >= -1e-6).all()
    missed = seen.realised < certified - 1e-6 * (1 + np.abs(certified))
    np.testing.assert_array_equal(seen.violated, missed)
    assert seen.violation == missed.mean()
    exact = binomtest(int(missed.sum()), 50).proportion_ci(0.95)
    assert seen.interval == pytest.approx((exact.low, exact.high))
    told = seen.to_pandas()
    assert told["contexts"] == told["decided"] == 50
    assert told["regret"] == pytest.approx(seen.regret.mean())
    assert "violation" in repr(seen)


@pytest.mark.parametrize(("budget", "expected"), [(1e6, 0.0), (0.0, 1.0)])
def test_the_interval_at_its_ends(budget, expected):
    policy, _ = portfolio(budget)
    X = RNG.normal(size=(20, 3))
    seen = policy.evaluate(X, X - (1.0 if expected else 0.0))
    assert seen.violation == expected
    low, high = seen.interval
    bound = 0.025 ** (1 / 20)
    assert (low, high) == pytest.approx((bound, 1.0) if expected else (0.0, 1 - bound))


def test_minimisation_has_regret_too():
    d, x = sl.Uncertain(name="d"), cp.Variable(nonneg=True, name="x")
    cost = x + 5 * cp.pos(d - x)
    problem = sl.RobustProblem(cp.Minimize(cost), [], {d: sl.LossSet(predicted)})
    X = RNG.uniform(2, 5, size=(30, 1))
    Y = X + RNG.uniform(-1, 1, size=(30, 1))
    seen = problem.compile().at(0.25).evaluate(X, Y)
    x = X[:, 0] + 0.5
    realised = x + 5 * np.maximum(Y[:, 0] - x, 0)
    np.testing.assert_allclose(seen.realised, realised, atol=1e-5)
    np.testing.assert_allclose(seen.regret, realised - Y[:, 0], atol=1e-5)


def test_whoever_knows_the_outcome_needs_no_rule():
    """Two periods: order now, top up when demand is known; against linprog."""
    d, x = sl.Uncertain(2, name="d"), cp.Variable(name="x")
    u = sl.affine_rule(d, 2, nonneg=True, sees=[1, 2], name="u")
    stock = [x + u[0] >= d[0], x + u[0] + u[1] == d[0] + d[1] + 1]
    problem = sl.RobustProblem(
        cp.Minimize(x + 2 * u[0] + 3 * u[1]),
        [*stock, x >= 0, x <= 4],
        {d: sl.LossSet(predicted)},
    )
    outcomes = RNG.uniform(1, 5, size=(8, 2))
    found = clairvoyant(problem, [outcomes], None)
    for value, (first, second) in zip(found, outcomes, strict=True):
        exact = linprog(
            [1, 2, 3],
            A_ub=[[-1, -1, 0]],
            b_ub=[-first],
            A_eq=[[1, 1, 1]],
            b_eq=[first + second + 1],
            bounds=[(0, 4), (0, None), (0, None)],
        )
        assert value == pytest.approx(exact.fun, abs=1e-6)
    assert d.value is None


def test_integer_decisions():
    c, x = sl.Uncertain(3, name="c"), cp.Variable(3, boolean=True, name="x")
    problem = sl.RobustProblem(
        cp.Minimize(c @ x), [cp.sum(x) >= 2], {c: sl.LossSet(predicted)}
    )
    X = RNG.uniform(1, 3, size=(6, 3))
    Y = X + 0.4 * RNG.normal(size=(6, 3))
    seen = problem.compile().at(0.1).evaluate(X, Y)
    best = np.sort(Y, axis=1)[:, :2].sum(axis=1)
    np.testing.assert_allclose(seen.realised - seen.regret, best, atol=1e-6)


def test_no_one_can_decide_the_impossible():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(
        cp.Minimize(x), [x >= y, x <= 1], {y: sl.LossSet(predicted)}
    )
    X = np.array([[0.0], [0.9], [0.0]])
    Y = np.array([[0.1], [0.5], [2.0]])
    seen = problem.compile().at(0.25).evaluate(X, Y)
    assert seen.status.tolist() == ["optimal", "infeasible", "optimal"]
    assert seen.violated.tolist() == [False, False, True]
    np.testing.assert_allclose(seen.regret, [0.4, np.nan, np.nan], atol=1e-6)
    assert seen.to_pandas()["decided"] == 2


def test_a_fallback_has_a_cost_but_certifies_none():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(
        cp.Minimize(3 * x), [x >= y, x <= 1], {y: sl.LossSet(predicted)}
    )
    X = np.array([[0.0], [0.9]] * 10)
    Y = np.array([[0.1], [1.5]] * 10)
    policy = problem.compile().calibrate(X, Y, 0.6, fallback={x: 1.25}, grid=[0.25])
    seen = policy.evaluate(X, Y)
    assert seen.status.tolist() == ["optimal", "fallback"] * 10
    np.testing.assert_allclose(seen.realised[:2], [1.5, 3.75], atol=1e-6)
    assert np.isnan(seen.certified[1])
    assert seen.violated.tolist() == [False, True] * 10


def test_what_is_refused():
    policy, _ = portfolio()
    X = np.ones((5, 3))
    with pytest.raises(InvalidParameter, match=r"Policy\.evaluate.*as many rows"):
        policy.evaluate(X, X[:4])
    with pytest.raises(InvalidParameter, match="missing outcomes"):
        policy.evaluate(X, np.full((5, 3), np.nan))


def test_bars_of_an_evaluation(capsys):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 1))
    Y = X[:, 0] + rng.normal(size=40)
    sets = sl.LossSet(lambda X: X[:, 0])
    need = sl.Uncertain(name="need")
    for crew in (cp.Variable(), cp.Variable(integer=True)):
        goal = cp.Minimize(crew)
        policy = sl.RobustProblem(goal, [crew >= need], {need: sets}).compile().at(1.0)
        plain = policy.evaluate(X, Y)
        assert capsys.readouterr().err == ""
        shown = policy.evaluate(X, Y, progress=True)
        bars = capsys.readouterr().err
        assert "40/40 outcomes in hindsight" in bars
        assert "40/40 contexts" in bars
        np.testing.assert_array_equal(plain.regret, shown.regret)
    sl.evaluate({"a": policy, "b": policy}, X, Y, progress=True)
    assert "2/2 policies" in capsys.readouterr().err
    with pytest.raises(InvalidParameter, match="must be True or False"):
        policy.evaluate(X, Y, progress=2)


def test_one_policy_is_evaluated_by_itself_and_decisions_are_no_list():
    need, stock = sl.Uncertain(name="need"), cp.Variable()
    sets = sl.LossSet(lambda X: X[:, 0])
    problem = sl.RobustProblem(cp.Minimize(stock), [stock >= need], {need: sets})
    X = np.arange(6.0)[:, None]
    with pytest.raises(sl.errors.NotCalibrated, match="or of the policy that uses it"):
        problem.compile().decide(X)
    policy = problem.compile().at(1.0)
    with pytest.raises(InvalidParameter, match=r"policy\.evaluate\(X, Y\) for one"):
        sl.evaluate(policy, X, X[:, 0])
    with pytest.raises(InvalidParameter, match=r"slice.*to_pandas\(\)"):
        policy.decide(X)[:2]
