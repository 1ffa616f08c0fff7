"""Rows that are kept: words stay words, and one row is not taken for many."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import sublevel as sl
from sublevel.drift import AdaptivePolicy, MonitoredPolicy, SlidingPolicy, replay
from sublevel.drift.recent import Recent
from sublevel.errors import InvalidParameter

GRID = np.geomspace(0.05, 60, 40)


def world(n, seed=0, zone="Europe/Rome"):
    rng = np.random.default_rng(seed)
    index = pd.date_range("2024-03-30", periods=n, freq="h", tz=zone)
    day = rng.choice(["Mon", "Sat"], size=n)
    X = pd.DataFrame({"day": day, "load": rng.normal(size=n)}, index=index)
    Y = 3.0 * (X["day"] == "Sat") + X["load"] + rng.normal(size=n)
    return X, Y


@pytest.fixture(scope="module")
def calibrated():
    X, Y = world(160)
    words = make_column_transformer((OneHotEncoder(), ["day"]), remainder="passthrough")
    model = make_pipeline(words, LinearRegression())
    sets = sl.LossSet(model, loss="absolute").fit(X[:60], Y[:60])
    demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    problem = sl.RobustProblem(cp.Minimize(stock), [stock >= demand], {demand: sets})
    policy = problem.compile()
    groups = sl.guarantees.Mondrian("day")
    return policy.calibrate(X[60:], Y[60:], 0.2, guarantee=groups), X[60:], Y[60:]


@pytest.mark.parametrize("kind", ["sliding", "adaptive", "monitored", "again"])
def test_a_column_of_words_is_saved(calibrated, tmp_path, kind):
    policy, X, Y = calibrated
    live = {
        "sliding": lambda: SlidingPolicy(policy, X, Y, 0.2, grid=GRID),
        "adaptive": lambda: AdaptivePolicy(policy, X, Y, 0.2, grid=GRID),
        "monitored": lambda: MonitoredPolicy(policy),
        "again": lambda: MonitoredPolicy(policy, on_alarm="recalibrate", window=60),
    }[kind]()
    more, (X_new, Y_new) = {}, world(80, seed=1)
    if kind == "again":
        more, Y_new = {"on_alarm": "recalibrate"}, Y_new + 6
    live.update(X_new, Y_new)
    live.save(tmp_path / "state")
    loaded = type(live).load(tmp_path / "state", policy, **more)
    later = world(20, seed=2)
    np.testing.assert_allclose(
        live.decide(later[0]).value("stock"), loaded.decide(later[0]).value("stock")
    )
    assert repr(loaded.update(*later)) == repr(live.update(*later))


def test_columns_come_back_as_they_were():
    words = pd.Categorical(["b", "a", None], categories=["b", "a"], ordered=True)
    X = pd.DataFrame(
        {
            "words": ["one", "two", None],
            "mixed": pd.Series(["x", np.nan, 3], dtype=object),
            "endless": pd.Series([np.inf, -np.inf, np.nan], dtype=object),
            "flag": [True, False, True],
            "count": np.array([1, 2, 3], dtype=np.int32),
            "real": np.array([1.5, np.nan, np.inf], dtype=np.float32),
            "order": words,
            "maybe": pd.array([1, None, 3], dtype="Int64"),
            7: pd.array(["p", None, "q"], dtype="string"),
        }
    )
    Y = {"a": np.array([1.0, 2.0, 3.0]), "b": pd.Series(["u", "v", "w"], name="b")}
    back = Recent.from_dict(Recent(X, Y).to_dict())
    pd.testing.assert_frame_equal(back.X, X)
    np.testing.assert_array_equal(back.Y["a"], Y["a"])
    pd.testing.assert_series_equal(back.Y["b"], Y["b"])
    words, mixed = np.array([["a", "bc"], ["d", ""]]), np.array([["a", 1], [None, 2.5]])
    for array in (words, mixed):
        again = Recent.from_dict(Recent(array, np.ones(2)).to_dict()).X
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)


def test_what_a_file_cannot_hold_is_named():
    times = pd.DataFrame({"when": pd.date_range("2024", periods=2)})
    with pytest.raises(InvalidParameter, match=r"got Timestamp.* in column 'when'"):
        Recent(times, np.ones(2)).to_dict()
    with pytest.raises(InvalidParameter, match="got a sparse matrix"):
        Recent(csr_matrix(np.eye(2)), np.ones(2)).to_dict()


def test_one_row_is_given_as_a_table(calibrated):
    policy, X, Y = calibrated
    sliding = SlidingPolicy(policy, X, Y, 0.2, grid=GRID)
    adaptive = AdaptivePolicy(policy, X, Y, 0.2, grid=GRID)
    watched = MonitoredPolicy(policy)
    for live in (sliding, adaptive, watched):
        with pytest.raises(InvalidParameter, match=r"got X of type Series .*iloc\[\[k"):
            live.update(X.iloc[0], Y.iloc[0])
    for live in (sliding, adaptive):
        with pytest.raises(InvalidParameter, match=r"update\(X, Y\) must be rows"):
            live.update(X.iloc[0], Y.iloc[:1])
    with pytest.raises(InvalidParameter, match=r"replay\(X, Y\) must be rows"):
        replay(sliding, X.iloc[0], Y.iloc[0])
    assert len(sliding.update(X.iloc[[0]], Y.iloc[[0]]).scores) == len(X)
