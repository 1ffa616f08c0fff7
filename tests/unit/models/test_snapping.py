"""Snapped columns leave boosted trees what they were."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from sublevel.models.learners import snap, snap_column

RNG = np.random.default_rng(2)


def test_values_go_to_the_nearest_of_a_few():
    values = RNG.normal(size=3000)
    moved = snap_column(values, 50)
    grid = np.unique(moved)
    assert len(grid) == 50
    nearest = np.abs(values[:, None] - grid).min(axis=1)
    assert np.array_equal(np.abs(values - moved), nearest)
    assert moved.min() == values.min()
    assert moved.max() == values.max()


def test_few_values_and_gaps_stay():
    few = np.array([3.0, np.nan, 1.0, np.inf])
    assert np.array_equal(snap_column(few), few, equal_nan=True)
    many = np.append(RNG.normal(size=1000), [np.nan, -np.inf])
    moved = snap_column(many)
    assert np.isnan(moved[-2])
    assert moved[-1] == -np.inf
    assert len(np.unique(moved[:-2])) == 255


def test_trees_give_raw_values_the_prediction_of_the_snapped():
    X = RNG.normal(size=(2000, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    trees = HistGradientBoostingRegressor(max_iter=30, early_stopping=False)
    trees.fit(snap(X), y)
    assert np.array_equal(trees.predict(X), trees.predict(snap(X)))


def test_frames_keep_their_columns():
    frame = pd.DataFrame(
        {
            1: RNG.normal(size=400),
            "kind": pd.Categorical(["a", "b"] * 200),
            "whole": np.arange(400),
        }
    )
    found = snap(frame)
    assert list(found.columns) == list(frame.columns)
    assert (found.dtypes == frame.dtypes).all()
    assert found[1].nunique() == found["whole"].nunique() == 255
    assert found["kind"].equals(frame["kind"])
    assert frame[1].nunique() == 400


def test_what_is_not_numeric_is_left_alone():
    words = np.array([["a"], ["b"]], dtype=object)
    assert snap(words) is words
