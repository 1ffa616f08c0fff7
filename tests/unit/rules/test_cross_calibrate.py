"""Rules calibrated on the data that fit them: votes of models that missed a fold."""

import warnings
from math import ceil

import numpy as np
import pytest
from scipy import stats

import sublevel as sl
from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import CVPlus

RNG = np.random.default_rng(0)
LEVELS = np.linspace(-4, 12, 161)


def fit(X, Y):
    return np.linalg.lstsq(X, Y)[0]


def decide(slope, x, level):
    return x @ slope + level


def short(stock, demand):
    return demand > stock


def draw(n, p=3, rng=RNG):
    X = rng.normal(size=(n, p))
    return X, X.sum(axis=1) + rng.normal(size=n)


def up(value):
    return min(level for level in LEVELS if level >= value)


@pytest.mark.parametrize("splits", [None, 5])
def test_the_decision_is_a_vote_of_the_points(splits):
    X, Y = draw(40)
    alpha = 0.3 if splits is None else 0.5
    rule = sl.cross_calibrate(fit, decide, short, X, Y, alpha, LEVELS, splits)
    nominal = (alpha - float(CVPlus(splits).slack(40))) / 2
    rank = ceil(41 * (1 - nominal) - 1e-9)
    x = np.array([1.0, -1.0, 0.5])
    votes = []
    for p in range(40):
        fold = rule.folds == rule.folds[p]
        slope = fit(X[~fold], Y[~fold])
        votes.append(x @ slope + up(Y[p] - X[p] @ slope))
    assert len(rule.models) == (splits or 40)
    assert rule([x])[0] == pytest.approx(np.sort(votes)[rank - 1])
    assert rule.certificate_.alpha == alpha
    assert "every smaller one" in rule.certificate_.assumptions[-1]
    assert f"alpha {alpha}" in repr(rule)


def test_it_is_evaluated_and_compared_as_other_rules_are():
    X, Y = draw(60)
    rule = sl.cross_calibrate(
        fit, decide, short, X, Y, 0.2, LEVELS, cost=lambda stock, y: stock
    )
    X_test, Y_test = draw(200)
    seen = rule.evaluate(X_test, Y_test, groups={"up": lambda X: X[:, 0] > 0})
    stock = np.array(list(rule(X_test)))
    assert seen.violation == np.mean(Y_test > stock)
    assert seen.by_group().loc["up", "contexts"] == np.sum(X_test[:, 0] > 0)
    both = sl.evaluate({"one": rule, "same": rule}, X_test, Y_test)
    assert both.paired().loc["same", "difference"] == 0


def test_no_decision_is_the_most_cautious_and_a_failure_the_least():
    X, Y = np.zeros((40, 1)), np.arange(40.0)

    def some(model, x, level):
        if x[0] == 1:
            return None
        if x[0] == 2:
            raise ValueError("no")
        return level

    rule = sl.cross_calibrate(
        lambda X, Y: 0, some, short, X, Y, 0.2, np.arange(-1.0, 41.0)
    )
    assert rule([[0.0]])[0] == 36.0  # the 37th smallest of 0 to 39
    decisions = rule([[1.0], [2.0]])
    assert decisions.status.tolist() == ["no_decision", "failed"]
    # Two points that no level keeps have the most cautious votes.
    Y[-2:] = 1000.0
    rule = sl.cross_calibrate(lambda X, Y: 0, some, short, X, Y, 0.2, np.arange(41.0))
    assert rule([[0.0]])[0] == 36.0
    assert rule.levels[-1] == np.inf


def test_what_is_refused():
    X, Y = draw(30)
    with pytest.raises(InvalidParameter, match=r"larger decision keeps.*row"):
        sl.cross_calibrate(fit, decide, lambda d, y: y < d, X, Y, 0.2, LEVELS[::-1])
    with pytest.raises(InvalidParameter, match="one number, larger where"):
        sl.cross_calibrate(
            fit, lambda s, x, t: [t, t], lambda d, y: y > d[0], X, Y, 0.2, LEVELS
        )
    falls = r"decide=.*larger level gives a larger decision.*level -4 and .* level 12"
    with pytest.raises(InvalidParameter, match=falls):
        sl.cross_calibrate(fit, lambda s, x, t: x @ s - t, short, X, Y, 0.2, LEVELS)
    with pytest.raises(InvalidParameter, match="must divide"):
        sl.cross_calibrate(fit, decide, short, X, Y, 0.2, LEVELS, 7)
    with pytest.raises(InvalidParameter, match="fit"):
        sl.cross_calibrate(None, decide, short, X, Y, 0.2, LEVELS)
    with pytest.warns(InfiniteBudget, match="at least 39"):
        rule = sl.cross_calibrate(fit, decide, short, X, Y, 0.05, LEVELS)
    assert rule(X[:1]).status.tolist() == ["no_decision"]


@pytest.mark.slow
def test_the_promise_is_kept_where_calibrating_on_training_data_is_not():
    """40 points, 20 slopes; the rate of a stock is exact, 40 are averaged a run."""
    rng, alpha, runs = np.random.default_rng(3), 0.2, 120
    levels = np.linspace(-4, 12, 33)
    ours, naive = [], []
    for _ in range(runs):
        X, Y = draw(40, 20, rng)
        new = rng.normal(size=(40, 20))
        stock = sl.cross_calibrate(fit, decide, short, X, Y, alpha, levels)(new)
        ours.append(stats.norm.sf(np.array(stock) - new.sum(1)).mean())
        slope = fit(X, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same = sl.calibrate_rule(
                lambda x, level, slope=slope: x @ slope + level,
                short,
                X,
                Y,
                alpha,
                levels,
            )
        naive.append(stats.norm.sf(np.array(same(new)) - new.sum(1)).mean())

    def excess(rates):
        return np.mean(rates) - alpha - 4.75 * np.std(rates) / np.sqrt(runs)

    assert excess(ours) <= 0
    assert excess(naive) > 0
