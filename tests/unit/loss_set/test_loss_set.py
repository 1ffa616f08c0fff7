"""LossSet as a new user meets it: any model, few lines, and every wrong turn."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import sublevel as sl
from sublevel.errors import (
    InfiniteBudget,
    InvalidParameter,
    NotCalibrated,
    RowsSeenBefore,
    Unbounded,
    UnseenClass,
)
from sublevel.loss_set.marks import mark_rows, refuse_seen

RNG = np.random.default_rng(7)
X = RNG.normal(size=(900, 4))
Y = np.column_stack([X[:, 0] + X[:, 1], X[:, 1] ** 2, np.sin(X[:, 2])])
Y = Y + 0.3 * RNG.normal(size=Y.shape)
LABELS = np.array(["low", "mid", "high", "top"])[
    np.clip((Y[:, 0] + 2).astype(int), 0, 3)
]
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 0] + 1)).astype(float)
TIMES = RNG.gamma(3.0, np.exp(0.3 * X[:, 0]))
CUBE = RNG.uniform(-1, 1, size=(900, 5, 3))
RETURNS = CUBE.sum(axis=2) + 0.2 * RNG.normal(size=(900, 5))
MIXED = pd.DataFrame({"demand": Y[:, 0], "price": Y[:, 1], "season": LABELS})
TRAIN, CAL, TEST = slice(0, 300), slice(300, 600), slice(600, 900)


def gaussian_process():
    kernel = RBF(2.0, "fixed") + WhiteKernel(0.2, "fixed")
    return GaussianProcessRegressor(kernel, normalize_y=False)


def with_spread(x):
    return x[:, :2], np.full((len(x), 2), 0.5) + 0.1 * np.abs(x[:, :2])


# name: (model, loss, X, Y)
ROADS = {
    "forest": (RandomForestRegressor(20, random_state=0), "squared", X, Y),
    "forest-mahalanobis": (
        RandomForestRegressor(10, random_state=0),
        "mahalanobis",
        X,
        Y,
    ),
    "one-output": (LinearRegression(), "absolute", X, Y[:, 0]),
    "one-column": (LinearRegression(), "huber", X, Y[:, :1]),
    "pipeline": (make_pipeline(StandardScaler(), Ridge()), "log_cosh", X, Y),
    "search": (GridSearchCV(Ridge(), {"alpha": [1, 10]}), "pinball", X, Y),
    "gaussian-process": (gaussian_process(), "gaussian", X, Y),
    "gaussian-process-nll": (gaussian_process(), "nll", X, Y),
    "spread-pipeline": (
        make_pipeline(StandardScaler(), BayesianRidge()),
        "gaussian",
        X,
        Y[:, 0],
    ),
    "spread-list": ([BayesianRidge(), BayesianRidge()], "gaussian", X, Y[:, :2]),
    "quantiles": (
        [QuantileRegressor(quantile=0.1), QuantileRegressor(quantile=0.9)],
        "interval",
        X,
        Y[:, 0],
    ),
    "quantile-lists": (
        [[QuantileRegressor(quantile=q)] * 2 for q in (0.1, 0.9)],
        "interval",
        X,
        Y[:, :2],
    ),
    "list": (
        [Ridge(), GradientBoostingRegressor(n_estimators=5)],
        "squared",
        X,
        Y[:, :2],
    ),
    "blocks": (
        sl.ModelBlocks([LinearRegression(), Ridge()], widths=[2, 1]),
        "epsilon_insensitive",
        X,
        Y,
    ),
    "shared": (sl.SharedModel(LinearRegression()), "squared", CUBE, RETURNS),
    "shared-spread": (sl.SharedModel(BayesianRidge()), "gaussian", CUBE, RETURNS),
    "counts": (PoissonRegressor(), "poisson", X, COUNTS),
    "times": (GammaRegressor(), "gamma", X, TIMES),
    "callable": (lambda x: x[:, :2], "squared", X, Y[:, :2]),
    "callable-spread": (with_spread, "gaussian", X, Y[:, :2]),
    "own-loss": (
        LinearRegression(),
        lambda y, location: cp.norm(y - location, 4),
        X,
        Y,
    ),
    "classes": (LogisticRegression(), "cross_entropy", X, LABELS),
    "classes-hinge": (LogisticRegression(), "hinge", X, LABELS),
    "margins": (LinearSVC(), "hinge", X, LABELS),
    "two-margins": (LinearSVC(), "zero_one", X, LABELS == "top"),
    "several-labels": (
        MultiOutputClassifier(LogisticRegression()),
        "cross_entropy",
        X,
        np.column_stack([LABELS, np.where(Y[:, 1] > 1, "far", "near")]),
    ),
    "labels-list": (
        [LogisticRegression(), LogisticRegression()],
        "zero_one",
        X,
        np.column_stack([LABELS, np.where(Y[:, 1] > 1, "far", "near")]),
    ),
    "shared-labels": (
        sl.SharedModel(LogisticRegression()),
        "cross_entropy",
        CUBE,
        np.where(RETURNS > 0, "up", "down"),
    ),
    "mixed": (
        [LinearRegression(), BayesianRidge(), LogisticRegression()],
        sl.losses.Combined(["squared", "gaussian", "cross_entropy"]),
        X,
        MIXED,
    ),
}


@pytest.mark.parametrize("name", ROADS)
def test_any_model_becomes_a_calibrated_set(name):
    model, loss, x, y = ROADS[name]
    sets = sl.LossSet(model, loss).fit(x[TRAIN], y[TRAIN])
    sets.calibrate(x[CAL], y[CAL], alpha=0.1)
    batch = sets.predict_set(x[TEST])
    inside = batch.contains(y[TEST])
    # 300 test points: 6 standard deviations of calibration and test noise together.
    assert inside.mean() > 0.9 - 6 * np.sqrt(2 * 0.09 / 300)
    assert len(batch) == 300
    value = batch[0]
    direction = np.linspace(-1, 1.5, value.dim)
    worst = value.worst_case(direction)
    assert value.contains(worst)
    assert direction @ worst == pytest.approx(value.support(direction), rel=1e-9)
    assert batch[:3].support(direction)[0] == pytest.approx(value.support(direction))
    lower, upper = batch[:2].bounds()
    assert lower[0] == pytest.approx(value.bounds()[0], abs=1e-6)
    assert upper[0] == pytest.approx(value.bounds()[1], abs=1e-6)
    assert sets.predict(x[TEST]).shape[0] == 300
    assert np.isfinite(sets.score(x[TEST], y[TEST]))
    # One context's set and the batch agree on who is inside.
    vectors = batch.outcomes.encode(y[TEST][:5])
    assert [batch[i].contains(vectors[i]) for i in range(5)] == inside[:5].tolist()


def test_lightgbm_pair():
    lightgbm = pytest.importorskip("lightgbm")
    models = [lightgbm.LGBMRegressor(n_estimators=20, verbose=-1) for _ in range(2)]
    sets = sl.LossSet(models).fit(X[TRAIN], Y[TRAIN, :2])
    sets.calibrate(X[CAL], Y[CAL, :2], alpha=0.1)
    assert sets.predict_set(X[TEST]).contains(Y[TEST, :2]).mean() > 0.75


def test_torch_module_is_used_as_it_is():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5))
    net.train()
    before = [p.clone() for p in net.parameters()]
    sets = sl.LossSet(net).calibrate(X[CAL], Y[CAL], alpha=0.1)
    assert net.training
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))
    # Evaluation mode: no dropout, so the prediction is the linear map itself.
    with torch.no_grad():
        plain = net[0](torch.as_tensor(X[:2], dtype=torch.float32)).numpy()
    assert sets.predict(X[:2]) == pytest.approx(plain, abs=1e-6)
    assert sets.predict_set(X[:1])[0].dim == 3


def test_torch_classifier_and_spread():
    torch = pytest.importorskip("torch")
    logits = torch.nn.Linear(4, 3)
    codes = RNG.integers(0, 3, size=300)
    sets = sl.LossSet(torch.nn.Sequential(logits, torch.nn.Softmax(dim=1)), "hinge")
    assert sets.calibrate(X[CAL], codes).predict_set(X[:1])[0].dim == 3
    with pytest.raises(InvalidParameter, match="softmax"):
        sl.LossSet(logits, "cross_entropy").calibrate(X[CAL], codes)

    class Pair(torch.nn.Module):
        def forward(self, x):
            return x[:, :2], torch.full((len(x), 2), 0.5)

    spread = sl.LossSet(Pair(), "gaussian").calibrate(X[CAL], Y[CAL, :2])
    assert spread.predict_set(X[:1])[0].prediction.scale == pytest.approx(0.5)


def test_fitted_models_are_left_alone():
    model = LinearRegression().fit(X[TRAIN], Y[TRAIN])
    coefficients = model.coef_.copy()
    for given in (model, FrozenEstimator(model)):
        sets = sl.LossSet(given).fit(X[CAL], Y[CAL])
        assert sets.model_ is given
        assert np.array_equal(model.coef_, coefficients)
    fresh = Ridge()
    pair = sl.LossSet([model_of(0), fresh]).fit(X[TRAIN], Y[TRAIN, :2])
    assert not hasattr(fresh, "coef_")
    assert hasattr(pair.model_.parts[1], "coef_")


def model_of(column):
    return LinearRegression().fit(X[CAL], Y[CAL, column])


def test_a_partly_fitted_list_keeps_what_is_fitted():
    ready = model_of(0)
    sets = sl.LossSet([ready, Ridge()]).fit(X[TRAIN], Y[TRAIN, :2])
    assert sets.model_.parts[0] is ready


def test_calibrate_without_fit_needs_a_fitted_model():
    ready = LinearRegression().fit(X[TRAIN], Y[TRAIN])
    assert sl.LossSet(ready).calibrate(X[CAL], Y[CAL]).budget_ > 0
    with pytest.raises(NotFittedError, match=r"fit\(X_train, Y_train\)"):
        sl.LossSet(LinearRegression()).calibrate(X[CAL], Y[CAL])


def test_pandas_in_names_kept():
    frame = pd.DataFrame(
        X, columns=list("abcd"), index=[f"day {i}" for i in range(900)]
    )
    outcome = pd.DataFrame(Y[:, :2], columns=["demand", "price"], index=frame.index)
    seen = []

    class Spy(LinearRegression):
        def predict(self, X):
            seen.append(type(X))
            return super().predict(X)

    sets = sl.LossSet(Spy()).fit(frame[TRAIN], outcome[TRAIN])
    sets.calibrate(frame[CAL], outcome[CAL])
    table = sets.predict_set(frame[TEST]).to_pandas()
    assert set(seen) == {pd.DataFrame}
    assert list(table.columns.levels[0]) == ["demand", "price"]
    assert table.index[0] == "day 600"
    assert sets.feature_names_in_.tolist() == list("abcd")
    lower, point, upper = table["demand"].to_numpy().T
    assert (lower < point).all()
    assert upper - lower == pytest.approx(2 * sets.radius_)


def test_names_of_labels_and_series():
    outcome = pd.Series(LABELS, name="season")
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(
        X[TRAIN], outcome[TRAIN]
    )
    table = sets.calibrate(X[CAL], outcome[CAL]).predict_set(X[:2]).to_pandas()
    assert "season=low" in table.columns.levels[0]
    assert sets.predict_set(X[:1])[0].labels()[0][0] in LABELS


def test_clone_params_and_pickle():
    sets = sl.LossSet(Ridge(alpha=3.0), loss=sl.losses.Huber(2.0))
    twin = clone(sets)
    assert twin.get_params()["model__alpha"] == 3.0
    assert twin.loss == sl.losses.Huber(2.0)
    twin.set_params(model__alpha=1.0, loss="squared")
    twin.fit(X[TRAIN], Y[TRAIN]).calibrate(X[CAL], Y[CAL], guarantee="pac")
    again = pickle.loads(pickle.dumps(twin))
    assert again.budget_ == twin.budget_
    assert again.certificate_ == twin.certificate_
    direction = [1.0, 0.0, 0.0]
    before = twin.predict_set(X[:1])[0].support(direction)
    assert again.predict_set(X[:1])[0].support(direction) == before
    value = pickle.loads(pickle.dumps(twin.predict_set(X[:1])[0]))
    assert value.support(direction) == before


def test_grid_search_over_loss_and_model():
    """Heteroscedastic noise in one of three components: a model that sees the signal
    beats one that does not, whatever the loss."""
    search = GridSearchCV(
        sl.LossSet(Ridge()),
        {
            "model": [DummyRegressor(), LinearRegression()],
            "loss": ["squared", "absolute", sl.losses.Huber(0.5)],
        },
        cv=3,
    ).fit(X[TRAIN], Y[TRAIN])
    assert isinstance(search.best_params_["model"], LinearRegression)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 9))) == 6


def test_a_new_fit_voids_the_calibration():
    sets = (
        sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN]).calibrate(X[CAL], Y[CAL])
    )
    sets.fit(X[TEST], Y[TEST])
    with pytest.raises(NotCalibrated):
        sets.predict_set(X[:1])


def test_a_new_fit_forgets_everything_of_the_old():
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(
        X[TRAIN], LABELS[TRAIN]
    )
    sets.calibrate(X[CAL], LABELS[CAL])
    sets.set_params(model=LinearRegression(), loss="squared").fit(X[TRAIN], Y[TRAIN])
    stale = ("names_", "alpha_", "guarantee_", "calibration_", "budget_", "radius_")
    stale += ("certificate_", "scores_", "classes_")
    assert [name for name in stale if hasattr(sets, name)] == []
    crossed = sl.LossSet(LinearRegression())
    crossed.calibrate(X[:40], Y[:40], guarantee=sl.guarantees.CVPlus(20))
    crossed.fit(X[TRAIN], Y[TRAIN])
    assert type(crossed.predict_set(X[:1], budget=1.0)[0]).__name__ == "Sublevel"


def test_calibrate_looks_at_the_parameters_when_nothing_was_fitted_here():
    first, second = model_of(0), model_of(1)
    sets = sl.LossSet(first).calibrate(X[TRAIN], Y[TRAIN, 0])
    old = sets.budget_
    sets.set_params(loss="absolute")
    # The sets are still those that were calibrated ...
    assert sets.predict_set(X[:1])[0].loss == sl.losses.Squared()
    # ... until they are calibrated anew.
    sets.calibrate(X[TRAIN], Y[TRAIN, 0])
    assert sets.loss_ == sl.losses.Absolute()
    assert sets.budget_ == pytest.approx(np.sqrt(old))
    sets.set_params(model=second).calibrate(X[TRAIN], Y[TRAIN, 1])
    assert sets.model_ is second
    # What fit has trained is kept until the next fit.
    trained = sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN])
    trained.set_params(loss="absolute").calibrate(X[CAL], Y[CAL])
    assert trained.loss_ == sl.losses.Squared()


def test_asking_for_scores_settles_nothing():
    sets = sl.LossSet(model_of(0))
    squared = sets.scores(X[TRAIN], Y[TRAIN, 0])
    absolute = sets.set_params(loss="absolute").scores(X[TRAIN], Y[TRAIN, 0])
    assert absolute**2 == pytest.approx(squared)


def test_score_is_minus_a_half_width():
    assert "half-width" in sl.LossSet.score.__doc__
    constant = sl.LossSet(lambda x: np.zeros((len(x), 1)))
    y = np.tile([-1.0, 1.0], 150)
    assert constant.score(X[TRAIN], y) == pytest.approx(-1.0)


def test_combined_weights_are_mean_out_of_fold_losses():
    models = [LinearRegression(), LinearRegression()]
    sets = sl.LossSet(models, sl.losses.Combined(["squared", "absolute"]))
    sets.fit(X[TRAIN], Y[TRAIN, :2])
    held = sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN, 0])
    fresh = np.mean(held.scores(X[CAL], Y[CAL, 0]))
    assert sets.loss_.weights[0] == pytest.approx(fresh, rel=0.3)
    # A perfect memory has no training loss, and still gets an honest weight.
    forest = [RandomForestRegressor(10, bootstrap=False, random_state=0)] * 2
    honest = sl.LossSet(forest, sl.losses.Combined(["squared", "squared"]))
    honest.fit(X[TRAIN], Y[TRAIN, :2])
    assert min(honest.loss_.weights) > 0.05


def test_combined_learns_on_the_data_given_when_models_are_fitted():
    models = [model_of(0), model_of(1)]
    sets = sl.LossSet(models, sl.losses.Combined(["squared", "absolute"]))
    with pytest.raises(InvalidParameter, match="learned from training losses"):
        sets.calibrate(X[CAL], Y[CAL, :2])
    sets.fit(X[TRAIN], Y[TRAIN, :2])
    residual = Y[TRAIN, 0] - models[0].predict(X[TRAIN])
    assert sets.loss_.weights[0] == pytest.approx(np.mean(residual**2))


def test_rare_classes_do_not_break_out_of_fold_weights():
    labels = np.where(np.arange(300) < 3, "rare", LABELS[TRAIN])
    sets = sl.LossSet(
        [LinearRegression(), LogisticRegression()],
        sl.losses.Combined(["squared", "cross_entropy"]),
    )
    outcome = pd.DataFrame({"y": Y[TRAIN, 0], "label": labels})
    sets.fit(X[TRAIN], outcome)
    assert np.isfinite(sets.loss_.weights).all()


def test_mondrian_and_weighted_budgets_follow_x():
    group = sl.guarantees.Mondrian(lambda x: np.where(x[:, 0] > 0, "up", "down"))
    sets = sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN])
    sets.calibrate(X[CAL], Y[CAL], guarantee=group)
    assert set(sets.budget_) == {"up", "down"} == set(sets.radius_)
    batch = sets.predict_set(X[TEST])
    up = X[TEST, 0] > 0
    assert set(batch.budgets[up]) == {sets.budget_["up"]}
    shift = sl.guarantees.Weighted(lambda x: np.exp(x[:, 0]))
    sets.calibrate(X[CAL], Y[CAL], guarantee=shift)
    assert sets.predict_set(X[TEST]).budgets.shape == (300,)


def test_cv_plus_protects_the_union_of_folds():
    promise = sl.guarantees.CVPlus()
    sets = sl.LossSet(LinearRegression()).calibrate(X[:40], Y[:40], 0.1, promise)
    batch = sets.predict_set(X[TEST])
    assert len(batch[0].sets) == 40
    assert batch.contains(Y[TEST]).mean() > 0.85
    direction = np.ones(3)
    members = [U.support(direction) for U in batch[0].sets]
    assert batch[:1].support(direction)[0] == pytest.approx(max(members))
    assert batch[:4].to_pandas().shape == (4, 9)
    with pytest.raises(InvalidParameter, match="cannot be trained here"):
        sl.LossSet(lambda x: x[:, :3]).calibrate(X[:40], Y[:40], 0.1, promise)


def test_cv_plus_trains_the_model_itself():
    promise = sl.guarantees.CVPlus(n_splits=20)
    ready = LinearRegression().fit(X[TRAIN], Y[TRAIN])
    for given in (ready, [Ridge(), ready], sl.ModelBlocks([ready])):
        with pytest.raises(InvalidParameter, match=r"sklearn.base.clone\(model\)"):
            sl.LossSet(given).calibrate(X[:40], Y[:40], 0.1, promise)
    # Trained on other rows before, it speaks of the rows of CV+ afterwards.
    sets = sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN])
    sets.calibrate(X[TEST][:40], Y[TEST][:40], 0.1, promise)
    fresh = LinearRegression().fit(X[TEST][:40], Y[TEST][:40])
    assert sets.predict(X[:5]) == pytest.approx(fresh.predict(X[:5]))
    assert sets.model_.coef_ == pytest.approx(fresh.coef_)


def test_cv_plus_is_refused_before_anything_is_trained():
    class Untouched(LinearRegression):
        def fit(self, X, y):
            raise AssertionError

    sets = sl.LossSet(Untouched())
    with pytest.raises(InvalidParameter, match=r"n_splits=7\) must divide"):
        sets.calibrate(X[:40], Y[:40], 0.1, sl.guarantees.CVPlus(n_splits=7))
    with pytest.raises(InvalidParameter, match="as many rows, got 40 and 39"):
        sets.calibrate(X[:40], Y[:39], 0.1, sl.guarantees.CVPlus())
    with pytest.raises(InvalidParameter, match="at least 2 rows"):
        sets.calibrate(X[:1], Y[:1], 0.1, sl.guarantees.CVPlus())


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (LogisticRegression(), "cross_entropy"),
        (LinearSVC(), "hinge"),
        (
            [LinearRegression(), LogisticRegression()],
            sl.losses.Combined(["squared", "cross_entropy"]),
        ),
    ],
    ids=["probabilities", "margins", "mixed"],
)
def test_cv_plus_with_a_class_that_one_fold_misses(model, loss):
    labels = LABELS[:60].astype(object)
    labels[7] = "unique"
    outcome = labels
    if isinstance(model, list):
        outcome = pd.DataFrame({"demand": Y[:60, 0], "season": labels})
    sets = sl.LossSet(model, loss)
    sets.calibrate(X[:60], outcome, 0.2, sl.guarantees.CVPlus())
    # Its own fold cannot have it in any set; the others are scored as usual.
    assert sets.scores_[7] == np.inf
    assert np.isfinite(np.delete(sets.scores_, 7)).all()
    assert np.isfinite(sets.budget_)
    batch = sets.predict_set(X[:6])
    assert {U.dim for U in batch[0].sets} == {batch.outcomes.width}
    assert "unique" in " ".join(sets.names_)
    lower, upper = batch.bounds()
    assert lower.shape == upper.shape == (6, batch.outcomes.width)
    assert batch.contains(outcome[:6]).shape == (6,)


def test_unions_answer_as_their_members_do():
    promise = sl.guarantees.CVPlus(n_splits=20)
    sets = sl.LossSet(LinearRegression()).calibrate(X[:40], Y[:40], 0.2, promise)
    batch = sets.predict_set(X[TEST][:6])
    direction = np.array([1.0, -2.0, 0.5])
    worst = batch.worst_case(direction)
    assert worst @ direction == pytest.approx(batch.support(direction))
    assert worst[2] == pytest.approx(batch[2].worst_case(direction))
    for rows in ([1, 3], np.array([1, 3]), np.arange(6) % 4 == 1, slice(1, 6, 4)):
        part = batch[rows]
        assert len(part) == 2
        assert part.support(direction)[0] == batch.support(direction)[1]
    assert batch[np.int64(2)].support(direction) == pytest.approx(
        batch.support(direction)[2]
    )
    assert repr(batch) == (
        "UnionBatch(6 sets of 3 components, unions of 20 folds, Squared, "
        f"budget {sets.budget_:.4g})"
    )


# -- wrong turns ---------------------------------------------------------------------


def fitted(loss="squared", model=LinearRegression(), y=Y):  # noqa: B008
    return sl.LossSet(model, loss).fit(X[TRAIN], y[TRAIN])


def test_uncalibrated():
    with pytest.raises(NotCalibrated, match=r"calibrate\(X_cal, Y_cal, alpha=0.1\)"):
        fitted().predict_set(X[:1])


def test_wrong_width():
    with pytest.raises(InvalidParameter, match=r"3 column.*got 2"):
        fitted().calibrate(X[CAL], Y[CAL, :2])


def test_rows_that_do_not_match():
    with pytest.raises(InvalidParameter, match="as many rows, got 300 and 299"):
        fitted().calibrate(X[CAL], Y[CAL][1:])


def test_nan_outcome():
    bad = Y[CAL].copy()
    bad[17, 1] = np.nan
    with pytest.raises(InvalidParameter, match="NaN in row 17"):
        fitted().calibrate(X[CAL], bad)


def test_nan_prediction():
    with pytest.raises(InvalidParameter, match=r"finite predictions.*row 0"):
        sl.LossSet(lambda x: np.full((len(x), 1), np.nan)).calibrate(X[CAL], Y[CAL, 0])


def test_columns_in_another_order():
    frame = pd.DataFrame(Y[:, :2], columns=["demand", "price"])
    other = frame[["price", "demand"]]
    message = r"\['demand', 'price'\].*got \['price', 'demand'\]"
    sets = sl.LossSet(LinearRegression()).fit(X[TRAIN], frame[TRAIN])
    with pytest.raises(InvalidParameter, match=message):
        sets.calibrate(X[CAL], other[CAL])
    with pytest.raises(InvalidParameter, match=message):
        sets.score(X[CAL], other[CAL])
    # Arrays carry no names, and the names of fit stay.
    sets.calibrate(X[CAL], Y[CAL, :2])
    assert sets.names_ == ("demand", "price")
    # Names given at calibration are kept too.
    ready = LinearRegression().fit(X[TRAIN], Y[TRAIN, :2])
    elsewhere = sl.LossSet(ready).calibrate(X[CAL], frame[CAL])
    crossed = sl.LossSet(LinearRegression()).calibrate(
        X[:40], frame[:40], guarantee=sl.guarantees.CVPlus(20)
    )
    for found in (sets, elsewhere, crossed):
        with pytest.raises(InvalidParameter, match=message):
            found.scores(X[CAL], other[CAL])
        with pytest.raises(InvalidParameter, match=message):
            found.predict_set(X[TEST]).contains(other[TEST])
        assert found.predict_set(X[TEST]).contains(frame[TEST]).mean() > 0.7
    # A new calibration may bring other names.
    assert elsewhere.calibrate(X[CAL], other[CAL]).names_ == ("price", "demand")


def test_unseen_class():
    sets = fitted("cross_entropy", LogisticRegression(), LABELS)
    labels = LABELS[CAL].astype(object)
    labels[5] = "purple"
    with pytest.raises(UnseenClass, match="'purple' in row 5"):
        sets.calibrate(X[CAL], labels)


def test_five_calibration_points():
    with pytest.warns(InfiniteBudget, match=r"at least 9"):
        sets = fitted().calibrate(X[CAL][:5], Y[CAL][:5], alpha=0.1)
    assert sets.budget_ == np.inf
    assert sets.certificate_.minimum_sample_size == 9
    batch = sets.predict_set(X[:2])
    assert batch.contains(Y[:2]).all()
    assert batch[0].support([1, 0, 0]) == np.inf
    assert batch[0].support([0, 0, 0]) == 0
    with pytest.raises(Unbounded, match="the budget is inf"):
        batch[0].worst_case([1, 0, 0])
    with pytest.raises(Unbounded, match="bounded"):
        batch[0].volume()


@pytest.mark.parametrize(
    "rows",
    [np.arange(300), np.arange(300)[::-1], np.arange(100, 180), np.arange(200, 400)],
    ids=["all", "reversed", "part", "half"],
)
def test_training_data_used_again(rows):
    with pytest.raises(InvalidParameter, match=r"not trained on, got \d+ of"):
        fitted().calibrate(X[rows], Y[rows])
    frame = pd.DataFrame(X)
    with pytest.raises(InvalidParameter, match="not trained on"):
        fitted().calibrate(frame.iloc[rows], Y[rows].tolist())


def test_data_that_repeats_by_nature_is_not_taken_for_training_data():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, size=(600, 2))
    labels = rng.integers(0, 2, size=600)
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(
        few[:300], labels[:300]
    )
    assert np.isfinite(sets.calibrate(few[300:], labels[300:]).budget_)


def test_a_few_rows_trained_on_are_no_reason_to_refuse_but_to_warn():
    overlap = np.arange(250, 450)
    with pytest.warns(RowsSeenBefore, match="50 of 200 rows from the training"):
        assert fitted().calibrate(X[overlap], Y[overlap]).budget_ > 0


def test_what_cannot_be_hashed_is_not_checked():
    sparse = scipy.sparse.csr_matrix(X)
    sets = sl.LossSet(Ridge()).fit(sparse[TRAIN], Y[TRAIN])
    assert sets.calibrate(sparse[CAL], Y[CAL]).budget_ > 0
    assert mark_rows(sparse, Y) is None
    assert mark_rows([[1, [2]], [3, [4, 5]]], [1.0, 2.0]) is None


def test_marks_of_many_rows_take_eight_bytes_each():
    x = np.random.default_rng(0).normal(size=(100_000, 10))
    marks = mark_rows(x, x[:, 0])
    refuse_seen(marks, x[:10] + 1, x[:10, 0])
    assert marks.nbytes == 800_000


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, "a"])
def test_alpha_out_of_range(alpha):
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        fitted().calibrate(X[CAL], Y[CAL], alpha=alpha)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("sqared", "loss must be one of.*got 'sqared'.$"),
        ("mse", "got 'mse'. Here it is called 'squared'"),
        (sl.losses.Squared, "Say Squared"),
        (3, "loss must be one of"),
    ],
)
def test_unknown_loss(loss, message):
    with pytest.raises(InvalidParameter, match=message):
        fitted(loss)


def test_a_mismatch_is_found_by_fit():
    for loss, model, y, message in [
        ("gaussian", LinearRegression(), Y, "needs a predicted spread"),
        ("squared", LogisticRegression(), LABELS, "a classifier"),
        ("cross_entropy", LinearRegression(), Y, "needs a classifier"),
        ("cross_entropy", LinearSVC(), LABELS, "CalibratedClassifierCV"),
        (sl.losses.Combined(["squared"] * 3), LinearRegression(), Y, "as many models"),
    ]:
        with pytest.raises(InvalidParameter, match=message):
            sl.LossSet(model, loss).fit(X[TRAIN], y[TRAIN])


def test_losses_and_models_that_do_not_fit():
    with pytest.raises(InvalidParameter, match="needs a predicted spread"):
        fitted("gaussian").calibrate(X[CAL], Y[CAL])
    with pytest.raises(InvalidParameter, match="a classifier"):
        fitted("squared", LogisticRegression(), LABELS).calibrate(X[CAL], LABELS[CAL])
    with pytest.raises(InvalidParameter, match="needs a classifier"):
        fitted("cross_entropy").calibrate(X[CAL], Y[CAL])
    with pytest.raises(InvalidParameter, match="CalibratedClassifierCV"):
        fitted("cross_entropy", LinearSVC(), LABELS).calibrate(X[CAL], LABELS[CAL])
    with pytest.raises(InvalidParameter, match="positive predictions"):
        fitted("poisson").calibrate(X[CAL], Y[CAL])
    with pytest.raises(InvalidParameter, match="as many models"):
        fitted(sl.losses.Combined(["squared"] * 3, (1, 1, 1))).calibrate(X[CAL], Y[CAL])

    def concave(y, location):
        return -cp.sum_squares(y - location)

    with pytest.raises(InvalidParameter, match="convex"):
        fitted(concave).predict_set(X[:1], budget=1.0)[0].support([1, 0, 0])
    with pytest.raises(InvalidParameter, match="must be numeric"):
        fitted().calibrate(X[CAL], np.column_stack([LABELS, LABELS, LABELS])[CAL])


def test_a_model_of_one_output_is_told_how_to_take_three():
    with pytest.raises(
        ValueError, match=r"1d array|1-dimensional|should be a 1d"
    ) as caught:
        fitted("squared", GradientBoostingRegressor(n_estimators=2))
    assert "one model a column" in " ".join(caught.value.__notes__)
    for bad in (X[TRAIN][:, 0], X[TRAIN] * np.nan):
        with pytest.raises(ValueError, match=r"2D array|NaN") as caught:
            sl.LossSet(LinearRegression()).fit(bad, Y[TRAIN])
        assert not hasattr(caught.value, "__notes__")


class Duck:
    """Looks like an estimator, and is none of scikit-learn's."""

    def fit(self, x, y):
        self.mean = np.mean(y, axis=0)
        return self

    def predict(self, x):
        return np.tile(self.mean, (len(x), 1))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "must be an estimator.*got None"),
        ("ridge", "must be an estimator.*got 'ridge'"),
        (3, "must be an estimator.*got 3"),
        ([], "non-empty list of these, got"),
        (LinearRegression, r"got the class LinearRegression. Say LinearRegression\(\)"),
        ([Ridge(), Ridge], r"got the class Ridge. Say Ridge\(\)"),
        ([Ridge(), None], "got None"),
        (StandardScaler(), "cannot predict"),
        (Duck(), r"LossSet\(model.predict\)"),
        (Duck().fit(X, Y), r"LossSet\(model.predict\)"),
    ],
)
def test_what_is_no_model(model, message):
    sets = sl.LossSet(model)
    assert "LossSet" in repr(sets)
    with pytest.raises(InvalidParameter, match=message):
        sets.fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(InvalidParameter, match=message):
        sets.calibrate(X[CAL], Y[CAL])
    with pytest.raises(InvalidParameter, match=message):
        sets.predict(X[CAL])


def test_the_predict_function_of_a_duck():
    duck = Duck().fit(X[TRAIN], Y[TRAIN])
    assert sl.LossSet(duck.predict).calibrate(X[CAL], Y[CAL]).budget_ > 0


def test_torch_modules_with_methods_of_estimators_are_torch_modules():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x):
            return x[:, :2]

        def fit(self, x, y):
            raise AssertionError

        def predict(self, x):
            raise AssertionError

    sets = sl.LossSet(Net()).fit(X[TRAIN], Y[TRAIN, :2])
    sets.calibrate(X[CAL], Y[CAL, :2])
    assert sets.predict(X[:3]) == pytest.approx(X[:3, :2], abs=1e-6)
    with pytest.raises(InvalidParameter, match="cannot be trained here"):
        sets.calibrate(X[:40], Y[:40, :2], guarantee=sl.guarantees.CVPlus())


def test_bad_directions_and_rows():
    batch = fitted().calibrate(X[CAL], Y[CAL]).predict_set(X[:4])
    with pytest.raises(InvalidParameter, match=r"shape \(3,\) or \(4, 3\)"):
        batch.support([1.0, 2.0])
    with pytest.raises(InvalidParameter, match="one row for each"):
        batch.contains(Y[:3])
    with pytest.raises(IndexError):
        batch[4]
    for bad in ([1.0, np.nan, 0.0], [1.0, np.inf, 0.0], ["a", "b", "c"]):
        with pytest.raises(InvalidParameter, match=r"directions=\.\.\.\) must be"):
            batch.support(bad)
        with pytest.raises(InvalidParameter, match=r"directions=\.\.\.\) must be"):
            batch.worst_case([bad] * 4)
    with pytest.raises(InvalidParameter, match="different lengths"):
        batch.support([[1.0], [1.0, 2.0]])
    assert len(list(batch)) == 4
    assert batch[-1].dim == 3
    assert len(batch[[True, False, True, False]]) == len(batch[[0, 2]]) == 2
    assert len(batch[[]]) == 0


def test_infinite_budgets_of_numbers():
    batch = fitted().predict_set(X[:3], budget=[1.0, np.inf, np.inf])
    assert batch.support([1.0, 0.0, 0.0])[1:].tolist() == [np.inf, np.inf]
    assert batch.support([0.0, 0.0, 0.0]).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(Unbounded, match=r"Row 1.*the budget is inf"):
        batch.worst_case([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (LogisticRegression(), "cross_entropy"),
        (LinearSVC(), "hinge"),
        ([LogisticRegression()], sl.losses.Combined(["cross_entropy"])),
    ],
)
def test_labels_are_bounded_whatever_the_budget(model, loss):
    sets = sl.LossSet(model, loss).fit(X[TRAIN], LABELS[TRAIN])
    batch = sets.predict_set(X[:2], budget=[np.inf, -1.0])
    lower, upper = batch.bounds()
    assert lower[0].tolist() == [0.0] * 4
    assert upper[0].tolist() == [1.0] * 4
    assert upper[1].sum() == 1
    direction = np.array([0.0, 3.0, 1.0, 2.0])
    assert batch.worst_case(direction)[0].tolist() == [0, 1, 0, 0]
    assert batch.support(direction)[0] == batch[0].support(direction) == 3


def test_mixed_sets_at_infinite_budgets_answer_row_by_row():
    model, loss, x, y = ROADS["mixed"]
    sets = sl.LossSet(model, loss).fit(x[TRAIN], y[TRAIN])
    batch = sets.predict_set(x[:2], budget=[np.inf, 3.0])
    direction = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = [U.support(direction) for U in batch]
    assert batch.support(direction) == pytest.approx(found)
    with pytest.raises(Unbounded, match="Row 0"):
        batch.worst_case(direction)


def test_bounds_have_no_negative_zeros():
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(
        X[TRAIN], LABELS[TRAIN]
    )
    for bound in sets.predict_set(X[:5], budget=1.0).bounds():
        assert not np.signbit(bound).any()


def test_one_line_says_what_a_batch_is():
    sets = fitted()
    assert repr(sets.predict_set(X[:2], budget=[1.0, 2.0])) == (
        "SetBatch(2 sets of 3 components, Squared, budgets 1 to 2)"
    )
    assert repr(sets.predict_set(X[:2], budget=1)) == (
        "SetBatch(2 sets of 3 components, Squared, budget 1)"
    )


def test_components_of_one_name_are_all_shown():
    frame = pd.DataFrame(Y[:, :2], columns=["demand", "demand"])
    sets = sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN, :2])
    table = sets.calibrate(X[CAL], frame[CAL]).predict_set(X[:2]).to_pandas()
    assert table.shape == (2, 6)
    assert table.to_numpy()[:, 4] == pytest.approx(sets.predict(X[:2])[:, 1])


def test_lists_all_the_way():
    x, y = X.tolist(), Y[:, :2].tolist()
    for model in (LinearRegression(), [LinearRegression(), Ridge()]):
        sets = sl.LossSet(model).fit(x[TRAIN], y[TRAIN]).calibrate(x[CAL], y[CAL])
        batch = sets.predict_set(x[TEST])
        assert batch.contains(y[TEST]).mean() > 0.75
        assert batch[:3].to_pandas().shape == (3, 6)
        assert batch[[4, 1]].to_pandas().index.tolist() == [0, 1]
    labels = LABELS.tolist()
    named = sl.LossSet(LogisticRegression(), "cross_entropy").fit(
        x[TRAIN], labels[TRAIN]
    )
    assert named.calibrate(x[CAL], labels[CAL]).predict_set(x[:2])[0].dim == 4
    crossed = sl.LossSet(LinearRegression()).calibrate(
        x[:40], y[:40], guarantee=sl.guarantees.CVPlus(20)
    )
    assert crossed.predict_set(x[:2]).to_pandas().shape == (2, 6)


def test_no_rows_give_no_sets_where_the_model_can():
    sets = sl.LossSet(lambda x: x[:, :2]).calibrate(X[CAL], Y[CAL, :2])
    batch = sets.predict_set(X[:0])
    assert len(batch) == len(batch.support([1.0, 0.0])) == 0
    assert batch.worst_case([1.0, 0.0]).shape == (0, 2)
    assert batch.contains(Y[:0, :2]).shape == (0,)
    assert batch.to_pandas().shape == (0, 6)
    assert "no budgets" in repr(batch)
    with pytest.raises(InvalidParameter, match="at least 1 row for LinearRegression"):
        fitted().predict_set(X[:0], budget=1.0)


@pytest.mark.parametrize(
    ("budget", "got"),
    [
        (np.nan, "nan"),
        ("3", "'3'"),
        ("much", "'much'"),
        ([1.0, np.nan], "nan in row 1"),
        ([1.0, 2.0, 3.0], r"shape \(3,\)"),
        ([1.0], r"shape \(1,\)"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        (["1", "2"], "words such as '1'"),
        ({"a": 1.0}, "a"),
        (1j, "1j"),
    ],
)
def test_budgets_that_are_none(budget, got):
    with pytest.raises(InvalidParameter, match=rf"budget=\.\.\.\) must.*got.*{got}"):
        fitted().predict_set(X[:2], budget=budget)


def test_budget_can_be_overridden():
    sets = fitted().calibrate(X[CAL], Y[CAL])
    assert sets.predict_set(X[:2], budget=4.0)[1].radius == 2.0
    assert sets.predict_set(X[:2], budget=[1.0, 9.0])[1].radius == 3.0
