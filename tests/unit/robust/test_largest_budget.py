"""The largest feasible budget, by hand and by brute force."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.robust import RobustProblem, Uncertain

RNG = np.random.default_rng(2)
X = RNG.normal(size=(400, 2))
Y = 1 + 0.3 * X @ RNG.normal(size=(2, 2)) + 0.5 * RNG.normal(size=(400, 2))


def calibrated(loss, columns=(0, 1), guarantee="marginal", alpha=0.1):
    y = Y[:, list(columns)]
    sets = sl.LossSet(LinearRegression(), loss).fit(X[:200], y[:200])
    return sets.calibrate(X[200:], y[200:], alpha=alpha, guarantee=guarantee)


def demand(sets, limit):
    """Serve an outcome as it comes, within a limit: no choice, so all by hand."""
    y, x = Uncertain(2, name="y"), cp.Variable()
    return RobustProblem(cp.Minimize(x), [y[0] * x <= limit, x == 1], {y: sets})


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "log_cosh"])
def test_the_budget_is_the_loss_at_which_the_limit_is_reached(loss):
    """y[0] reaches the limit at the loss of a miss in that component alone."""
    sets = calibrated(loss)
    center = sets.predict(X[:1])[0]
    outcome = center + [0.8, 0.0]
    found = demand(sets, outcome[0]).largest_budget(X[:1])
    by_hand = float(sets.scores(X[:1], outcome[None])[0])
    assert found.budget == pytest.approx(by_hand, rel=2e-4)
    assert found.factor == pytest.approx(by_hand / sets.budget_, rel=2e-4)
    assert "no decision keeps" in found.reason


def test_squared_by_hand():
    """Squared error with slack 0.8: the budget is 0.64, whatever was calibrated."""
    sets = calibrated("squared")
    limit = sets.predict(X[:1])[0, 0] + 0.8
    robust = demand(sets, limit)
    assert sets.budget_ > 0.64
    assert robust.solve(X[:1]).status == "infeasible"
    found = robust.largest_budget(X[:1])
    assert found.budget == pytest.approx(0.64, rel=2e-4)
    assert found.factor < 1
    finer = robust.largest_budget(X[:1], tolerance=1e-7)
    assert finer.budget == pytest.approx(0.64, rel=1e-6)


def test_a_decision_exists_just_below_and_not_just_above():
    sets = calibrated("squared")
    y, x = Uncertain(2, name="y"), cp.Variable(2, nonneg=True)
    limits = [y @ x <= 2.0, cp.sum(x) >= 1.2]
    robust = RobustProblem(cp.Minimize(cp.sum_squares(x)), limits, {y: sets})
    found = robust.largest_budget(X[:1])
    for factor, status in ((0.999, "optimal"), (1.001, "infeasible")):
        at = sets.predict_set(X[:1], budget=factor * found.budget)[0]
        problem = RobustProblem(cp.Minimize(cp.sum_squares(x)), limits, {y: at})
        assert problem.solve().status == status


def test_above_the_calibrated_budget_and_without_limit():
    sets = calibrated("squared")
    limit = sets.predict(X[:1])[0, 0]
    found = demand(sets, limit + 4.0).largest_budget(X[:1])
    assert found.budget == pytest.approx(16.0, rel=2e-4)
    assert found.factor > 1
    y, x = Uncertain(2, name="y"), cp.Variable(2, nonneg=True)
    always = RobustProblem(cp.Maximize(y @ x), [y @ x <= 3, x <= 1], {y: sets})
    endless = always.largest_budget(X[:1])
    assert endless.budget == np.inf
    assert endless.factor == np.inf
    assert "at every budget" in endless.reason


def test_no_budget_will_do():
    sets = calibrated("squared")
    limit = sets.predict(X[:1])[0, 0] - 0.1
    found = demand(sets, limit).largest_budget(X[:1])
    assert np.isnan(found.budget)
    assert np.isnan(found.factor)
    assert "smallest sets" in found.reason
    y, x = Uncertain(2, name="y"), cp.Variable()
    never = RobustProblem(cp.Minimize(x), [y[0] * x <= 9, x >= 1, x <= 0], {y: sets})
    assert np.isnan(never.largest_budget(X[:1]).budget)


def test_an_infinite_calibrated_budget_has_a_largest_feasible_one_all_the_same():
    sets = sl.LossSet(LinearRegression()).fit(X[:200], Y[:200])
    with pytest.warns(sl.errors.InfiniteBudget):
        sets.calibrate(X[200:205], Y[200:205], alpha=0.01)
    limit = sets.predict(X[:1])[0, 0] + 0.8
    found = demand(sets, limit).largest_budget(X[:1])
    assert found.budget == pytest.approx(0.64, rel=2e-4)


def test_several_sets_share_the_factor_or_one_is_chosen():
    one, two = calibrated("squared", [0]), calibrated("squared", [1])
    a, b, x = Uncertain(1, name="a"), Uncertain(1, name="b"), cp.Variable()
    center = one.predict(X[:1]).item() + two.predict(X[:1]).item()
    limits = [(a[0] + b[0]) * x <= center + 1.0, x == 1]
    robust = RobustProblem(cp.Minimize(x), limits, {a: one, b: two})
    both = robust.largest_budget(X[:1])
    roots = np.sqrt([one.budget_, two.budget_])
    assert both.factor == pytest.approx(1 / roots.sum() ** 2, rel=2e-4)
    assert both.budget[a] == pytest.approx(both.factor * one.budget_)
    assert both.budget[b] == pytest.approx(both.factor * two.budget_)
    wide = center + roots[1] + 0.4
    alone = RobustProblem(
        cp.Minimize(x), [(a[0] + b[0]) * x <= wide, x == 1], {a: one, b: two}
    ).largest_budget(X[:1], parameter=a)
    assert alone.budget == pytest.approx(0.16, rel=3e-4)


def test_integer_decisions_over_labels_equal_brute_force():
    """Three labels at known costs; each capacity can serve some of them only."""
    labels = RNG.choice(3, p=[0.6, 0.3, 0.1], size=500)
    model = DummyClassifier(strategy="prior")
    sets = sl.LossSet(model, "cross_entropy").fit(np.zeros((400, 1)), labels[:400])
    sets.calibrate(np.zeros((100, 1)), labels[400:], alpha=0.1)
    p, take = Uncertain(3, name="p", nonneg=True), cp.Variable(boolean=True)
    limits = [p @ np.array([1.0, 2.0, 3.0]) * take <= 2.5, take == 1]
    robust = RobustProblem(cp.Minimize(take), limits, {p: sets})
    found = robust.largest_budget(np.zeros((1, 1)))
    (costs,) = sets.predict_set(np.zeros((1, 1)))[0].costs
    # Feasible until the third label, of size 3, comes in.
    assert found.budget == pytest.approx(costs[2], rel=3e-4)


def test_unions_of_folds_work_too():
    y = Y[:, :1]
    guarantee = sl.guarantees.CVPlus(n_splits=4)
    sets = sl.LossSet(LinearRegression()).calibrate(X, y, 0.1, guarantee)
    a, x = Uncertain(1, name="a"), cp.Variable()
    limit = sets.predict(X[:1]).item() + 0.5
    robust = RobustProblem(cp.Minimize(x), [a[0] * x <= limit, x == 1], {a: sets})
    found = robust.largest_budget(X[:1])
    parts = sets.predict_set(X[:1], budget=found.budget)[0].sets
    reach = max(part.support([1.0]) for part in parts)
    assert reach == pytest.approx(limit, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, y: p.largest_budget(X[:2]), "one context, got 2"),
        (lambda p, y: p.largest_budget(X[:1], tolerance=2.0), "strictly between"),
        (lambda p, y: p.largest_budget(X[:1], parameter=Uncertain(2)), "has none for"),
        (lambda p, y: p.largest_budget(X[:1], engine="guess"), "engine=..."),
    ],
)
def test_wrong_turns(call, message):
    sets = calibrated("squared")
    robust = demand(sets, 9.0)
    with pytest.raises(InvalidParameter, match=message):
        call(robust, None)


def test_set_values_have_no_budget_to_search():
    robust = demand(sl.sets.Box([0.0, 0.0], [1.0, 1.0]), 0.5)
    with pytest.raises(InvalidParameter, match="the model has none"):
        robust.largest_budget(None)
