"""Out-of-fold learning: the user's models, and the default line and trees."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sublevel.errors import InvalidParameter
from sublevel.models.families import Gamma, Squared
from sublevel.models.learners import GivenModel, predicts_many, snap, weight_name
from sublevel.models.line_then_trees import default_mean, default_variance, learn_line
from sublevel.models.rows import Rows, partition
from sublevel.models.spread import append_column

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 3))
Y = X @ [1.0, -1.0, 0.0] + RNG.normal(size=120)
FOLDS = partition(4, X, Y)


def rows(weight=None, X=X):
    return Rows(X, weight, FOLDS)


def test_out_of_fold_is_cross_val_predict():
    learned = GivenModel(Ridge()).learn(rows(), Y)
    assert np.allclose(learned.out_of_fold, cross_val_predict(Ridge(), X, Y, cv=FOLDS))
    assert np.allclose(learned.model.predict(X), Ridge().fit(X, Y).predict(X))


def test_weights_reach_the_model():
    weight = np.where(np.arange(120) < 60, 1.0, 0.0)
    learned = GivenModel(make_pipeline(LinearRegression())).learn(rows(weight), Y)
    alone = LinearRegression().fit(X[:60], Y[:60])
    assert np.allclose(learned.model.predict(X), alone.predict(X))


def test_weighted_boosting_is_boosting_of_repeated_rows_to_binning():
    weight = 1.0 + (np.arange(120) % 2)
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=1)
    learned = GivenModel(model).learn(rows(weight), Y)
    direct = model.fit(X, Y, sample_weight=weight).predict(X)
    assert np.allclose(learned.model.predict(X), direct)


@pytest.mark.parametrize(
    "model, name",
    [
        (Ridge(), "sample_weight"),
        (KNeighborsRegressor(), None),
        (make_pipeline(StandardScaler(), Ridge()), "ridge__sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), None),
        (MultiOutputRegressor(Ridge()), "sample_weight"),
        (MultiOutputRegressor(KNeighborsRegressor()), None),
        (GridSearchCV(Ridge(), {}), "sample_weight"),
        (
            GridSearchCV(make_pipeline(Ridge()), {"ridge__alpha": [1.0]}),
            "ridge__sample_weight",
        ),
    ],
)
def test_the_name_of_the_weights(model, name):
    assert weight_name(model) == name


def test_the_name_of_the_weights_when_they_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        asking = make_pipeline(Ridge().set_fit_request(sample_weight=True))
        assert weight_name(asking) == "sample_weight"
        assert weight_name(make_pipeline(Ridge())) is None
        assert weight_name(Ridge()) == "sample_weight"
        learned = GivenModel(asking).learn(rows(np.ones(120)), Y)
    assert np.allclose(learned.model.predict(X), Ridge().fit(X, Y).predict(X))


def test_who_predicts_many():
    assert predicts_many(RandomForestRegressor())
    assert not predicts_many(HistGradientBoostingRegressor())
    assert not predicts_many(object())


def test_a_truly_linear_target_is_found_exactly():
    learned = default_mean(0).learn(rows(), X @ [1.0, -1.0, 0.5] + 2)
    assert np.allclose(learned.out_of_fold, X @ [1.0, -1.0, 0.5] + 2, atol=1e-6)
    assert np.allclose(learned.model.predict([[3.0, 0.0, 2.0]]), 6.0, atol=1e-6)


def test_a_bend_grows_trees_and_noise_does_not():
    wide = RNG.uniform(-1, 1, size=(400, 2))
    table = Rows(wide, None, partition(4, wide, wide))
    bent = default_mean(0).learn(table, np.abs(wide[:, 0]) + 0.01 * wide[:, 1])
    assert bent.model.trees is not None
    assert np.abs(bent.model.predict(wide) - np.abs(wide[:, 0])).mean() < 0.05
    noise = default_variance(0).learn(table, RNG.exponential(size=400))
    assert noise.model.predict(wide).std() < 0.2


def test_the_best_count_of_trees_is_the_best_of_all_counts():
    wide = RNG.uniform(-1, 1, size=(300, 2))
    target = np.sin(4 * wide[:, 0]) + RNG.normal(size=300)
    table = Rows(wide, None, partition(3, wide, target))
    learned = default_mean(0).learn(table, target)
    left = target - learn_line(Squared(), table, target).out_of_fold
    learner, losses, seen = default_mean(0), [np.mean(left**2)], snap(wide)
    for count in range(1, 33):
        held_out = np.empty(300)
        for train, held in table.folds:
            part = learner._ensemble(max_iter=count).fit(seen[train], left[train])
            held_out[held] = part.predict(seen[held])
        losses.append(np.mean((left - held_out) ** 2))
    # The brute force stops at 32 trees, where the search starts.
    assert learned.model.trees.n_iter_ == np.argmin(losses) < 22


def test_a_line_is_a_constant_where_that_is_better():
    noise = RNG.normal(size=120)
    learned = learn_line(Squared(), rows(), noise)
    slope = np.corrcoef(learned.out_of_fold, noise)[0, 1]
    assert learned.model.columns is None or slope > 0
    wide = RNG.normal(size=(120, 60))
    assert learn_line(Gamma(), rows(X=wide), noise**2).model.columns is None


def test_gaps_and_words_are_no_obstacle_to_the_defaults():
    frame = pd.DataFrame(X.copy(), columns=list("abc"))
    frame.loc[::7, "a"] = np.nan
    frame["kind"] = pd.Categorical(np.where(X[:, 1] > 0, "high", "low"))
    learned = default_mean(0).learn(rows(X=frame), Y)
    assert np.isfinite(learned.out_of_fold).all()
    words = frame[["kind"]]
    found = default_mean(0).learn(rows(X=words), np.where(X[:, 1] > 0, 5.0, 0.0))
    ends = found.model.predict(words.iloc[[np.argmax(X[:, 1]), np.argmin(X[:, 1])]])
    assert np.allclose(ends, [5, 0], atol=0.5)


@pytest.mark.parametrize(
    "columns", [["a", "b", "c"], [0, 1, 2], ["a", "predicted mean", "c"]]
)
def test_the_appended_column_is_new(columns):
    frame = pd.DataFrame(X, columns=columns)
    found = append_column(frame, Y)
    assert found.shape == (120, 4)
    assert len({str(name) for name in found.columns}) == 4
    assert all(isinstance(name, str) for name in found.columns)
    assert np.array_equal(found.to_numpy(), append_column(X, Y))
    assert frame.shape == (120, 3)


def test_folds_are_shuffled_and_at_most_one_a_row():
    folds = partition(5, X, Y)
    assert not np.array_equal(folds[0][1], np.arange(24))
    assert len(partition(5, X[:3], Y[:3])) == 3
    masks = [(np.arange(120) % 2 == k, np.arange(120) % 2 != k) for k in (0, 1)]
    assert [len(held) for _, held in partition(masks, X, Y)] == [60, 60]
    assert len(partition(KFold(3), X, Y)) == 3


@pytest.mark.parametrize(
    "cv, message",
    [
        (1, "must be 2 or more, got 1"),
        ([([0, 1], [2])], "must hold out each of the 3 rows exactly once, got 1"),
        ([([0], [1, 2]), ([2], [1, 0])], "got 4 held-out rows, 3 of them distinct"),
        ([([0, 1, 2], [0, 1]), ([0, 1, 2], [2])], "must not train on the rows it"),
    ],
)
def test_folds_that_hold_nothing_out_are_refused(cv, message):
    with pytest.raises(InvalidParameter, match=message):
        partition(cv, X[:3], Y[:3])


def test_one_row_is_too_few():
    with pytest.raises(InvalidParameter, match=r"needs 2 rows or more.*n_samples = 1"):
        partition(5, X[:1], Y[:1])


def test_groups_come_as_a_list_of_splits():
    groups = np.repeat(np.arange(12), 10)
    splits = list(GroupKFold(3).split(X, Y, groups))
    assert len(partition(splits, X, Y)) == 3
