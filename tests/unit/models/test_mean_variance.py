"""MeanVarianceRegressor from the outside."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor, LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import sublevel as sl
from sublevel.models.resolution import RESOLUTION


def draw(n, seed=0):
    """A line whose noise grows with the first column: spread exp(x0 / 2)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    std = np.exp(X[:, 0] / 2)
    return X, X @ [1.0, 1.0, 0.0] + std * rng.normal(size=n), std


X, Y, STD = draw(400)


def linear(**more):
    return sl.MeanVarianceRegressor(
        LinearRegression(), GammaRegressor(alpha=0.01), **more
    )


def mean_loss(y, mean, std):
    return -norm.logpdf(y, mean, std).mean()


def test_both_are_found():
    mean, std = linear().fit(X, Y).predict(X, return_std=True)
    assert mean.shape == std.shape == (400,)
    assert np.corrcoef(np.log(std), X[:, 0])[0, 1] > 0.95
    # Two slopes and an intercept each, over 400 rows: about 3 / 400 nats a model.
    fresh, y, true = draw(5000, seed=1)
    found = mean_loss(y, *linear().fit(X, Y).predict(fresh, return_std=True))
    oracle = mean_loss(y, fresh @ [1.0, 1.0, 0.0], true)
    assert oracle < found < oracle + 0.03


def test_predict_alone_gives_the_mean():
    model = linear().fit(X, Y)
    assert np.array_equal(model.predict(X), model.predict(X, return_std=True)[0])


def test_without_refits_the_mean_is_the_model_itself():
    model = linear(max_refits=0).fit(X, Y)
    assert np.allclose(model.predict(X), LinearRegression().fit(X, Y).predict(X))
    assert model.n_refits_ == [0]
    assert len(model.losses_[0]) == 1


def test_a_refit_is_weighted_least_squares_and_better():
    plain, refitted = linear(max_refits=0).fit(X, Y), linear(tol=1e-6).fit(X, Y)
    assert refitted.n_refits_ == [1]
    assert refitted.losses_[0][1] < refitted.losses_[0][0]
    slopes = [model.means_[0].coef_ for model in (plain, refitted)]
    errors = [np.abs(slope - [1, 1, 0]).max() for slope in slopes]
    assert errors[1] < errors[0]


def test_units_of_y_do_not_matter():
    mean, std = linear().fit(X, Y).predict(X, return_std=True)
    for unit in (1e-9, 1e9):
        scaled = linear().fit(X, unit * Y).predict(X, return_std=True)
        assert np.allclose(scaled[0], unit * mean)
        assert np.allclose(scaled[1], unit * std, rtol=1e-4)


def test_one_model_an_output_or_one_for_all():
    both = np.column_stack([Y, 5 - 2 * Y])
    model = linear(max_refits=0).fit(X, both)
    assert (len(model.means_), len(model.variances_)) == (1, 2)
    mean, std = model.predict(X, return_std=True)
    alone = linear(max_refits=0).fit(X, Y).predict(X, return_std=True)
    assert np.allclose(mean, np.column_stack([alone[0], 5 - 2 * alone[0]]))
    assert np.allclose(std, np.column_stack([alone[1], 2 * alone[1]]), rtol=1e-4)


def test_models_of_one_output_are_copied():
    both = np.column_stack([Y, 5 - 2 * Y])
    model = sl.MeanVarianceRegressor(GammaRegressor(), GammaRegressor())
    found = model.fit(X, np.exp(both / 10)).predict(X, return_std=True)
    assert len(model.means_) == 2
    assert found[1].shape == (400, 2)
    for j in (0, 1):
        alone = clone(model).fit(X, np.exp(both[:, j] / 10))
        assert np.allclose(found[1][:, j], alone.predict(X, return_std=True)[1])


def test_a_wrapper_of_several_outputs_is_taken_as_it_is():
    model = sl.MeanVarianceRegressor(MultiOutputRegressor(Ridge()), GammaRegressor())
    assert model.fit(X, np.column_stack([Y, -Y])).predict(X).shape == (400, 2)
    assert isinstance(model.means_[0], MultiOutputRegressor)


def test_one_column_becomes_a_vector():
    model = linear().fit(X, Y[:, None])
    assert [part.shape for part in model.predict(X, return_std=True)] == [(400,)] * 2


def test_boosting_that_overfits_is_tempered():
    gamma = HistGradientBoostingRegressor(loss="gamma", min_samples_leaf=2)
    even = X @ [1.0, 1.0, 0.0] + np.random.default_rng(1).normal(size=400)
    model = sl.MeanVarianceRegressor(LinearRegression(), gamma).fit(X, even)
    assert model.powers_[0] < 0.2
    std = model.predict(X, return_std=True)[1]
    raw = np.sqrt(model.variances_[0].predict(X))
    assert std.max() / std.min() < 2 < raw.max() / raw.min()


def test_lightgbm_fits_a_variance():
    lightgbm = pytest.importorskip("lightgbm")
    trees = lightgbm.LGBMRegressor(
        objective="gamma", n_estimators=30, n_jobs=1, verbose=-1
    )
    model = sl.MeanVarianceRegressor(Ridge(), trees).fit(pd.DataFrame(X), Y)
    std = model.predict(pd.DataFrame(X), return_std=True)[1]
    assert np.corrcoef(np.log(std), X[:, 0])[0, 1] > 0.7


# ---- the floor -------------------------------------------------------------------


def test_the_floor_is_relative_to_the_residual_variance():
    model = linear(floor=0.3, max_refits=0).fit(X, Y)
    residual = Y - model.predict(X)
    assert np.isclose(model.floors_[0], 0.3 * np.mean(residual**2), rtol=0.05)
    std = model.predict(X, return_std=True)[1]
    assert np.isclose(std.min() ** 2, model.floors_[0])
    assert linear().fit(X, Y).predict(X, return_std=True)[1].min() < std.min()


def test_residuals_of_exactly_zero_are_no_obstacle():
    quiet = np.where(X[:, 1] > 0, 0.0, Y)
    mean = KNeighborsRegressor(1)
    for variance in (GammaRegressor(), HistGradientBoostingRegressor(loss="gamma")):
        model = sl.MeanVarianceRegressor(mean, variance).fit(X, quiet)
        std = model.predict(X, return_std=True)[1]
        assert np.isfinite(std).all()
        assert (std**2 >= model.floors_[0] * (1 - 1e-9)).all()


@pytest.mark.parametrize("target", [np.zeros(400), np.full(400, 1e6), 3 * X[:, 0]])
@pytest.mark.parametrize("given", [True, False])
def test_data_without_noise_leave_a_spread_of_rounding_size(target, given):
    model = linear() if given else sl.MeanVarianceRegressor()
    mean, std = model.fit(X, target).predict(X, return_std=True)
    assert np.allclose(mean, target)
    assert (std > 0).all()
    assert (std < 1e-6 * max(1, np.abs(target).max())).all()


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_spread_of_no_noise_is_above_what_rounding_leaves(unit):
    """Half of the digits of y, in any unit."""
    y = np.full(400, 2.0 * unit)
    mean, std = linear().fit(X, y).predict(X, return_std=True)
    assert np.allclose(std / y, RESOLUTION)
    assert np.abs(y - mean).max() < 1e-6 * std.min()


def test_a_variance_model_that_goes_negative_meets_the_floor():
    steep = make_pipeline(PolynomialFeatures(3), LinearRegression())
    model = sl.MeanVarianceRegressor(LinearRegression(), steep).fit(X, Y)
    far = np.linspace(-10, 10, 50)[:, None] * [1.0, 0.0, 0.0]
    assert (model.variances_[0].predict(far) < 0).any()
    std = model.predict(far, return_std=True)[1]
    assert np.isfinite(std).all()
    assert (std > 0).all()


# ---- inputs ----------------------------------------------------------------------


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = linear().fit(frame, pd.Series(Y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.means_[0].feature_names_in_) == ["a", "b", "c"]
    assert np.allclose(model.predict(frame), linear().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def test_sparse_covariates_go_to_models_that_take_them():
    dense = np.where(np.abs(X) > 1, X, 0.0)
    model = sl.MeanVarianceRegressor(Ridge(), GammaRegressor(), max_refits=0)
    found = clone(model).fit(csr_array(dense), Y)
    said = found.predict(csr_array(dense), return_std=True)
    for ours, same in zip(
        said, model.fit(dense, Y).predict(dense, return_std=True), strict=True
    ):
        assert np.allclose(ours, same, rtol=1e-3)
    with pytest.raises(sl.errors.InvalidParameter, match="needs dense X"):
        sl.MeanVarianceRegressor(mean=Ridge()).fit(csr_array(dense), Y)


def test_weights_count_rows():
    half = np.arange(400) < 200
    splits = [(np.arange(400) % 2 == k, np.arange(400) % 2 != k) for k in (0, 1)]
    model = linear(cv=splits, max_refits=2).fit(X, Y, sample_weight=half.astype(float))
    first = [(train[:200], held[:200]) for train, held in splits]
    alone = linear(cv=first, max_refits=2).fit(X[:200], Y[:200])
    for ours, same in zip(
        model.predict(X, return_std=True),
        alone.predict(X, return_std=True),
        strict=True,
    ):
        assert np.allclose(ours, same, rtol=1e-4)
    assert not np.allclose(model.predict(X), linear(cv=splits).fit(X, Y).predict(X))


def test_a_pipeline_is_refitted_with_weights():
    mean = make_pipeline(StandardScaler(), LinearRegression())
    model = sl.MeanVarianceRegressor(mean, GammaRegressor(alpha=0.01), tol=1e-6).fit(
        X, Y
    )
    assert model.n_refits_ == [1]
    assert np.allclose(model.predict(X), linear(tol=1e-6).fit(X, Y).predict(X))


@pytest.mark.parametrize("given", [True, False])
def test_a_generator_shuffles_the_folds(given):
    model = linear() if given else sl.MeanVarianceRegressor()
    first, again, other = (
        model.set_params(random_state=np.random.default_rng(seed))
        .fit(X, Y)
        .predict(X, return_std=True)[1]
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_it_survives_pickling():
    model = sl.MeanVarianceRegressor().fit(X, Y)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict(X, True)[1], model.predict(X, True)[1])


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"floor": 0.0}, r"floor=\.\.\.\) must lie strictly between 0 and 1, got 0.0"),
        ({"tol": -1.0}, r"tol=\.\.\.\) must be a number of at least 0, got -1.0"),
        ({"max_refits": 1.5}, r"max_refits=\.\.\.\) must be a whole number"),
        ({"max_refits": -1}, r"max_refits=\.\.\.\) must be a whole number"),
        ({"cv": 1}, r"cv=\.\.\.\) must be 2 or more"),
        ({"random_state": 1.5}, r"random_state=\.\.\.\) must be an integer from 0"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(sl.errors.InvalidParameter, match=message):
        linear(**settings).fit(X, Y)


@pytest.mark.parametrize("name", ["mean", "variance"])
def test_a_class_is_no_estimator(name):
    settings = {name: GammaRegressor}
    wanted = rf"{name}=\.\.\.\) must be .* Make one of it: {name}=GammaRegressor\(\)"
    with pytest.raises(sl.errors.InvalidParameter, match=wanted):
        sl.MeanVarianceRegressor(**settings).fit(X, Y)


@pytest.mark.parametrize(
    "y, weight, message",
    [
        (None, None, "requires y to be passed"),
        (np.zeros((400, 1, 1)), None, "array with dim 3"),
        (Y, -np.ones(400), "at least 0 and not all zero, got -1.0"),
        (Y, np.zeros(400), "at least 0 and not all zero, got 0.0"),
        (Y, np.ones(3), r"sample_weight=\.\.\.\) must be of shape \(400,\)"),
    ],
)
def test_wrong_data_are_refused(y, weight, message):
    with pytest.raises(ValueError, match=message):
        linear().fit(X, y, sample_weight=weight)


def test_weights_a_model_cannot_take_are_refused():
    model = sl.MeanVarianceRegressor(KNeighborsRegressor(), GammaRegressor())
    with pytest.raises(sl.errors.InvalidParameter, match="mean=KNeighborsRegressor"):
        model.fit(X, Y, sample_weight=np.ones(400))


def test_a_vector_is_no_table():
    with pytest.raises(sl.errors.InvalidParameter, match="Reshape your data"):
        linear().fit(X, Y).predict(X[0])
