"""Decisions held against outcomes: all at once, one by one, and by hand in NumPy."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.robust.evaluating import realised
from sublevel.robust.judge.materiality import RESOLUTION

N = 60
#: Outcomes are drawn from continuous laws: none is this near to a limit.
CLEAR = 1e-6


def data(rng, width, n=300):
    X = rng.normal(size=(n, 3))
    return X, X @ rng.normal(size=(3, width)) + rng.normal(size=(n, width))


def fitted(rng, width, shift=0.0, loss="squared"):
    """A LossSet with a small budget, and contexts with outcomes to meet."""
    X, Y = data(rng, width)
    sets = sl.LossSet(LinearRegression(), loss).fit(X[:100], Y[:100] + shift)
    sets.calibrate(X[100:200], Y[100:200] + shift, alpha=0.5)
    return sets, X[200 : 200 + N], Y[200 : 200 + N] + shift


def decided(problem, X, outcomes):
    decisions = problem.compile().decide(X)
    assert (decisions.status == "optimal").all()
    return decisions, realised(problem.compile(), decisions.arrays, outcomes)


def test_rows_and_objective_by_hand():
    rng = np.random.default_rng(0)
    sets, X, Y = fitted(rng, 4, shift=3.0)
    y, x = sl.Uncertain(4, name="y"), cp.Variable(4, name="x")
    A = np.array([[1.0, 0.5, 0.0, 0.2], [0.0, 1.0, 1.0, 0.0]])
    load = A @ cp.multiply(y, x)
    limits = [load <= [4.0, 5.0], x >= 0.1, x <= 2]
    problem = sl.RobustProblem(cp.Maximize(y @ x), limits, {y: sets})
    decisions, happened = decided(problem, X, [Y])
    values = decisions.value(x)
    used, limit = (Y * values) @ A.T, np.array([4.0, 5.0])
    returned = np.sum(Y * values, axis=1)
    np.testing.assert_allclose(happened.objective, returned)
    # A row is missed by its own net size: the larger of the two sides it compares.
    over = (used - limit) / np.maximum(used, limit)
    certified = decisions.objective
    short = (certified - returned) / np.maximum(np.abs(certified), np.abs(returned))
    worst = np.maximum(over.max(axis=1), short)
    np.testing.assert_array_equal(happened.violated, worst > CLEAR)
    missed = happened.violated
    np.testing.assert_allclose(happened.miss[missed], worst[missed], atol=1e-6)
    assert np.isneginf(happened.miss[~missed]).all()
    assert 0 < missed.sum() < N


def test_pieces_of_an_objective_go_through_the_users_expression():
    rng = np.random.default_rng(1)
    sets, X, Y = fitted(rng, 1, shift=5.0)
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    cost = x + 4 * cp.maximum(y - x, 0.2 * (x - y))
    problem = sl.RobustProblem(cp.Minimize(cost), [x >= 0], {y: sets})
    decisions, happened = decided(problem, X, [Y])
    chosen, demand = decisions.value(x), Y[:, 0]
    by_hand = chosen + 4 * np.maximum(demand - chosen, 0.2 * (chosen - demand))
    np.testing.assert_allclose(happened.objective, by_hand)
    np.testing.assert_array_equal(
        happened.violated,
        by_hand - decisions.objective > CLEAR * abs(decisions.objective),
    )
    assert 0 < happened.violated.sum() < N


def test_pieces_of_a_constraint_and_values_left_as_they_were():
    rng = np.random.default_rng(2)
    sets, X, Y = fitted(rng, 2, shift=4.0)
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
    held = cp.maximum(y[0] - x[0], y[1] - x[1], -1.0) <= 0
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), [held], {y: sets})
    y.value, x.value = [7.0, 7.0], [8.0, 8.0]
    decisions, happened = decided(problem, X, [Y])
    over = np.max(Y - decisions.value(x), axis=1)
    np.testing.assert_array_equal(happened.violated, over > CLEAR)
    assert 0 < happened.violated.sum() < N
    assert y.value.tolist() == [7.0, 7.0]
    assert x.value is not None
    # Without an uncertain objective what was decided is what it costs.
    np.testing.assert_array_equal(happened.objective, decisions.objective)


def test_all_at_once_is_one_by_one():
    rng = np.random.default_rng(3)
    sets, X, Y = fitted(rng, 6, shift=2.0)
    R, w = sl.Uncertain((3, 2), name="R"), cp.Variable((2, 2), name="w")
    limits = [R @ w <= 6.0, w >= 0.1]
    problem = sl.RobustProblem(cp.Maximize(cp.sum(R @ w)), limits, {R: sets})
    decisions, happened = decided(problem, X, [Y])
    policy = problem.compile()
    for i in range(0, N, 7):
        one = realised(policy, policy.decide(X[[i]]).arrays, [Y[[i]]])
        assert one.violated[0] == happened.violated[i]
        assert one.objective[0] == pytest.approx(happened.objective[i])
    matrices = Y.reshape(N, 2, 3).transpose(0, 2, 1)
    used = matrices @ decisions.value(w)
    np.testing.assert_allclose(happened.objective, used.sum(axis=(1, 2)))
    broken = (used - 6 > CLEAR).any(axis=(1, 2))
    broken |= happened.objective < decisions.objective - CLEAR
    np.testing.assert_array_equal(happened.violated, broken)
    assert 0 < happened.violated.sum() < N


def test_equalities_that_a_rule_answers_to_are_kept():
    rng = np.random.default_rng(4)
    sets, X, Y = fitted(rng, 2, shift=6.0)
    d, x = sl.Uncertain(2, name="d"), cp.Variable(name="x")
    u = sl.affine_rule(d, 2, name="u")
    stock = x + u[0] + u[1] == cp.sum(d)
    cost = 3 * x + cp.sum(u)
    problem = sl.RobustProblem(
        cp.Minimize(cost), [stock, u <= 6, u >= -9, x >= 0], {d: sets}
    )
    decisions, happened = decided(problem, X, [Y])
    rules = decisions.value(u)
    used = np.array([rule(y) for rule, y in zip(rules, Y, strict=True)])
    np.testing.assert_allclose(
        decisions.value(x) + used.sum(axis=1), Y.sum(axis=1), rtol=1e-6
    )
    by_hand = (used > 6 + CLEAR).any(axis=1) | (used < -9 - CLEAR).any(axis=1)
    by_hand |= 3 * decisions.value(x) + used.sum(axis=1) > decisions.objective + CLEAR
    assert by_hand.any()
    assert not by_hand.all()
    np.testing.assert_array_equal(happened.violated, by_hand)


def test_several_keys_and_a_set_value():
    rng = np.random.default_rng(5)
    sets, X, Y = fitted(rng, 2, shift=3.0)
    price = sl.Uncertain(2, name="price")
    a, x = sl.Uncertain(2, name="a"), cp.Variable(2, name="x")
    box = sl.sets.Box([0.5, 0.5], [1.0, 1.0])
    problem = sl.RobustProblem(
        cp.Maximize(price @ x), [a @ x <= 2, x >= 0], {price: sets, a: box}
    )
    A = rng.uniform(0.4, 1.2, size=(N, 2))
    decisions, happened = decided(problem, X, [Y, A])
    values = decisions.value(x)
    used = np.sum(A * values, axis=1)
    np.testing.assert_allclose(happened.objective, np.sum(Y * values, axis=1))
    by_hand = (used > 2 + CLEAR) | (happened.objective < decisions.objective - CLEAR)
    np.testing.assert_array_equal(happened.violated, by_hand)


def test_contexts_without_a_decision_violate_nothing():
    rng = np.random.default_rng(6)
    sets, X, Y = fitted(rng, 1)
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x <= 0], {y: sets})
    policy = problem.compile()
    decisions = policy.decide(X)
    lost = decisions.status != "optimal"
    assert lost.any()
    assert not lost.all()
    happened = realised(policy, decisions.arrays, [Y])
    assert not happened.decided[lost].any()
    assert np.isnan(happened.objective[lost]).all()
    assert not happened.violated[lost].any()
    assert happened.violated[~lost].any()


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e4, 1e8])
def test_a_miss_is_what_lies_beyond_the_audited_slack(scale):
    """Any miss counts that is more than rounding, in any unit."""
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    region = sl.sets.Box([0.0], [scale])
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y], {y: region})
    policy = problem.compile()
    decisions = policy.decide()
    bought, slack = decisions.value(x)[0], decisions.audit.slack[0, 0]
    for beyond, violated in ((-1e-3, False), (0.0, False), (1e-7, True), (0.1, True)):
        outcome = bought + slack + beyond * scale
        happened = realised(policy, decisions.arrays, [np.array([[outcome]])])
        assert bool(happened.violated[0]) is violated
    assert RESOLUTION < 1e-7


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e9])
def test_units_that_are_free_do_not_matter(scale):
    rng = np.random.default_rng(7)
    X, Y = data(rng, 1, n=400)
    Y = scale * (Y + 5)
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    policy = sl.RobustProblem(cp.Minimize(x), [x >= y], {y: sets}).compile()
    policy.calibrate(X[100:200], Y[100:200], alpha=0.2)
    happened = policy.evaluate(X[200:], Y[200:])
    truth = Y[200:, 0] > policy.decide(X[200:]).value(x) * (1 + 1e-5)
    np.testing.assert_array_equal(happened.violated, truth)
    assert 0.1 < happened.violation < 0.3


def test_doing_nothing_is_not_a_miss():
    """A solver's zero is 1e-9, not a size to be relative to."""
    rng = np.random.default_rng(8)
    sets, X, Y = fitted(rng, 3, shift=-4.0)
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True, name="x")
    limits = [y @ x >= 0, cp.sum(x) <= 1]
    policy = sl.RobustProblem(cp.Maximize(cp.sum(x)), limits, {y: sets}).compile()
    assert np.abs(policy.decide(X).value(x)).max() < 1e-6
    assert policy.evaluate(X, Y - 4).violation == 0


def test_units_beside_constants_that_are_no_limit_to_them():
    """Bounds of 5 say nothing of outcomes of 1e-9, and excuse no miss of theirs."""
    rng = np.random.default_rng(9)
    X, Y = data(rng, 1)
    sets = sl.LossSet(LinearRegression()).fit(X[:100], 1e-9 * Y[:100])
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x <= 5, x >= -5], {y: sets})
    policy = problem.compile().calibrate(X[100:200], 1e-9 * Y[100:200], alpha=0.2)
    happened = policy.evaluate(X[200:], 1e-9 * Y[200:])
    truth = 1e-9 * Y[200:, 0] > policy.decide(X[200:]).value(x) + 1e-15
    np.testing.assert_array_equal(happened.violated, truth)
    assert 0.08 < happened.violation < 0.35


@pytest.mark.parametrize("noise", [1e-8, 1e-11, 1e-16])
def test_a_decision_that_is_nothing_but_noise(noise):
    """Its only entry is next to nothing: what it is worth is learnt beside constants in
    which small steps are lost to rounding."""
    r, x = sl.Uncertain(2, name="r"), cp.Variable(1, name="x")
    goal = cp.Minimize(1.6e-6 * x[0] + 0.0066 + cp.pos(1e-6 * r[0] * x[0] - 0.0039))
    rows = [x >= 0, x <= 2e4, r[1] * x[0] <= 6e4]
    problem = sl.RobustProblem(goal, rows, {r: sl.sets.Box([0.0, 0.0], [1.0, 1.0])})
    assert problem.audit({"x": [-noise]}).passed
    assert not problem.audit({"x": [-3.0]}).passed
