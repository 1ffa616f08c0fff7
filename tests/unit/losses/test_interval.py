"""Intervals between quantile models, against boxes and sums written here."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.multioutput import MultiOutputRegressor

import sublevel as sl
from sublevel.errors import CoarseLevels, InvalidParameter
from sublevel.losses import Interval
from sublevel.predictions import Prediction
from sublevel.sets import Box, Sublevel

RNG = np.random.default_rng(5)
X = RNG.uniform(0, 1, size=(260, 2))
Y = 3 + X + (0.1 + 0.5 * X) * RNG.normal(size=(260, 2))
TRAIN, CALIBRATE, NEW = slice(0, 120), slice(120, 240), slice(240, 260)


def ends(x, wide=1.0):
    middle, half = 3 + x, wide * (0.1 + 0.5 * x)
    return middle - half, middle + half


def by_hand(lower, upper, y, weights=1.0):
    return np.max(np.maximum(lower - y, y - upper) / weights, axis=-1)


@pytest.mark.parametrize("weights", [None, (0.5, 2.0)])
def test_the_score_is_that_of_conformalised_quantile_regression(weights):
    sets = sl.LossSet(ends, Interval(weights=weights))
    expected = by_hand(*ends(X), Y, 1.0 if weights is None else np.array(weights))
    np.testing.assert_allclose(sets.scores(X, Y), expected, atol=1e-14)
    rank = int(np.ceil(121 * 0.8))
    sets.calibrate(X[CALIBRATE], Y[CALIBRATE], alpha=0.2)
    assert sets.budget_ == pytest.approx(np.sort(expected[CALIBRATE])[rank - 1])


@pytest.mark.parametrize("budget", [-0.09, -0.02, 0.0, 0.4])
def test_the_set_is_a_box(budget):
    lower, upper = ends(X[NEW])
    batch = sl.LossSet(ends, "interval").predict_set(X[NEW], budget=budget)
    low, high = batch.bounds()
    np.testing.assert_allclose(low, lower - budget)
    np.testing.assert_allclose(high, upper + budget)
    box = Box(lower[3] - budget, upper[3] + budget)
    for direction in RNG.normal(size=(20, 2)):
        assert batch[3].support(direction) == pytest.approx(box.support(direction))
    drawn = RNG.uniform(2, 6, size=(400, 2))
    assert (batch[3].contains(drawn) == box.contains(drawn)).all()
    assert batch[3].volume() == pytest.approx(box.volume())
    assert box.contains(batch[3].sample(50, random_state=0)).all()


def test_quantiles_that_cross_are_put_in_order():
    def crossed(x):
        lower, upper = ends(x)
        swap = x[:, :1] > 0.5
        return np.where(swap, upper, lower), np.where(swap, lower, upper)

    plain, other = sl.LossSet(ends, "interval"), sl.LossSet(crossed, "interval")
    np.testing.assert_allclose(other.scores(X, Y), plain.scores(X, Y), atol=1e-14)
    pair = plain.predict_set(X[NEW], 0.1), other.predict_set(X[NEW], 0.1)
    np.testing.assert_allclose(pair[1].bounds(), pair[0].bounds(), atol=1e-14)


def test_a_budget_below_all_losses_leaves_the_outcomes_of_least_loss():
    """Half-widths 1 and 3 at budget -2: -1 is the least loss, of y_0 = 0."""
    interval = Prediction.between([[-1.0, 2.0]], [[1.0, 8.0]])
    outcomes = sl.predictions.Outcomes((sl.predictions.Numbers(2),))
    batch = sl.loss_set.SetBatch(Interval(), interval, np.array([-2.0]), outcomes, ())
    np.testing.assert_allclose(batch.bounds(), [[[0.0, 3.0]], [[0.0, 7.0]]])
    assert batch.below_least.tolist() == [True]
    assert "below every loss at 1 of 1 contexts" in repr(batch)
    assert batch.contains([[0.0, 3.0]]).all()
    assert not batch.contains([[0.01, 5.0]]).any()
    assert batch[0].sample(3, random_state=0)[:, 0] == pytest.approx(0.0, abs=1e-9)
    assert batch[0].support([1.0, -1.0]) == -3.0


def test_a_shadow_has_the_budget_of_the_whole():
    """Not less, as it would be of a sum: the widest interval alone may shrink more."""
    lower, upper = np.array([[0.0, 0.0]]), np.array([[1.0, 10.0]])
    loss, seen, budget = Interval().shadow(
        Prediction.between(lower, upper), np.array([-0.25]), np.array([1])
    )
    assert loss.support(seen, budget, np.ones(1)) == pytest.approx(9.75)


MODELS = {
    "linear": lambda q: QuantileRegressor(quantile=q, alpha=0.0),
    "histogram": lambda q: HistGradientBoostingRegressor(
        loss="quantile", quantile=q, max_iter=5, random_state=0
    ),
    "boosting": lambda q: GradientBoostingRegressor(
        loss="quantile", alpha=q, n_estimators=5, random_state=0
    ),
}


WAYS = ["pair", "lists", "multi", "fitted", "explicit"]
# One way is enough for the slow one: it shares its cores with whatever else runs.
TRIES = [(n, how) for n in ("linear", "boosting") for how in WAYS]


@pytest.mark.parametrize(("name", "how"), [*TRIES, ("histogram", "pair")])
def test_quantile_regressors_of_scikit_learn(name, how):
    low, high = MODELS[name](0.1), MODELS[name](0.9)
    y = Y[:, 0] if how in ("pair", "fitted") else Y
    models = {
        "pair": [low, high],
        "lists": [[low, low], [high, high]],
        "multi": (MultiOutputRegressor(low), MultiOutputRegressor(high)),
        "explicit": sl.QuantilePair([low, low], MultiOutputRegressor(high)),
    }
    if how == "fitted":
        fitted = [m.fit(X[TRAIN], y[TRAIN]) for m in (low, high)]
        sets = sl.LossSet(fitted, "interval")
    else:
        sets = sl.LossSet(models[how], "interval").fit(X[TRAIN], y[TRAIN])
        assert sets.loss_.unit > 0
    sets.calibrate(X[CALIBRATE], y[CALIBRATE], alpha=0.2)
    columns = y.reshape(len(y), -1).T
    fits = [
        [MODELS[name](q).fit(X[TRAIN], c[TRAIN]) for c in columns] for q in (0.1, 0.9)
    ]
    lower, upper = (np.column_stack([m.predict(X) for m in row]) for row in fits)
    ordered = np.minimum(lower, upper), np.maximum(lower, upper)
    expected = by_hand(*ordered, y.reshape(len(y), -1))
    np.testing.assert_allclose(sets.scores(X, y), expected, atol=1e-9)
    middle = (lower + upper)[NEW] / 2
    np.testing.assert_allclose(np.squeeze(sets.predict(X[NEW])), np.squeeze(middle))


def posed(sets, unit=1.0):
    y, w = sl.Uncertain(2, name="y"), cp.Variable(2, nonneg=True, name="w")
    limits = [y @ w >= unit, y[0] * w[0] >= 0.2 * unit]
    return sl.RobustProblem(cp.Minimize(cp.sum(w)), limits, {y: sets})


def cheapest(lower):
    """The least sum of w with l'w >= 1 and l_0 w_0 >= 0.2: all in the larger one."""
    first, second = lower.T
    some = 0.2 / first
    return np.where(second > first, some + 0.8 / second, 1 / first)


@pytest.mark.parametrize("power", [-8, 0, 8])
@pytest.mark.parametrize("wide", [0.3, 3.0])
def test_decisions_in_any_units_and_with_budgets_of_either_sign(power, wide, tmp_path):
    unit = 10.0**power
    model = MovedEnds(unit, wide)
    sets = sl.LossSet(model, "interval").fit(X[TRAIN], unit * Y[TRAIN])
    sets.calibrate(X[CALIBRATE], unit * Y[CALIBRATE], alpha=0.2)
    assert (sets.budget_ < 0) == (wide == 3.0)
    policy = posed(sets, unit).compile()
    decisions = policy.decide(X[NEW])
    expected = cheapest(sets.predict_set(X[NEW]).bounds()[0] / unit)
    np.testing.assert_allclose(decisions.objective, expected, rtol=1e-6)
    assert posed(sets, unit).solve(X[NEW][:1]).objective == pytest.approx(expected[0])
    path = tmp_path / "policy"
    policy.save(path)
    for given in (sets, model):
        loaded = sl.load_policy(path, models={"y": given}).decide(X[NEW])
        np.testing.assert_array_equal(loaded.objective, decisions.objective)
    said = Prediction.between(*model(X[NEW]))
    without = sl.load_policy(path).decide(said)
    np.testing.assert_array_equal(without.objective, decisions.objective)


class MovedEnds:
    """A function of X that is known again by its name."""

    def __init__(self, unit, wide):
        self.unit, self.wide = unit, wide

    def __call__(self, x):
        return tuple(self.unit * end for end in ends(x, self.wide))


@pytest.mark.parametrize("method", ["envelope", "learn-then-test", "risk"])
def test_policies_are_calibrated_alike_in_all_units(method):
    levels = []
    for unit in (1e-8, 1.0, 1e8):
        sets = sl.LossSet(MovedEnds(unit, 3.0), "interval")
        sets.fit(X[TRAIN], unit * Y[TRAIN])
        policy = posed(sets, unit).compile()
        policy.calibrate(X[CALIBRATE], unit * Y[CALIBRATE], alpha=0.2, method=method)
        levels.append(policy.budget_ / unit)
    assert levels == pytest.approx([levels[1]] * 3, rel=1e-9)
    assert levels[1] < 0


def test_a_grid_without_a_unit_says_that_it_is_coarse():
    small = sl.LossSet(MovedEnds(1e-3, 3.0), "interval")
    policy = posed(small, 1e-3).compile()
    with pytest.warns(CoarseLevels, match=r"call LossSet.fit\(X_train, Y_train\)"):
        policy.calibrate(X[CALIBRATE], 1e-3 * Y[CALIBRATE], alpha=0.2)
    told = sl.LossSet(MovedEnds(1e-3, 3.0), Interval(unit=1e-3))
    policy = posed(told, 1e-3).compile()
    policy.calibrate(X[CALIBRATE], 1e-3 * Y[CALIBRATE], alpha=0.2)
    assert policy.budget_ < 0


@pytest.mark.parametrize("budget", [0.3, -0.4, -3.0])
def test_whole_numbers_above_a_box(budget):
    # Every row is a bound: the master of integers has no other.
    X = np.random.default_rng(0).normal(size=(3, 2))
    sets = sl.LossSet(lambda X: (X + 7, X + 9), "interval")
    d, order = sl.Uncertain(2), cp.Variable(2, integer=True)
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(order)),
        [order[0] >= d[0], order[1] >= 0.5 * (d[0] + d[1]), order >= 0, order <= 40],
        {d: sets},
    )
    ends = sets.predict_set(X, budget=budget).bounds()[1]
    want = np.ceil(np.column_stack([ends[:, 0], ends.mean(axis=1)]) - 1e-6)
    decided = problem.compile().at(budget).decide(X).value(order)
    np.testing.assert_allclose(decided, want)


def test_several_sets_with_negative_budgets_are_not_scaled_together():
    def one(j):
        model = lambda x: tuple(end[:, [j]] for end in ends(x, 3.0))  # noqa: E731
        sets = sl.LossSet(model, "interval")
        return sets.calibrate(X[TRAIN], Y[TRAIN, [j]], alpha=0.2)

    a, b = sl.Uncertain(1, name="a"), sl.Uncertain(1, name="b")
    w = cp.Variable(2, nonneg=True)
    limits = [a[0] * w[0] + b[0] * w[1] >= 1]
    problem = sl.RobustProblem(cp.Minimize(cp.sum(w)), limits, {a: one(0), b: one(1)})
    outcomes = {"a": Y[CALIBRATE, :1], "b": Y[CALIBRATE, 1:]}
    assert problem.compile().decide(X[NEW]).decided.all()
    with pytest.raises(InvalidParameter, match="these must be positive, got -"):
        problem.compile().calibrate(X[CALIBRATE], outcomes, alpha=0.2)


def test_cross_fitting_unites_the_folds():
    pair = [QuantileRegressor(quantile=q, alpha=0.0) for q in (0.1, 0.9)]
    sets = sl.LossSet(pair, "interval")
    sets.calibrate(X[TRAIN], Y[TRAIN, 0], guarantee=sl.guarantees.CVPlus(4))
    assert len(sets.predict_set(X[NEW])[0].sets) == 4
    partly = [pair[0], QuantileRegressor(quantile=0.9).fit(X, Y[:, 0])]
    with pytest.raises(InvalidParameter, match="a fitted QuantileRegressor"):
        sl.LossSet(partly, "interval").calibrate(
            X[TRAIN], Y[TRAIN, 0], guarantee=sl.guarantees.CVPlus(4)
        )


def test_beside_another_loss():
    both = sl.losses.Combined(["interval", "squared"], weights=(0.5, 1.0))
    models = [[QuantileRegressor(quantile=q) for q in (0.1, 0.9)], LinearRegression()]
    sets = sl.LossSet(models, both).fit(X[TRAIN], Y[TRAIN])
    sets.calibrate(X[CALIBRATE], Y[CALIBRATE], alpha=0.2)
    lower, upper = (m.predict(X) for m in sets.model_.parts[0].parts)
    line = sets.model_.parts[1].predict(X)
    score = by_hand(lower[:, None], upper[:, None], Y[:, :1], 0.5)
    score += (Y[:, 1] - line) ** 2
    np.testing.assert_allclose(sets.scores(X, Y), score)
    compiled = posed(sets).compile().decide(X[NEW][:4]).objective
    by_cuts = [
        posed(sets).solve(X[[i]], engine="cuts").objective for i in range(240, 244)
    ]
    np.testing.assert_allclose(compiled, by_cuts, rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ([LinearRegression()] * 3, "must be given two models"),
        (lambda x: x[:, 0], "needs a lower and an upper quantile"),
        (lambda x: (x[:, 0], x), "must predict the same components"),
        (lambda x: (x[:, 0], x[:5, 0]), r"must give quantiles of shape \(260, m\)"),
        (lambda x: (x[:, 0], np.inf * x[:, 0]), "must give finite quantiles"),
        (lambda x: Prediction(x[:, :1]), r"Say Prediction.between\(lower, upper\)"),
        ([LinearRegression().fit(X, Y), 3.0], "which cannot predict"),
    ],
)
def test_what_is_no_pair_of_quantiles_is_refused(model, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        sl.LossSet(model, "interval").scores(X, Y[:, 0])


def test_one_output_models_are_told_how_to_predict_several():
    pair = [GradientBoostingRegressor(loss="quantile", alpha=q) for q in (0.1, 0.9)]
    with pytest.raises(ValueError, match=r"y should be|1d") as caught:
        sl.LossSet(pair, "interval").fit(X, Y)
    assert "[[lower, lower, ...], [upper, upper, ...]]" in caught.value.__notes__[0]


def test_intervals_without_width_are_diagnosed_and_held_against_outcomes():
    def narrow(x):
        lower, upper = ends(x)
        return lower, np.where(x[:, :1] > 0.8, lower, upper)

    sets = sl.LossSet(narrow, "interval").calibrate(X[TRAIN], Y[TRAIN], alpha=0.2)
    assert sets.predict_set(X[NEW], budget=-0.01).below_least.any()
    assert np.isfinite([c.value for c in sl.diagnose(sets, X, Y).checks]).all()
    decided = posed(sets).compile().decide(X[NEW])
    expected = cheapest(sets.predict_set(X[NEW]).bounds()[0])
    np.testing.assert_allclose(decided.objective, expected, rtol=1e-6)


def test_parameters_are_checked():
    with pytest.raises(InvalidParameter, match=r"must be a positive number, got 0\.0"):
        Interval(unit=0.0)
    with pytest.raises(InvalidParameter, match="one weight for each of the 2"):
        sl.LossSet(ends, Interval(weights=(1.0,))).scores(X, Y)
    with pytest.raises(InvalidParameter, match="ends of one shape"):
        Prediction.between([0.0], [1.0, 2.0])
    with pytest.raises(InvalidParameter, match="no negative spread"):
        Sublevel(Interval(), Prediction([0.0], [-1.0]), 0.0)
