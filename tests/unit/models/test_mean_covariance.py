"""MeanCovarianceRegressor: which errors go together, and where."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sublevel as sl
from sublevel.errors import InvalidParameter

FEW_TREES = ExtraTreesRegressor(40, min_samples_leaf=10, random_state=0)


class Law:
    """A line; spreads exp(x0 / 2); two common factors, whose sign is x1's if local."""

    def __init__(self, width, local=False, seed=0):
        rng = np.random.default_rng(seed)
        self.slopes = rng.normal(size=(3, width))
        loadings = rng.normal(size=(width, 2))
        moments = loadings @ loadings.T + 0.5 * np.eye(width)
        size = np.sqrt(np.diag(moments))
        self.correlation, self.local = moments / np.outer(size, size), local
        self.signs = np.where(np.arange(width) % 2, -1.0, 1.0)

    def draw(self, n, seed):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(n, 3))
        mean, factor = self.moments(X)
        noise = rng.normal(size=mean.shape)
        return X, mean + np.einsum("nij,nj->ni", factor, noise)

    def moments(self, X):
        signs = np.ones((len(X), len(self.signs)))
        if self.local:
            signs[X[:, 1] > 0] = self.signs
        factor = signs[:, :, None] * np.linalg.cholesky(self.correlation)
        return X @ self.slopes, np.exp(X[:, 0] / 2)[:, None, None] * factor


def nats(mean, factor, Y):
    """Mean negative log-likelihood an output."""
    logs = [
        multivariate_normal(m, f @ f.T).logpdf(y)
        for m, f, y in zip(mean, factor, Y, strict=True)
    ]
    return -float(np.mean(logs)) / Y.shape[1]


def losses_of(law, n, kinds, fresh=400):
    X, Y = law.draw(n, seed=1)
    X_test, Y_test = law.draw(fresh, seed=2)
    values = {"truth": nats(*law.moments(X_test), Y_test)}
    for name, (spread, correlation) in kinds.items():
        model = sl.MeanCovarianceRegressor(Ridge(), spread, correlation).fit(X, Y)
        mean, factor = model.predict(X_test, return_factor=True)
        values[name] = nats(mean, factor, Y_test)
        if name == "full":
            flat = np.linalg.norm(factor, axis=2)[:, :, None] * np.eye(Y.shape[1])
            values["diagonal"] = nats(mean, flat, Y_test)
    return values


@pytest.mark.parametrize("width", [24, 48])
def test_many_outputs_and_few_rows(width):
    """Most of what a constant covariance, or a diagonal, leaves to the truth is won."""
    kinds = {
        "constant": (DummyRegressor(), "constant"),
        "full": (FEW_TREES, "constant"),
    }
    values = losses_of(Law(width), 300, kinds, fresh=200)
    for other in ("constant", "diagonal"):
        gap = values[other] - values["truth"]
        assert values["full"] - values["truth"] < 0.5 * gap


def test_few_common_factors_are_learned_as_such():
    kinds = {"full": (FEW_TREES, "constant"), "low": (FEW_TREES, "low-rank")}
    values = losses_of(Law(24), 120, kinds)
    assert values["truth"] < values["low"] < values["full"]


def test_correlations_that_depend_on_x():
    kinds = {"full": (FEW_TREES, "constant"), "local": (FEW_TREES, "local")}
    values = losses_of(Law(4, local=True), 600, kinds)
    gap = values["full"] - values["truth"]
    assert values["local"] - values["truth"] < 0.6 * gap
    # Where they do not depend on it, none of it is believed.
    X, Y = Law(4).draw(300, seed=1)
    same = sl.MeanCovarianceRegressor(Ridge(), FEW_TREES, "local").fit(X, Y)
    plain = sl.MeanCovarianceRegressor(Ridge(), FEW_TREES).fit(X, Y)
    near = same.predict(X[:50], return_factor=True)[1]
    assert np.abs(near - plain.predict(X[:50], return_factor=True)[1]).max() < 0.5


def test_a_spread_that_says_nothing_is_not_believed():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 4))
    model = sl.MeanCovarianceRegressor(Ridge(), KNeighborsRegressor(3)).fit(X, Y)
    assert model.power_ < 0.15
    std = model.predict(X, return_std=True)[1]
    assert np.allclose(std, 1.0, atol=0.25)
    # One that overfits on a law that has a spread keeps what holds out of fold.
    X, Y = Law(4).draw(600, seed=4)
    model = sl.MeanCovarianceRegressor(Ridge(), KNeighborsRegressor(20)).fit(X, Y)
    assert model.power_ > 0.5


def test_shapes_and_units():
    X, Y = Law(3).draw(80, seed=5)
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge())
    mean, std, factor = model.fit(X, Y).predict(X, return_std=True, return_factor=True)
    assert mean.shape == std.shape == (80, 3)
    assert factor.shape == (80, 3, 3)
    assert np.allclose(np.linalg.norm(factor, axis=2), std)
    again = clone(model).fit(X, 1e6 * Y).predict(X, return_factor=True)[1]
    assert np.allclose(again, 1e6 * factor, rtol=1e-3, atol=1e3)
    one = clone(model).fit(X, Y[:, 0])
    mean, factor = one.predict(X, return_factor=True)
    assert mean.shape == (80,)
    assert factor.shape == (80, 1, 1)


def test_frames_pipelines_and_regressors_of_one_output():
    X, Y = Law(2).draw(80, seed=6)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    scaled = make_pipeline(StandardScaler(), Ridge())
    from sklearn.svm import SVR

    model = sl.MeanCovarianceRegressor(scaled, SVR())
    sets = sl.LossSet(model, loss="gaussian").fit(frame[:40], Y[:40])
    sets.calibrate(frame[40:], Y[40:], alpha=0.2)
    assert sets.loss_.full
    assert sets.predict_set(frame)[0].dim == 2
    assert len(sets.model_.spreads_) == 2


def test_outputs_that_are_copies_still_have_a_covariance():
    X, Y = Law(2).draw(60, seed=7)
    both = np.column_stack([Y[:, 0], Y[:, 0], np.zeros(60)])
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge()).fit(X, both)
    at = sl.LossSet(model, "gaussian").predict_set(X[:3], budget=1.0)
    assert np.isfinite(at.support(np.ones(3))).all()


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"correlation": "dense"}, "must be one of"),
        ({"mean": 3}, "estimator with fit"),
        ({"floor": 2.0}, "floor"),
        ({"cv": 1}, "MeanCovarianceRegressor.*2 or more"),
    ],
)
def test_what_is_refused(settings, rule):
    with pytest.raises(InvalidParameter, match=rule):
        sl.MeanCovarianceRegressor(**settings).fit(np.eye(4), np.eye(4))


def test_two_outputs_are_learned_without_a_warning():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    model = sl.MeanCovarianceRegressor(Ridge(), FEW_TREES, "local")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
    assert model.predict(X, return_factor=True)[1].shape == (80, 2, 2)
