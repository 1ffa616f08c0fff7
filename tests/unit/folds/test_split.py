"""Rows taken apart: every row once, units whole, time one way, gaps kept."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sublevel as sl
from sublevel.errors import InvalidParameter

NAMES = ["train", "tune", "calibrate", "test"]


def hourly(start="2024-03-25", periods=24 * 21, tz="Europe/Rome"):
    """Three weeks of hours; in Rome the clocks change on 31 March."""
    times = pd.date_range(start, periods=periods, freq="h", tz=tz)
    return pd.DataFrame({"load": np.arange(float(periods))}, index=times)


def days_of(fold):
    return set(fold.X.index.tz_localize(None).normalize())


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(12, 60),
    order=st.sampled_from(["random", "time"]),
    gap=st.integers(0, 2),
    tune=st.sampled_from([0, 1, 0.1, 2]),
    seed=st.integers(0, 5),
)
def test_every_row_is_in_one_part_or_left_out(size, order, gap, tune, seed):
    X, Y = np.arange(size)[:, None], np.arange(size) ** 2
    gap = gap if order == "time" else 0
    folds = sl.split(X, Y, tune=tune, order=order, gap=gap, random_state=seed)
    rows = np.concatenate([fold.rows for fold in folds] + [folds.left_out])
    assert sorted(rows) == list(range(size))
    for fold in folds:
        np.testing.assert_array_equal(fold.X[:, 0], fold.rows)
        np.testing.assert_array_equal(fold.Y, fold.rows**2)
    if order == "time":
        parts = [fold for fold in folds if fold.size]
        for before, after in pairwise(parts):
            assert after.rows.min() - before.rows.max() == 1 + gap
        assert len(folds.left_out) == gap * (len(parts) - 1)


@pytest.mark.parametrize("order", ["random", "time"])
@pytest.mark.parametrize("unit", ["days", "weeks", "months"])
def test_units_are_kept_whole_on_the_clock_of_their_zone(order, unit):
    X = hourly(periods=24 * 90)
    X = X.drop(X.index[[5, 700, 701]])  # hours are missing
    folds = sl.split(
        X, X["load"], calibrate=1, test=1, order=order, unit=unit, random_state=3
    )
    seen = [
        set(
            fold.X.index.tz_localize(None).to_period(
                {"days": "D", "weeks": "W"}.get(unit, "M")
            )
        )
        for fold in folds
    ]
    assert sum(map(len, seen)) == len(set().union(*seen))
    assert [fold.units for fold in folds] == list(map(len, seen))
    assert not len(folds.left_out)


def test_a_day_on_which_clocks_change_is_one_day():
    folds = sl.split(
        hourly("2024-03-30", 47),
        np.zeros(47),
        calibrate=1,
        test=0,
        unit="days",
        order="time",
    )
    assert [folds.train.size, folds.calibrate.size] == [24, 23]


def test_hours_that_come_twice_stay_together():
    """In October an hour comes twice: by the clock on the wall the same time."""
    times = pd.date_range("2024-10-27", periods=25, freq="h", tz="Europe/Rome")
    X = pd.DataFrame({"load": np.arange(25.0)}, index=times.tz_localize(None))
    assert X.index.duplicated().sum() == 1
    for calibrate in range(1, 23):
        folds = sl.split(X, X, calibrate=calibrate, test=0, order="time")
        assert folds.train.X.index.max() < folds.calibrate.X.index.min()


def test_rows_in_disorder_are_put_in_order_of_time():
    X = hourly()
    mixed = X.sample(frac=1.0, random_state=0)
    folds = sl.split(mixed, mixed["load"], order="time", gap="5h")
    assert folds.train.X.index.is_monotonic_increasing
    assert folds.calibrate.X.index[0] - folds.train.X.index[-1] == pd.Timedelta("5h")
    np.testing.assert_array_equal(folds.test.Y, folds.test.X["load"])


def test_a_gap_of_time_leaves_whole_days():
    X = hourly(tz=None)
    folds = sl.split(X, X["load"], order="time", unit="days", gap="36h")
    for before, after in [
        (folds.train, folds.calibrate),
        (folds.calibrate, folds.test),
    ]:
        assert after.X.index[0] - before.X.index[-1] >= pd.Timedelta("36h")
    assert all(fold.size == 24 * fold.units for fold in folds)


def test_tables_keep_their_type():
    X = hourly()
    Y = {"price": X["load"], "wind": X.to_numpy()}
    folds = sl.split(X, Y, random_state=0)
    assert isinstance(folds.train.X, pd.DataFrame)
    assert isinstance(folds.train.Y["price"], pd.Series)
    assert isinstance(folds.train.Y["wind"], np.ndarray)
    assert folds.train.Y["price"].index.equals(folds.train.X.index)
    assert sparse.issparse(sl.split(sparse.eye(8).tocsr(), np.ones(8)).test.X)


def test_a_seed_repeats_and_no_seed_does_not():
    X = np.arange(200)[:, None]
    first, again = (sl.split(X, X, random_state=7).test.rows for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (sl.split(X, X).test.rows != sl.split(X, X).test.rows).any()


def test_groups_and_times_may_be_columns():
    X = hourly(tz=None).reset_index(names="when")
    X["shop"] = np.arange(len(X)) % 12
    folds = sl.split(X, X["load"], groups="shop", random_state=0)
    shops = [set(fold.X["shop"]) for fold in folds]
    assert [len(each) for each in shops] == [6, 0, 3, 3]
    assert len(set().union(*shops)) == 12
    later = sl.split(X, X["load"], times="when", unit="days", order="time")
    assert later.train.X["when"].max() < later.calibrate.X["when"].min()


def test_periods_are_times():
    X = pd.DataFrame(
        {"x": np.arange(24.0)}, index=pd.period_range("2020-01", periods=24, freq="M")
    )
    folds = sl.split(X, X["x"], unit="years", calibrate=1, test=0, order="time")
    assert [fold.size for fold in folds] == [12, 0, 12, 0]


def test_it_reads_well():
    X = hourly(tz=None)
    shown = repr(sl.split(X, X["load"], order="time", unit="weeks", test=1, gap=0))
    assert shown.splitlines()[0] == "Folds(in time order, whole weeks)"
    assert "  test        168 rows     1 weeks  2024-04-08 00:00 to 2024-04-14" in shown
    assert "<table" in sl.split(X, X)._repr_html_()


X = hourly()
WRONG = [
    ({"order": "forwards"}, "order=.*one of"),
    ({"unit": "day"}, "unit=.*'days'.*got 'day'"),
    ({"calibrate": 1.0}, "calibrate=.*share.*got 1.0"),
    ({"train": 2.5}, "train=.*got 2.5"),
    ({"test": True}, "test=.*got True"),
    ({"calibrate": None}, "leave the rest to one part"),
    ({"calibrate": 400, "test": 400}, "must fit in 504 rows.*Ask for less"),
    ({"unit": "months"}, "fit in 2 months"),
    ({"gap": 1}, "order='time'"),
    ({"gap": "soon", "order": "time"}, "gap=.*such as '2D', got 'soon'"),
    ({"gap": 1.5, "order": "time"}, "gap=.*whole number"),
    ({"gap": "-1D", "order": "time"}, "at least 0"),
    ({"gap": "90D", "order": "time"}, "none in calibrate"),
    ({"groups": "shop"}, "must be a column of X"),
    ({"groups": [1, 2]}, "one label for each of the 504 rows"),
    ({"groups": np.arange(504) % 2, "unit": "days"}, "must not come with unit"),
    ({"groups": np.arange(504) % 2, "order": "time"}, "one stretch of time"),
    ({"groups": np.where(np.arange(504) < 9, np.nan, 1.0)}, "none at row 0"),
    ({"times": np.arange(504)}, "times of one time zone.*to_datetime"),
    ({"times": X.index[:9]}, "one time for each of the 504"),
    ({"times": X.index.where(X.index != X.index[3])}, "none at row 3"),
    ({"random_state": "x", "order": "random"}, "random_state"),
]


@pytest.mark.parametrize("given, message", WRONG, ids=[str(m) for _, m in WRONG])
def test_what_cannot_be_split_is_said(given, message):
    with pytest.raises(InvalidParameter, match=f"split.*{message}"):
        sl.split(X, X["load"], **given)


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(InvalidParameter, match="as many rows in both"):
        sl.split(X, X[1:])
    with pytest.raises(InvalidParameter, match="in the order of X"):
        sl.split(X, X[::-1])
    with pytest.raises(InvalidParameter, match="must have rows"):
        sl.split([], [])
    with pytest.raises(InvalidParameter, match="Give X a DatetimeIndex"):
        sl.split(X.to_numpy(), X.to_numpy(), unit="days")


def test_whole_days_are_needed():
    """Negative control: rows at random leave hours of most days on both sides."""
    rows = sl.split(X, X["load"], random_state=0)
    assert len(days_of(rows.train) & days_of(rows.calibrate)) > 15
    whole = sl.split(X, X["load"], unit="days", random_state=0)
    assert not days_of(whole.train) & days_of(whole.calibrate)


def test_a_fold_unpacks_and_is_indexed_alike():
    fold = sl.split(np.eye(8), np.arange(8.0), order="time").test
    X, Y = fold
    assert X is fold[0] is fold.X
    assert Y is fold[1] is fold.Y
    with pytest.raises(IndexError):
        fold[2]
