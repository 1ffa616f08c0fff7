"""sl.choose: the shape that costs least among those that keep the same promise."""

import json
import re
import sys
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.choosing.choice import costs_of, least_of
from sublevel.choosing.crossing import AROUND, compared, crossed
from sublevel.errors import InvalidParameter

DIM = 3
#: Two errors go together, so that their difference is nearly certain.
FACTOR = np.array([[1.0, 0.0, 0.0], [0.99, 0.1, 0.0], [0.0, 0.0, 1.0]])


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = 0.5 * rng.normal(size=(n, DIM))
    return X, X + rng.normal(size=(n, DIM)) @ FACTOR.T


def policy_of(loss, model=lambda X: X, goal=cp.Maximize, **kinds):
    r, w = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, **kinds)
    sets = sl.LossSet(model, loss)
    limits = [cp.sum(w) == 0, cp.abs(w) <= 1]
    return sl.RobustProblem(goal(r @ w), limits, {r: sets}).compile()


def shapes():
    covariance = FACTOR @ FACTOR.T
    return {
        "squared": policy_of("squared"),
        "mahalanobis": policy_of(sl.losses.Mahalanobis(covariance)),
        "diagonal": policy_of(sl.losses.Squared(weights=(1.0, 1.0, 2.0))),
    }


@pytest.fixture(scope="module")
def choice():
    return sl.choose(shapes(), *draw(80, 0), alpha=0.2)


def test_the_right_shape_is_chosen(choice):
    assert choice.best == "mahalanobis"
    table = choice.to_pandas()
    assert table.index[0] == "mahalanobis"
    assert (table["behind"].to_numpy()[1:] > 0).all()
    assert table["certified"].is_monotonic_decreasing
    # Each part is evaluated at what the others were calibrated to.
    X, Y = draw(80, 0)
    again = crossed(shapes()["squared"], X, Y, 0.2, "marginal", 5, None).at_alpha
    assert np.allclose(again.certified, choice.evaluations["squared"].certified)
    assert len(again.status) == 80


def test_the_winner_comes_uncalibrated_and_refuses_the_rows_it_was_chosen_by(choice):
    X, Y = draw(80, 0)
    assert "certificate_" not in vars(choice.policy)
    with pytest.raises(InvalidParameter, match="chosen by"):
        choice.policy.calibrate(X[:40], Y[:40], alpha=0.2)
    with pytest.raises(InvalidParameter, match="chosen by"):
        choice.policy.envelope_scores(X[:40], Y[:40])
    fresh = draw(60, 1)
    promised = choice.policy.calibrate(*fresh, alpha=0.2).certificate_
    assert promised.alpha == 0.2
    assert promised.confidence is None


def test_levels_are_fine_where_the_rows_of_the_choice_expect_them(choice):
    grid = choice.grid("squared")
    low, high = choice.expected["squared"]
    X, Y = draw(80, 0)
    # The level of four fifths of these rows is in between, as those of the folds are.
    own = shapes()["squared"].calibrate(X[:64], Y[:64], alpha=0.2).budget_
    assert low <= own <= high
    inside = grid[(grid >= low) & (grid <= high)]
    assert len(inside) >= 61
    np.testing.assert_allclose(np.diff(inside).max(), (high - low) / 60)
    assert (np.diff(grid) > 0).all()
    assert grid[0] > 0
    losses = shapes()["squared"].problem.keys[0].predicted.scores(*draw(60, 1))
    assert grid[-1] > 1e3 * losses.max()
    np.testing.assert_array_equal(choice.grid(), choice.grid("mahalanobis"))


def test_a_level_is_rounded_up_by_no_more_than_a_fine_step(choice):
    fresh, (low, high) = draw(100, 1), choice.expected["mahalanobis"]
    fine = choice.policy.calibrate(*fresh, 0.2, grid=choice.grid()).budget_
    coarse = choice.policy.calibrate(*fresh, 0.2).budget_
    # Twenty times finer, from above the answer to below it.
    near = np.linspace(0.9 * low, 1.1 * high, 1500)
    exact = choice.policy.calibrate(*fresh, 0.2, grid=[*near, 1e6]).budget_
    assert low < exact < high
    assert exact - np.diff(near)[0] <= fine <= exact + (high - low) / 60
    assert coarse > fine


def test_a_grid_for_the_rows_of_the_choice_is_refused(choice):
    with pytest.raises(InvalidParameter, match="other rows"):
        replace(choice, delta=0.2).grid()
    with pytest.raises(InvalidParameter, match=r"one of .*'squared'.*got 'ball'"):
        choice.grid("ball")
    with pytest.raises(InvalidParameter, match="steps"):
        choice.grid(steps=0)


def test_without_a_shared_search_the_grid_is_the_default():
    groups = sl.guarantees.Mondrian(lambda X: np.zeros(len(X), dtype=int))
    few = {"squared": policy_of("squared")}
    mondrian = sl.choose(few, *draw(40, 3), alpha=0.3, guarantee=groups)
    assert mondrian.grid() is None


def test_a_choice_on_the_calibration_rows_is_paid_for_with_confidence():
    X, Y = draw(60, 2)
    choice = sl.choose(shapes(), X, Y, alpha=0.3, delta=0.2)
    promised = choice.policy.certificate_
    wanted = sl.guarantees.PAC(0.2, candidates=3)
    alone = shapes()[choice.best].calibrate(X, Y, alpha=0.3, guarantee=wanted)
    assert promised.budget == alone.certificate_.budget
    single = shapes()[choice.best].calibrate(X, Y, alpha=0.3, delta=0.2)
    assert promised.budget >= single.certificate_.budget
    assert promised.confidence == pytest.approx(0.8)
    assert "certified together" in choice.sentence


def test_rewards_and_costs_alike():
    X, Y = draw(40, 3)
    down = {
        "squared": policy_of("squared", goal=cp.Minimize),
        "wide": policy_of(sl.losses.Squared(weights=(1, 9, 1)), goal=cp.Minimize),
    }
    choice = sl.choose(down, X, Y, alpha=0.2, by="realised")
    scores = choice.scores()
    assert choice.best == min(scores, key=scores.get)
    assert scores[choice.best] < 0


def test_who_leaves_contexts_undecided_is_not_cheap():
    def seen(certified):
        n = len(certified)
        nothing = np.zeros(n)
        return sl.robust.Evaluation(
            np.full(n, ""),
            ~np.isnan(certified),
            nothing > 0,
            certified,
            nothing,
            nothing,
        )

    costs = costs_of(
        {"a": seen(np.array([1.0, np.nan])), "b": seen(np.array([2.0, 3.0]))},
        "certified",
        1.0,
    )
    assert costs["a"].tolist() == [1.0, 3.0]
    rewards = costs_of({"a": seen(np.array([1.0, np.nan]))}, "certified", -1.0)
    assert rewards["a"].tolist() == [-1.0, -1.0]


def test_a_table_a_picture_a_sentence_and_plain_data(choice):
    assert "'mahalanobis' is the best of 3" in choice.sentence
    assert json.loads(choice.to_json())["candidates"]["squared"]["behind"] > 0
    assert "Choice" in repr(choice)
    assert "mahalanobis" in choice._repr_html_()
    pytest.importorskip("matplotlib")
    ax = choice.plot()
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels == list(choice.to_pandas().index)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"policies": {}}, "non-empty"),
        ({"policies": {"a": 3}}, "calibrated"),
        ({"by": "luck"}, "by"),
        ({"folds": 1}, "folds"),
        ({"alpha": 2.0}, "alpha"),
        ({"alpha": 0.001}, "Use at least 1249 rows"),
    ],
)
def test_what_is_refused(settings, rule):
    X, Y = draw(20, 4)
    given = {"policies": {"squared": policy_of("squared")}, "alpha": 0.2} | settings
    with pytest.raises(InvalidParameter, match=rule):
        sl.choose(X=X, Y=Y, **given)


def test_no_rows_to_compare_on():
    """A split without a tuning part gives an empty one."""
    X, Y = draw(30, 0)
    with pytest.raises(InvalidParameter, match=r"sl\.split\(X, Y, tune=0\.2\)"):
        sl.choose(shapes(), X[:0], Y[:0], alpha=0.2)


def test_weights_of_constraints_are_tuned():
    """Three needs of unequal spread and price: one radius for all is dear."""
    rng = np.random.default_rng(5)
    spread, price = np.array([0.2, 4.0, 1.0]), np.array([1.0, 0.1, 3.0])
    Y = 10.0 + spread * rng.normal(size=(160, 3))
    X = np.zeros((160, 1))
    need, have = sl.Uncertain(3, name="need"), cp.Variable(3)

    def weighted(weights):
        loss = sl.losses.Squared(weights=weights)
        sets = sl.LossSet(lambda X: np.full((len(X), 3), 10.0), loss)
        goal = cp.Minimize(price @ have)
        return sl.RobustProblem(goal, [have >= need], {need: sets}).compile()

    choice = sl.choose_weights(weighted, 3, X[:80], Y[:80], alpha=0.2, sweeps=2)
    assert choice.score < 0.95 * choice.start
    assert choice.weights[0] == 1.0
    assert choice.weights[1] > choice.weights[2]
    assert len(choice.to_pandas()) == len(choice.tried)
    with pytest.raises(InvalidParameter, match="chosen by"):
        choice.policy.calibrate(X[:80], Y[:80], alpha=0.2)
    equal = weighted(np.ones(3)).calibrate(X[80:], Y[80:], alpha=0.2)
    tuned = choice.policy.calibrate(X[80:], Y[80:], alpha=0.2)
    fresh = X[:1]
    assert tuned.decide(fresh).objective[0] < equal.decide(fresh).objective[0]


def test_folds_that_share_a_search_are_calibrated_as_they_would_be_alone(monkeypatch):
    X, Y = draw(60, 6)
    policy = policy_of("squared")
    shared = crossed(policy, X, Y, 0.2, "marginal", 3, None)
    monkeypatch.setattr(sys.modules[crossed.__module__], "_shared", lambda *_: None)
    alone = crossed(policy, X, Y, 0.2, "marginal", 3, None)
    assert set(shared.around) == set(AROUND)
    assert set(alone.around) == {1.0}
    assert np.array_equal(shared.at_alpha.certified, alone.at_alpha.certified)
    assert np.array_equal(shared.at_alpha.violated, alone.at_alpha.violated)


def test_costs_are_compared_around_alpha():
    """On average over calibrations at levels near by, each as it would be alone."""
    X, Y = draw(60, 6)
    squared = shapes()["squared"]
    around = crossed(squared, X, Y, 0.25, "marginal", 3, None)
    each = [
        crossed(squared, X, Y, share * 0.25, "marginal", 3, None).at_alpha.certified
        for share in AROUND
    ]
    costs = compared({"squared": around}, "certified", -1.0)["squared"]
    assert np.allclose(costs, -np.mean(each, axis=0))
    # Rewards fall as the level does, so a single level would be seen.
    assert abs(costs.mean() + each[AROUND.index(1.0)].mean()) > 1e-3


def test_a_bar_counts_candidates(capsys):
    some = {name: shapes()[name] for name in ("squared", "diagonal")}
    sl.choose(some, *draw(30, 0), alpha=0.2, folds=2, progress=True)
    assert "2/2 candidates" in capsys.readouterr().err
    with pytest.raises(InvalidParameter, match="must be True or False"):
        sl.choose(some, *draw(30, 0), alpha=0.2, progress="yes")


def test_a_bar_counts_weightings(capsys):
    def policy_of(weights):
        loss = sl.losses.Squared(weights=weights)
        sets = sl.LossSet(lambda X: np.full((len(X), 2), 10.0), loss)
        need, have = sl.Uncertain(2, name="need"), cp.Variable(2)
        goal = cp.Minimize(cp.sum(have))
        return sl.RobustProblem(goal, [have >= need], {need: sets}).compile()

    Y = 10.0 + np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 5.0]
    given = (policy_of, 2, np.zeros((40, 1)), Y)
    with_bar = sl.choose_weights(*given, alpha=0.2, folds=2, sweeps=1, progress=True)
    last = capsys.readouterr().err.split("\r")[-1]
    done, total = re.search(r"(\d+)/(\d+) policies", last).groups()
    # One with equal weights, one each way, and one more for each step that paid.
    assert done == total
    assert int(done) > 3
    without = sl.choose_weights(*given, alpha=0.2, folds=2, sweeps=1)
    assert capsys.readouterr().err == ""
    assert without.tried == with_bar.tried
    with pytest.raises(InvalidParameter, match="must be True or False"):
        sl.choose_weights(*given, progress=1)


def test_a_frontier_has_a_bar(capsys):
    shapes()["squared"].frontier(*draw(60, 0), alphas=[0.2], progress=True)
    assert "decisions" in capsys.readouterr().err


def stock_policy(loss, unit, model=lambda X: X):
    """Each row is covered by itself, so that correlations are no matter."""
    need, have = sl.Uncertain(DIM, name="need"), cp.Variable(DIM)
    sets = sl.LossSet(model, loss)
    goal = cp.Minimize(unit * (10 + cp.sum(have)))
    return sl.RobustProblem(goal, [have >= need], {need: sets}).compile()


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_what_solvers_do_not_resolve_is_a_tie_in_any_unit(unit):
    """Two policies that are one, and then the last digits apart."""
    spread = sl.losses.Mahalanobis(FACTOR @ FACTOR.T)
    policies = {"one": stock_policy(spread, unit), "two": stock_policy(spread, unit)}
    fair = sl.choose(policies, *draw(40, 0), alpha=0.3)
    assert fair.best == "one"
    assert "(a tie: " in fair.sentence
    cost = fair.compared["one"]
    # What rounding leaves, always on one side, is no difference.
    for name, error in (("two", 1e-8), ("one", -1e-8)):
        ahead = {**fair.compared, name: cost * (1 + error)}
        assert least_of(ahead) == "one"
        assert "(a tie: " in replace(fair, compared=ahead).sentence
    more = replace(fair, compared={**fair.compared, "two": cost * (1 + 1e-4)})
    assert "(clearly)" in more.sentence
    noise = np.where(np.arange(40) % 2, 1.1, 0.9001) * cost
    unclear = replace(fair, compared={**fair.compared, "two": noise})
    assert "(within the noise)" in unclear.sentence
    assert list(more.to_pandas().index) == ["one", "two"]


def test_shapes_that_differ_by_rounding_tie():
    """A box, and the ellipsoid that spans it: whichever is given first is chosen."""
    X, Y = draw(60, 0)
    spread = np.array([1.0, 1.5, 2.0])

    def predict(X):
        return sl.Prediction(X, factor=np.tile(np.diag(spread), (len(X), 1, 1)))

    shapes = {"box": sl.losses.Gaussian(full=False), "matrix": sl.losses.Gaussian()}
    policies = {n: stock_policy(loss, 1.0, predict) for n, loss in shapes.items()}
    for names in (["box", "matrix"], ["matrix", "box"]):
        choice = sl.choose({n: policies[n] for n in names}, X, Y, alpha=0.2)
        assert choice.best == names[0]
        assert "(a tie: " in choice.sentence


def test_weights_that_change_nothing_stay_as_they_are():
    """What a weight is worth below the resolution is not worth a step."""

    def policy_of_weights(weights):
        return stock_policy(sl.losses.Squared(), float(1 - 1e-9 * weights[1]))

    choice = sl.choose_weights(policy_of_weights, 2, *draw(40, 0), alpha=0.3, sweeps=1)
    np.testing.assert_array_equal(choice.weights, [1.0, 1.0])
    assert len(choice.tried) == 3


def test_too_few_rows_are_told_how_many_would_do():
    few = {"one": stock_policy("squared", 1.0)}
    with pytest.raises(InvalidParameter, match=r"Use at least 124 rows, of which 99"):
        sl.choose(few, *draw(60, 0), alpha=0.01)
    assert sl.choose(few, *draw(124, 0), alpha=0.01).best == "one"
    # Where it is not the number, no number is told.
    groups = sl.guarantees.Mondrian(lambda X: np.zeros(len(X), dtype=int))
    with pytest.raises(InvalidParameter, match=r"Use more rows, or a larger alpha"):
        sl.choose(few, *draw(20, 0), alpha=0.01, guarantee=groups)
