"""What held-out data say, in a table and in words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.calibration.band import band_of
from sublevel.diagnosis.findings import Check, Findings
from sublevel.errors import InvalidParameter

POINTS = ["calibration points", "the same, with confidence"]
NUMBERS = [
    "bias",
    "skewness",
    "excess kurtosis",
    "correlation",
    "bias given X (R^2)",
    "correlation given X (R^2)",
    "R^2 of the total loss",
    "dependence of components",
    "bias in some contexts",
    "spread in some contexts",
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def alarms(found):
    return found.to_pandas().query("alarming")["check"].tolist()


def zero(X):
    return np.zeros((X.shape[0], 2))


def noise_of(kind, X, rng):
    """Residuals of two components at contexts X."""
    noise = rng.normal(size=(len(X), 2))
    return {
        "normal": noise,
        "skewed": rng.exponential(size=(len(X), 2)) - 1,
        "spread": np.exp(X[:, 2:]) * noise,
        "correlated": 0.9 * noise[:, :1] + 0.3 * rng.normal(size=(len(X), 2)),
    }[kind]


#: Alarms, words of the advice, words that would be wrong.
TOLD = {
    "normal": ([], ["Nothing speaks against", "no proof"], ["do not rely"]),
    "skewed": (
        ["skewness", "excess kurtosis"],
        ["do not rely on them", "'pinball'"],
        ["Nothing", "'gaussian'", "'mahalanobis'"],
    ),
    "spread": (
        ["excess kurtosis", "R^2 of the total loss"],
        ["do not rely on them", "loss='gaussian'", "Mondrian"],
        ["Nothing", "'pinball'", "'mahalanobis'", "'huber'"],
    ),
    "correlated": (
        ["correlation"],
        ["do not rely on them", "'mahalanobis'"],
        ["Nothing", "'pinball'", "'gaussian'", "'huber'"],
    ),
}


def check_told(found, expected, words, wrong):
    assert alarms(found) == expected
    assert [word for word in words if word not in found.advice] == []
    assert [word for word in wrong if word in found.advice] == []


@pytest.mark.parametrize("kind", TOLD)
def test_the_advice_fits_the_noise(rng, kind):
    X = rng.normal(size=(400, 3))
    Y = X[:, :2] + noise_of(kind, X, rng)
    found = sl.diagnose(sl.LossSet(lambda X: X[:, :2]), X, Y)
    check_told(found, *TOLD[kind])


def test_the_advice_on_training_data(rng):
    X = rng.normal(size=(150, 3))
    Y = X[:, :2] + noise_of("normal", X, rng)
    sets = sl.LossSet(RandomForestRegressor(5, random_state=0)).fit(X, Y)
    found = sl.diagnose(sets, X, Y)
    words = ["150 of these rows trained the model", "Nothing can be said"]
    wrong = ["Nothing speaks", "do not rely"]
    check_told(found, ["rows seen in training", *POINTS], words, wrong)
    assert found.to_pandas()["needed"].tolist()[3] == (
        "not looked at: fewer than 20 rows"
    )


@pytest.mark.parametrize("size", [1, 8])
def test_the_advice_on_too_few_rows(rng, size):
    X, Y = rng.normal(size=(size, 3)), rng.normal(size=(size, 2))
    found = sl.diagnose(sl.LossSet(zero), X, Y)
    words = [f"With {size} rows", "it takes 9", "Nothing can be said"]
    check_told(found, POINTS, words, ["Nothing speaks", "do not rely"])
    assert found.to_pandas()["check"].tolist() == [*POINTS, *NUMBERS]


def test_enough_to_calibrate_may_be_too_few_to_look_at(rng):
    X, Y = rng.normal(size=(19, 1)), rng.normal(size=(19, 2))
    found = sl.diagnose(sl.LossSet(zero), X, Y, alpha=0.2)
    check_told(found, [], ["Nothing can be said"], ["Nothing speaks"])


def test_the_table_has_the_numbers_of_the_diagnosis(rng):
    X, Y = rng.normal(size=(100, 3)), rng.normal(size=(100, 2))
    found = sl.diagnose(sl.LossSet(zero), X, Y)
    table, told = found.to_pandas(), sl.theory.study_residuals(Y, X)
    assert table["check"].tolist() == [*POINTS, *NUMBERS]
    assert table["value"].tolist()[2:9] == [
        told.bias,
        told.skewness,
        told.excess_kurtosis,
        told.correlation,
        told.bias_given,
        told.correlation_given,
        told.r_squared,
    ]
    assert table["surprise"].tolist()[2:9] == list(told.surprises)
    # The least bias that shows, in spreads: as many standard errors as the limit.
    assert f"bias of up to {told.limit / 10:.2f} spreads" in found.advice


def test_residuals_are_in_units_of_the_predicted_spread(rng):
    X = rng.uniform(0.1, 2, size=(900, 2))
    Y = X * rng.normal(size=(900, 2))
    scaled = sl.diagnose(sl.LossSet(lambda X: (0 * X, X), "gaussian"), X, Y)
    assert alarms(scaled) == []
    wrong = sl.diagnose(sl.LossSet(lambda X: (0 * X, 1 / X), "gaussian"), X, Y)
    assert "R^2 of the total loss" in alarms(wrong)
    assert "loss='gaussian'" not in wrong.advice
    assert "The predicted spread does not follow the loss" in wrong.advice


def test_residuals_are_in_the_shape_of_the_loss(rng):
    X = rng.normal(size=(400, 3))
    Y = noise_of("correlated", X, rng)
    right = sl.losses.Mahalanobis([[0.9, 0.81], [0.81, 0.9]])
    assert alarms(sl.diagnose(sl.LossSet(zero, right), X, Y)) == []
    wrong = sl.losses.Mahalanobis([[0.9, -0.81], [-0.81, 0.9]])
    found = sl.diagnose(sl.LossSet(zero, wrong), X, Y)
    assert alarms(found) == ["correlation"]
    assert "'mahalanobis'" not in found.advice
    assert "covariance of the loss does not fit" in found.advice


def test_losses_that_are_in_use_are_not_recommended(rng):
    X = np.zeros((300, 1))
    Y = rng.standard_t(2, size=(300, 2))
    found = sl.diagnose(sl.LossSet(zero, "absolute"), X, Y)
    check_told(found, ["excess kurtosis"], ["already"], ["'huber'", "'absolute'"])


def test_all_folds_of_cv_plus_are_heard(rng):
    X, Y = rng.normal(size=(120, 3)), 1.0 + rng.normal(size=(120, 2))
    sets = sl.LossSet(LinearRegression(), "mahalanobis")
    sets.calibrate(X[:60], Y[:60], 0.2, guarantee=sl.guarantees.CVPlus(3))
    found = sl.diagnose(sets, X[60:], Y[60:])
    parts = [
        (Y[60:] - part.prediction.location) @ np.linalg.inv(part.loss.factor).T
        for part in sets.predict_set(X[60:]).parts
    ]
    told = sl.theory.study_residuals(np.mean(parts, axis=0))
    value = found.to_pandas().set_index("check")["value"]
    assert value["bias"] == pytest.approx(told.bias)
    assert value["correlation"] == pytest.approx(told.correlation)


def test_skewness_correlation_and_tails(rng):
    common = rng.gamma(1.5, size=(2000, 1)) - 1.5
    Y = common + 0.3 * rng.normal(size=(2000, 2))
    found = sl.diagnose(sl.LossSet(zero), np.zeros((2000, 1)), Y)
    assert alarms(found) == ["skewness", "excess kurtosis", "correlation"]
    for word in ("'pinball'", "'huber'", "'mahalanobis'", "do not rely on them"):
        assert word in found.advice
    assert "!" in str(found).splitlines()[3]
    assert str(found).endswith(found.advice)


def test_a_bias_is_found(rng):
    X = rng.normal(size=(300, 3))
    found = sl.diagnose(sl.LossSet(zero), X, 3 + rng.normal(size=(300, 2)))
    assert alarms(found) == ["bias"]
    assert "tell TheoremA of the bias" in found.advice
    assert found.to_pandas()["value"][2] == pytest.approx(3, abs=0.5)


def test_a_better_model_comes_first(rng):
    X = rng.normal(size=(400, 3))
    Y = rng.normal(size=(400, 2)) + 4 * (X[:, 2:] > 1)
    found = sl.diagnose(sl.LossSet(zero), X, Y)
    assert "bias given X (R^2)" in alarms(found)
    assert found.advice.endswith("mend the model first.")


def test_a_correlation_that_changes_with_the_context_is_found(rng):
    X, noise = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    Y = noise * [1, 0.436]
    Y[:, 1] += 0.9 * np.sign(X[:, 2]) * noise[:, 0]
    found = sl.diagnose(sl.LossSet(zero), X, Y)
    assert alarms(found) == ["correlation given X (R^2)"]
    assert "each group of contexts" in found.advice


def test_rows_used_for_training_are_counted_and_left_out(rng):
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    found, apart = (sl.diagnose(sets, X[k:], Y[k:]) for k in (90, 100))
    assert alarms(found) == ["rows seen in training"]
    assert found.checks[0].value == 10
    assert "10 of these rows trained the model" in found.advice
    assert alarms(apart) == []
    # In words: in Python 3.13 a check whose surprise is nan differs from itself.
    assert [str(one) for one in found.checks[1:]] == [
        str(one) for one in apart.checks[1:]
    ]


def test_rows_used_to_calibrate_are_counted(rng):
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    sets = sl.LossSet(zero).calibrate(X[:100], Y[:100])
    found = sl.diagnose(sets, X[60:], Y[60:])
    assert alarms(found) == ["rows used to calibrate"]
    assert "40 of these rows calibrated these sets" in found.advice
    assert alarms(sl.diagnose(sets, X[100:], Y[100:])) == []


@pytest.mark.parametrize(
    ("n", "expected", "words"),
    [
        (18, POINTS, "it takes 19"),
        (58, POINTS[1:], "it takes 59"),
        (59, [], "Nothing speaks against"),
    ],
)
def test_how_many_points_it_takes(rng, n, expected, words):
    X, Y = rng.normal(size=(n, 1)), rng.normal(size=(n, 2))
    found = sl.diagnose(sl.LossSet(zero), X, Y, alpha=0.05)
    assert alarms(found) == expected
    assert words in found.advice
    assert ("Nothing can be said" in found.advice) == bool(expected)


def test_contexts_may_be_categories(rng):
    X = pd.DataFrame({"town": ["a", "b"] * 150, "x": rng.normal(size=300)})
    Y = np.where(X[["town"]] == "a", 5.0, 0.5) * rng.normal(size=(300, 2))
    assert "R^2 of the total loss" in alarms(sl.diagnose(sl.LossSet(zero), X, Y))


def test_contexts_without_columns_are_said_not_to_be_looked_at(rng):
    X = sparse.csr_matrix(rng.normal(size=(80, 3)))
    found = sl.diagnose(sl.LossSet(zero), X, rng.normal(size=(80, 2)))
    table = found.to_pandas()
    assert table["check"].tolist() == [*POINTS, *NUMBERS]
    assert set(table["needed"][[6, 7, 8, 10, 11]]) == {
        "not looked at: X has no columns"
    }
    assert table["value"][[6, 7, 8, 10, 11]].isna().all()
    assert "all that depends on X" in found.advice


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
    common = rng.gamma(1.5, size=(500, 1)) - 1.5
    Y = common + 0.3 * rng.normal(size=(500, 2))
    found = sl.diagnose(sl.LossSet(zero), np.zeros((500, 1)), Y)
    ax = sl.plots.plot_findings(found)
    lengths = [bar.get_width() for bar in ax.patches]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert [
        name
        for name, length in zip(NUMBERS, lengths, strict=True)
        if length > found.limit
    ] == [*alarms(found), "dependence of components"]  # said by the correlation
    assert labels[3].startswith("correlation")
    assert ax.lines[0].get_xdata() == pytest.approx([found.limit] * 2)


def test_the_picture_has_no_bars_where_nothing_was_looked_at(rng):
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    ax = sl.plots.plot_findings(sl.diagnose(sl.LossSet(zero), X, Y))
    assert not ax.patches
    assert not ax.lines


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
    bounded = frame.assign(bound=[0.1, 0.05, 0.1, 0.05])
    assert len(sl.plots.frontier(bounded).collections) > len(ax.collections)
    # Without test data the bounds are what is drawn.
    untested = bounded.drop(columns=["violation", "low", "high"])
    drawn = sl.plots.frontier(untested).containers[0].lines[0].get_xdata()
    assert drawn.tolist() == [0.05, 0.1]
    with pytest.raises(InvalidParameter, match="none called 'bound'"):
        sl.plots.frontier(untested.drop(columns="bound"))


def test_the_picture_of_a_band():
    scores = np.append(np.repeat(np.arange(25.0), 8), [np.inf, np.inf])
    band = band_of(scores, widest=0.3, delta=0.1)
    ax = sl.plots.plot_band(band)
    bounds, beyond = (line.get_ydata() for line in ax.lines)
    for level, bound in zip(ax.lines[0].get_xdata(), bounds, strict=True):
        assert bound == band.bound_at(level)
    assert (beyond < bounds).all()
    assert np.isfinite(ax.lines[0].get_xdata()).all()


@pytest.mark.parametrize("shift", [1e7, 1e9, 1e12])
def test_outcomes_far_from_their_predictions_are_diagnosed(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = X[:, :2] + rng.normal(size=(60, 2))
    found = sl.diagnose(sl.LossSet(lambda X: X[:, :2]), X, Y + shift)
    assert "bias" in found.to_pandas().query("alarming")["check"].tolist()


def test_findings_are_a_line_and_a_table():
    seen = Findings(
        (
            Check("bias", 0.5, "0 up to chance", 5.0, alarming=True),
            Check("calibration points", 150, ">= 9", float("nan"), alarming=False),
        ),
        "More than chance: bias.",
        limit=3.0,
    )
    assert repr(seen) == "Findings(2 checks; more than chance: bias)"
    shown = seen._repr_html_()
    assert "<th>! bias</th>" in shown
    assert "150 (&gt;= 9)" in shown
    assert "More than chance: bias." in shown


# -- what is rare or slight -----------------------------------------------------------


def slight(kind, n, seed):
    """Residuals of two components that are wrong in one way only."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    if kind == "rare bias":
        noise[:, 0] += 2.0 * (X[:, 1] > np.quantile(X[:, 1], 0.98))
    elif kind == "rare bias in two columns":
        noise[:, 0] += 2.5 * ((X[:, 0] > 1.05) & (X[:, 1] > 1.05))
    elif kind == "spread step":
        noise *= np.where(X[:, :1] > 0, 1.3, 1.0)
    elif kind == "spread step in time":
        noise *= np.where(np.arange(n) < n // 2, 1.0, 1.3)[:, None]
    elif kind == "uncorrelated":
        noise[:, 1] = noise[:, 0] * rng.choice([-1, 1], size=n)
    return X, noise


FORESTS = ("bias given X (R^2)", "R^2 of the total loss")
SLIGHT = [
    ("rare bias", 1000, "bias in some contexts", "column 1"),
    ("rare bias in two columns", 1500, "bias in some contexts", "column 0"),
    ("spread step", 1500, "spread in some contexts", "column 0"),
    ("spread step in time", 1500, "spread in some contexts", "the order of rows"),
    ("uncorrelated", 300, "dependence of components", ""),
]


@pytest.mark.parametrize(("kind", "n", "check", "place"), SLIGHT)
def test_what_is_rare_or_slight_is_seen(kind, n, check, place):
    for seed in range(2):
        X, noise = slight(kind, n, seed)
        findings = sl.diagnose(sl.LossSet(zero), X, noise)
        (row,) = [each for each in findings.checks if each.name == check]
        assert row.surprise > findings.limit
        assert place in row.needed
        # Raised once: here, or where a forest sees it too.
        assert row.alarming != bool({*FORESTS} & set(alarms(findings)))


def test_nothing_is_seen_where_nothing_is():
    """Twenty samples of several shapes: none of the closer looks alarms."""
    from sublevel.theory.context_scan import look_for_bias, look_for_spread
    from sublevel.theory.residual_checks import look_at_dependence

    rng, surprises = np.random.default_rng(5), []
    for draw in (rng.standard_normal, rng.standard_cauchy, rng.standard_exponential):
        for n in (60, 300, 900):
            for _ in range(8):
                X, errors = rng.normal(size=(n, 3)), draw(size=(n, 2))
                X[:, 2] = rng.integers(0, 4, n)
                surprises += [
                    look_for_bias(errors, X, ["a", "b", "c"]).surprise,
                    look_for_spread(errors, X, ["a", "b", "c"]).surprise,
                    look_at_dependence(errors).surprise,
                ]
    share = np.mean(np.array(surprises) > 1.645)  # 216 tests at 5 %
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(surprises))
    assert max(surprises) < 3.84


def test_a_spread_is_not_taken_for_a_bias():
    """Symmetric residuals, four times as wide on 5 % of contexts."""
    from sublevel.theory.context_scan import look_for_bias, look_for_spread

    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.random((800, 2))
        errors = rng.normal(size=(800, 1)) * np.where(X[:, :1] > 0.95, 4.0, 1.0)
        assert look_for_bias(errors, X, ["a", "b"]).surprise < 3.84
        assert look_for_spread(errors, X, ["a", "b"]).surprise > 3.84


def test_losses_are_held_against_those_of_the_calibration():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    sets = sl.LossSet(zero).calibrate(X[:300], rng.normal(size=(300, 2)))
    same = sl.diagnose(sets, X[300:], rng.normal(size=(400, 2)))
    assert alarms(same) == []
    wider = sl.diagnose(sets, X[300:], 1.3 * rng.normal(size=(400, 2)))
    assert alarms(wider) == ["loss against the calibration"]
    assert "Losses are larger than those these sets were calibrated on" in wider.advice
    before, after = sets.scores_, sets.scores(X[300:], np.ones((400, 2)))
    (row,) = [
        each
        for each in sl.diagnose(sets, X[300:], np.ones((400, 2))).checks
        if each.name == "loss against the calibration"
    ]
    above = np.mean(after[:, None] > before) + np.mean(after[:, None] == before) / 2
    assert row.value == pytest.approx(above - 0.5)
