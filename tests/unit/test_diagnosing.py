"""What held-out data say, in a table and in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.errors import InvalidParameter

NUMBERS = ["skewness", "excess kurtosis", "correlation", "R^2 of the total loss"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def alarms(found):
    return found.to_pandas().query("alarming")["check"].tolist()


def zero(X):
    return np.zeros((len(X), 2))


def test_nothing_to_see_in_normal_noise(rng):
    X, Y = rng.normal(size=(600, 3)), rng.normal(size=(600, 2))
    found = sl.diagnose(sl.LossSet(zero), X, Y)
    assert alarms(found) == []
    table = found.to_pandas()
    assert table["check"].tolist() == [
        "calibration points",
        "the same, with confidence",
        *NUMBERS,
    ]
    assert "Nothing speaks against" in found.advice
    told = sl.guarantees.diagnose(Y, X)
    assert table["value"].tolist()[2:] == [
        told.skewness,
        told.excess_kurtosis,
        told.correlation,
        told.r_squared,
    ]


def test_residuals_are_in_units_of_the_predicted_spread(rng):
    X = rng.uniform(0.1, 2, size=(900, 2))
    Y = X * rng.normal(size=(900, 2))
    plain = sl.diagnose(sl.LossSet(zero), X, Y)
    assert "R^2 of the total loss" in alarms(plain)
    assert "loss='gaussian'" in plain.advice
    scaled = sl.diagnose(sl.LossSet(lambda X: (0 * X, X), "gaussian"), X, Y)
    assert alarms(scaled) == []


def test_skewness_correlation_and_tails(rng):
    common = rng.gamma(1.5, size=(5000, 1))
    Y = common + 0.3 * rng.normal(size=(5000, 2))
    found = sl.diagnose(sl.LossSet(zero), np.zeros((5000, 1)), Y)
    assert set(alarms(found)) == set(NUMBERS[:3])
    for word in ("'pinball'", "'huber'", "'mahalanobis'", "do not rely on them"):
        assert word in found.advice
    assert "!" in str(found).splitlines()[2]
    assert str(found).endswith(found.advice)


def test_rows_used_for_training_are_counted(rng):
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    found = sl.diagnose(sets, X[90:], Y[90:])
    assert alarms(found) == ["rows seen in training"]
    assert found.checks[0].value == 10
    assert "10 of these rows trained the model" in found.advice
    assert alarms(sl.diagnose(sets, X[100:], Y[100:])) == []


@pytest.mark.parametrize(
    ("n", "expected", "words"),
    [
        (18, ["calibration points", "the same, with confidence"], "it takes 19"),
        (58, ["the same, with confidence"], "it takes 59"),
        (59, [], "Nothing speaks against"),
    ],
)
def test_how_many_points_it_takes(rng, n, expected, words):
    X, Y = rng.normal(size=(n, 1)), rng.normal(size=(n, 2))
    found = sl.diagnose(sl.LossSet(zero), X, Y, alpha=0.05)
    assert alarms(found) == expected
    assert words in found.advice


def test_contexts_that_are_no_numbers_are_left_out(rng):
    X = pd.DataFrame({"town": ["a", "b"] * 40, "x": rng.normal(size=80)})
    found = sl.diagnose(sl.LossSet(zero), X, rng.normal(size=(80, 2)))
    assert "R^2 of the total loss" not in found.to_pandas()["check"].tolist()


def test_what_is_refused(rng):
    X = rng.normal(size=(40, 2))
    labels = (X[:, 0] > 0).astype(int)
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(X, labels)
    with pytest.raises(InvalidParameter, match="a LossSet of numbers"):
        sl.diagnose(sets, X, labels)
    with pytest.raises(InvalidParameter, match="as many rows"):
        sl.diagnose(sl.LossSet(zero), X, X[:30])
    with pytest.raises(InvalidParameter, match="strictly between"):
        sl.diagnose(sl.LossSet(zero), X, X, alpha=1.0)


def test_the_picture_shows_what_is_more_than_chance(rng):
    common = rng.gamma(1.5, size=(5000, 1))
    Y = common + 0.3 * rng.normal(size=(5000, 2))
    found = sl.diagnose(sl.LossSet(zero), np.zeros((5000, 1)), Y)
    ax = sl.plots.plot_findings(found)
    lengths = [bar.get_width() for bar in ax.patches]
    assert [length > found.limit for length in lengths] == [True, True, True, False]
    assert ax.get_yticklabels()[2].get_text().startswith("correlation")


def test_the_frontier_picture():
    frame = pd.DataFrame(
        {
            "calibration": ["decisions"] * 2 + ["sets"] * 2,
            "alpha": [0.1, 0.05] * 2,
            "certified": [3.0, 2.0, 1.0, 0.0],
            "regret": [1.0, 2.0, 3.0, 4.0],
            "violation": [0.09, 0.04, 0.01, 0.0],
            "low": [0.05, 0.02, 0.0, 0.0],
            "high": [0.15, 0.08, 0.03, 0.02],
        }
    )
    ax = sl.plots.frontier(frame)
    names = ["decisions calibrated", "sets calibrated"]
    assert ax.get_legend_handles_labels()[1] == names
    line = ax.containers[0].lines[0]
    assert line.get_xdata().tolist() == [0.04, 0.09]
    assert line.get_ydata().tolist() == [2.0, 3.0]
    assert sl.plots.frontier(frame, "regret").get_ylabel() == "regret"
    with pytest.raises(InvalidParameter, match="none called 'cost'"):
        sl.plots.frontier(frame, "cost")
    with pytest.raises(InvalidParameter, match=r"Policy\.frontier"):
        sl.plots.frontier(frame.drop(columns="low"))
