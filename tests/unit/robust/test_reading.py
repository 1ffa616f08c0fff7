"""Decisions read at outcomes: all at once, one by one, and by hand in NumPy."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sublevel.robust.calibrating.reading import TOLERANCE, read
from sublevel.robust.calibrating.realised import realise

import sublevel as sl
from sublevel.errors import InvalidParameter

N = 60


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
    return decisions, realise(read(problem), decisions, outcomes)


def test_rows_and_objective_by_hand():
    rng = np.random.default_rng(0)
    sets, X, Y = fitted(rng, 4, shift=3.0)
    y, x = sl.Uncertain(4, name="y"), cp.Variable(4, name="x")
    A = np.array([[1.0, 0.5, 0.0, 0.2], [0.0, 1.0, 1.0, 0.0]])
    load = A @ cp.multiply(y, x)
    limits = [load <= [4.0, 5.0], x >= 0.1, x <= 2]
    problem = sl.RobustProblem(cp.Maximize(y @ x), limits, {y: sets})
    decisions, found = decided(problem, X, [Y])
    values = decisions.value(x)
    used = (Y * values) @ A.T
    over = (used - [4.0, 5.0]) / (0.01 + np.maximum(np.abs(Y * values) @ A.T, [4, 5]))
    np.testing.assert_allclose(found.excess[:, 0], over.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.objective, np.sum(Y * values, axis=1))
    size = np.maximum(np.abs(decisions.objective), np.abs(Y * values).sum(axis=1))
    short = (decisions.objective - found.objective) / (0.01 + size)
    np.testing.assert_allclose(found.excess[:, 1], short, atol=1e-12)
    assert 0 < found.violated.sum() < N


def test_pieces_of_an_objective_go_through_the_users_expression():
    rng = np.random.default_rng(1)
    sets, X, Y = fitted(rng, 1, shift=5.0)
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    cost = x + 4 * cp.maximum(y - x, 0.2 * (x - y))
    problem = sl.RobustProblem(cp.Minimize(cost), [x >= 0], {y: sets})
    assert read(problem).rows[-1] is None
    decisions, found = decided(problem, X, [Y])
    chosen, happened = decisions.value(x), Y[:, 0]
    by_hand = chosen + 4 * np.maximum(happened - chosen, 0.2 * (chosen - happened))
    np.testing.assert_allclose(found.objective, by_hand)
    np.testing.assert_array_equal(
        found.violated,
        by_hand - decisions.objective > TOLERANCE * abs(decisions.objective),
    )
    assert 0 < found.violated.sum() < N


def test_pieces_of_a_constraint_and_values_left_as_they_were():
    rng = np.random.default_rng(2)
    sets, X, Y = fitted(rng, 2, shift=4.0)
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
    held = cp.maximum(y[0] - x[0], y[1] - x[1], -1.0) <= 0
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), [held], {y: sets})
    assert read(problem).rows[0] is None
    y.value, x.value = [7.0, 7.0], [8.0, 8.0]
    decisions, found = decided(problem, X, [Y])
    over = np.max(Y - decisions.value(x), axis=1)
    np.testing.assert_array_equal(found.violated, over > TOLERANCE)
    assert 0 < found.violated.sum() < N
    assert y.value.tolist() == [7.0, 7.0]
    assert x.value is not None
    # Without an uncertain objective what was decided is what it costs.
    np.testing.assert_array_equal(found.objective, decisions.objective)
    assert found.excess.shape == (N, 1)


def test_all_at_once_is_one_by_one():
    rng = np.random.default_rng(3)
    sets, X, Y = fitted(rng, 6, shift=2.0)
    R, w = sl.Uncertain((3, 2), name="R"), cp.Variable((2, 2), name="w")
    limits = [R @ w <= 6.0, w >= 0.1]
    problem = sl.RobustProblem(cp.Maximize(cp.sum(R @ w)), limits, {R: sets})
    decisions, found = decided(problem, X, [Y])
    reading = read(problem)
    assert all(rows is not None for rows in reading.rows)
    slow = replace(reading, rows=(None,) * len(reading.rows))
    other = realise(slow, decisions, [Y])
    np.testing.assert_allclose(found.objective, other.objective)
    np.testing.assert_array_equal(found.violated, other.violated)
    matrices = Y.reshape(N, 2, 3).transpose(0, 2, 1)
    used = matrices @ decisions.value(w)
    np.testing.assert_allclose(found.objective, used.sum(axis=(1, 2)))
    np.testing.assert_array_equal(
        found.excess[:, 0] > TOLERANCE, (used - 6 > TOLERANCE * 7).any(axis=(1, 2))
    )
    assert 0 < found.violated.sum() < N


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
    decisions, found = decided(problem, X, [Y])
    rules = decisions.value(u)
    used = np.array([rule(y) for rule, y in zip(rules, Y, strict=True)])
    np.testing.assert_allclose(
        decisions.value(x) + used.sum(axis=1), Y.sum(axis=1), rtol=1e-6
    )
    assert (found.excess[:, 0] <= TOLERANCE).all()
    by_hand = (used > 6 + 7 * TOLERANCE).any(axis=1)
    assert by_hand.any()
    np.testing.assert_array_equal(found.excess[:, 1] > TOLERANCE, by_hand)


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
    decisions, found = decided(problem, X, [Y, A])
    values = decisions.value(x)
    used = np.sum(A * values, axis=1)
    np.testing.assert_array_equal(found.excess[:, 0] > TOLERANCE, used > 2 + 3e-6)
    np.testing.assert_allclose(found.objective, np.sum(Y * values, axis=1))


def test_contexts_without_a_decision_violate_nothing():
    rng = np.random.default_rng(6)
    sets, X, Y = fitted(rng, 1)
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x <= 0], {y: sets})
    decisions = problem.compile().decide(X)
    lost = decisions.status != "optimal"
    assert lost.any()
    assert not lost.all()
    found = realise(read(problem), decisions, [Y])
    assert not found.decided[lost].any()
    assert np.isnan(found.objective[lost]).all()
    assert not found.violated[lost].any()
    assert found.violated[~lost].any()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_miss_is_relative_to_the_numbers_compared(scale):
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    region = sl.sets.Box([0.0], [scale])
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y], {y: region})
    decisions = problem.compile().decide()
    bought = decisions.value(x)[0]
    for share, violated in ((0.9, False), (1.1, True)):
        # Where units are fixed a hundredth of one counts as size.
        outcome = bought + share * TOLERANCE * (bought + 0.01)
        found = realise(read(problem), decisions, [np.array([[outcome]])])
        assert bool(found.violated[0]) is violated


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e9])
def test_units_that_are_free_do_not_matter(scale):
    rng = np.random.default_rng(7)
    X, Y = data(rng, 1, n=400)
    Y = scale * (Y + 5)
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    policy = sl.RobustProblem(cp.Minimize(x), [x >= y], {y: sets}).compile()
    policy.calibrate(X[100:200], Y[100:200], alpha=0.2)
    found = policy.evaluate(X[200:], Y[200:])
    truth = Y[200:, 0] > policy.decide(X[200:]).value(x) * (1 + 1e-5)
    np.testing.assert_array_equal(found.violated, truth)
    assert 0.1 < found.violation < 0.3


def test_doing_nothing_is_not_a_miss():
    """A solver's zero is 1e-9, not a size to be relative to."""
    rng = np.random.default_rng(8)
    sets, X, Y = fitted(rng, 3, shift=-4.0)
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True, name="x")
    limits = [y @ x >= 0, cp.sum(x) <= 1]
    policy = sl.RobustProblem(cp.Maximize(cp.sum(x)), limits, {y: sets}).compile()
    assert np.abs(policy.decide(X).value(x)).max() < 1e-6
    assert policy.evaluate(X, Y - 4).violation == 0


def test_outcomes_that_solvers_round_away_are_refused():
    rng = np.random.default_rng(9)
    X, Y = data(rng, 1)
    sets = sl.LossSet(LinearRegression()).fit(X[:100], 1e-9 * Y[:100])
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    problem = sl.RobustProblem(cp.Minimize(x), [x >= y, x <= 5, x >= -5], {y: sets})
    with pytest.raises(InvalidParameter, match="larger units"):
        problem.compile().calibrate(X[100:], 1e-9 * Y[100:], alpha=0.2)
