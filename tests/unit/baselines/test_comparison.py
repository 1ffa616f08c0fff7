"""sl.evaluate: the table, paired differences, widths, times, and the picture."""

import cvxpy as cp
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, ttest_rel
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.baselines import (
    Clairvoyant,
    ClassicalEllipsoid,
    NearestWeights,
    PointPrediction,
    WeightedSample,
)
from sublevel.errors import InvalidParameter
from sublevel.intervals import bootstrap_interval, mean_interval, t_interval

mpl.use("Agg")


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X + 0.3 * rng.normal(size=(n, 3))


R, W = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")


def problem_over(sets):
    return sl.RobustProblem(cp.Maximize(R @ W), [cp.sum(W) == 1], {R: sets})


@pytest.fixture(scope="module")
def data():
    X, Y = draw(300, 0)
    ours = sl.LossSet(LinearRegression()).fit(X[:150], Y[:150])
    ours.calibrate(X[150:], Y[150:], alpha=0.1)
    policies = {
        "ours": problem_over(ours).compile(),
        "point": problem_over(PointPrediction(LinearRegression()).fit(X, Y)).compile(),
        "mean": problem_over(ClassicalEllipsoid(0.1).fit(X, Y)).compile(),
        "box": problem_over(sl.sets.Box(-np.ones(3), np.ones(3))).compile(),
        "sample": WeightedSample(problem_over(ours), NearestWeights(10).fit(X, Y)),
        "seer": Clairvoyant(problem_over(ours)),
    }
    X_test, Y_test = draw(80, 1)
    return policies, X_test, Y_test, ours


@pytest.fixture(scope="module")
def comparison(data):
    policies, X, Y, _ = data
    return sl.evaluate(policies, X, Y)


def test_every_row_is_the_policys_own_evaluation(data, comparison):
    policies, X, Y, _ = data
    table = comparison.to_pandas()
    assert table.index.tolist() == list(policies)
    for name, policy in policies.items():
        own = policy.evaluate(X, Y).to_pandas()
        assert table.loc[name, own.index].to_numpy() == pytest.approx(own.to_numpy())
    assert table.loc["seer", "regret"] == pytest.approx(0.0, abs=1e-6)
    assert table["contexts"].dtype.kind == "i"
    assert (table["seconds"] > 0).all()


def test_half_widths_are_in_deviations_of_the_outcome(data, comparison):
    _, _, Y, ours = data
    widths = comparison.half_widths
    assert widths["point"] == 0.0
    assert np.isnan(widths["sample"])
    assert np.isnan(widths["seer"])
    # A ball of radius r has half-width r ||v||, v a unit direction over deviations.
    unit = Y.std(axis=0)
    low, high = ours.radius_ / unit.max(), ours.radius_ / unit.min()
    assert low <= widths["ours"] <= high
    # A box of half-widths one has 1-norms, between the 2-norm and sqrt(3) of it.
    assert 1 / unit.max() <= widths["box"] <= np.sqrt(3) / unit.min()


def test_paired_differences_are_students(comparison):
    table = comparison.paired("point", level=0.9, method="t")
    assert table.index.tolist() == ["ours", "mean", "box", "sample", "seer"]
    mine = comparison.evaluations["mean"].realised
    other = comparison.evaluations["point"].realised
    # Rewards: the policy is worse where it earns less.
    expected = ttest_rel(other, mine).confidence_interval(0.9)
    row = table.loc["mean"]
    assert row["difference"] == pytest.approx(np.mean(other - mine))
    assert row["low"] == pytest.approx(expected.low)
    assert row["high"] == pytest.approx(expected.high)
    assert row["low"] > 0
    assert table.loc["seer", "high"] < 0


def test_the_first_policy_is_the_reference_by_default(comparison):
    assert "ours" not in comparison.paired().index


def test_bootstrap_intervals_are_seeded_and_near_students(comparison):
    once = comparison.paired("point", method="bootstrap", random_state=3)
    pd.testing.assert_frame_equal(
        once, comparison.paired("point", method="bootstrap", random_state=3)
    )
    student = comparison.paired("point", method="t").loc["mean"]
    width = student["high"] - student["low"]
    assert once.loc["mean", "low"] == pytest.approx(student["low"], abs=0.1 * width)
    assert once.loc["mean", "high"] == pytest.approx(student["high"], abs=0.1 * width)


def test_intervals_are_those_of_skewed_means_by_default(comparison):
    table, student = comparison.paired("point"), comparison.paired("point", method="t")
    mine = comparison.evaluations["mean"].realised
    gaps = comparison.evaluations["point"].realised - mine
    assert tuple(table.loc["mean", ["low", "high"]]) == mean_interval(gaps, 0.95)
    assert (table["low"] <= student["low"]).all()
    assert (table["high"] >= student["high"]).all()


def test_one_context_bounds_no_difference(data):
    policies, X, Y, _ = data
    one = sl.evaluate({n: policies[n] for n in ("point", "mean")}, X[:1], Y[:1])
    row = one.paired("point").loc["mean"]
    assert (row["contexts"], row["low"], row["high"]) == (1, -np.inf, np.inf)
    assert np.isfinite(row["difference"])


def test_contexts_one_of_them_did_not_decide_are_left_out():
    X, Y = draw(40, 2)
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, name="x")
    kept = [x >= y, cp.sum(x) <= 1.0]

    def policy(sets):
        return sl.RobustProblem(cp.Minimize(cp.sum(x)), kept, {y: sets}).compile()

    small = PointPrediction(lambda X: X - 5)
    found = sl.evaluate(
        {"small": policy(small), "own": policy(PointPrediction(abs))}, X, Y
    )
    decided = int(found.to_pandas().loc["own", "decided"])
    assert 0 < decided < 40
    row = found.paired("small").loc["own"]
    assert row["contexts"] == decided
    assert row["difference"] > 0


def test_unions_have_a_width():
    X, Y = draw(80, 3)
    sets = sl.LossSet(LinearRegression())
    sets.calibrate(X, Y, alpha=0.2, guarantee=sl.guarantees.CVPlus(n_splits=4))
    found = sl.evaluate({"folds": problem_over(sets).compile()}, *draw(20, 4))
    assert 0.1 < found.half_widths["folds"] < 3.0
    assert found.paired().empty


def test_several_parameters():
    X, Y = draw(100, 5)
    a, b = sl.Uncertain(3, name="a"), sl.Uncertain(3, name="b")
    sets = {k: ClassicalEllipsoid(0.1).fit(X, Y) for k in (a, b)}
    model = cp.Maximize((a + b) @ W), [cp.sum(W) == 1]
    policy = sl.RobustProblem(*model, sets).compile()
    found = sl.evaluate({"two": policy}, X, {"a": Y, "b": Y})
    alone = sl.evaluate({"one": problem_over(sets[a]).compile()}, X, Y)
    assert found.half_widths["two"] == pytest.approx(alone.half_widths["one"])


def test_what_is_refused(data, comparison):
    policies, X, Y, _ = data
    with pytest.raises(InvalidParameter, match="non-empty dict"):
        sl.evaluate({}, X, Y)
    with pytest.raises(InvalidParameter, match="non-empty dict"):
        sl.evaluate(policies["ours"], X, Y)
    box = sl.sets.Box(-np.ones(3), np.ones(3))
    least = sl.RobustProblem(cp.Minimize(R @ W), [cp.sum(W) == 1], {R: box}).compile()
    with pytest.raises(InvalidParameter, match="all minimise or all maximise"):
        sl.evaluate({"most": policies["box"], "least": least}, X, Y)
    with pytest.raises(InvalidParameter, match="must be one of"):
        comparison.paired("nobody")
    with pytest.raises(InvalidParameter, match=r"\('bootstrap-t', 't', 'bootstrap'\)"):
        comparison.paired(method="sign")
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        comparison.paired(level=1.0)


def test_it_says_what_it_is(comparison):
    assert "Comparison of 6 policies" in repr(comparison)
    assert "half width" in repr(comparison)


def test_too_few_values_have_no_interval():
    assert np.isnan(t_interval(np.array([1.0]), 0.95)).all()
    assert np.isnan(bootstrap_interval(np.array([]), 0.95, 0)).all()


def test_students_interval_covers_and_a_shorter_one_does_not():
    rng, repetitions = np.random.default_rng(0), 2000
    hits = short = 0
    for _ in range(repetitions):
        low, high = t_interval(rng.normal(size=8), 0.9)
        hits += low <= 0 <= high
        middle, reach = (low + high) / 2, 0.8 * (high - low) / 2
        short += abs(middle) <= reach
    accept = binom.ppf(1e-6, repetitions, 0.9), binom.isf(1e-6, repetitions, 0.9)
    assert accept[0] <= hits <= accept[1]
    assert short < accept[0]


def test_the_picture_shows_the_facts(comparison):
    facts = sl.plots.comparison_table(comparison)
    ax = sl.plots.plot_comparison(comparison, alpha=0.1)
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["promised", *comparison.evaluations]
    for container, (name, row) in zip(ax.containers, facts.iterrows(), strict=True):
        x, y = container.lines[0].get_xydata()[0]
        assert (x, y) == (row["violation"], row["regret"]), name
    table = comparison.to_pandas()
    for column in ("regret", "violation", "violation low", "violation high"):
        assert facts[column].to_numpy() == pytest.approx(table[column].to_numpy())
    assert sl.plots.plot_comparison(comparison, ax=ax) is ax
