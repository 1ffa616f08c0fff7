"""MeanCovarianceRegressor: which errors go together, and where."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import FactorAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sublevel as sl
from sublevel.errors import InvalidParameter, NoErrors
from sublevel.models import log_spread
from sublevel.models.correlation import of_rank
from sublevel.models.joint_powers import Powers, marginal_power
from sublevel.models.resolution import RESOLUTION

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


def test_correlations_of_many_outputs_that_depend_on_x():
    """A few directions move; that is more than the best constant correlation has."""
    rng = np.random.default_rng(0)

    def draw(n, turn):
        X = rng.uniform(-1, 1, size=(n, 3))
        cosine = turn * np.sin(np.pi * X[:, :1])
        first, other = rng.normal(size=(2, n, 1))
        second = cosine * first + np.sqrt(1 - cosine**2) * other
        halves = np.repeat([first, second], 8, axis=2).reshape(2, n, 8)
        return X, np.hstack(list(halves)) + 0.5 * rng.normal(size=(n, 16))

    model = sl.MeanCovarianceRegressor(Ridge(), DummyRegressor(), "local")
    train, test = draw(300, 0.9), draw(150, 0.9)
    ours = nats_of(model, train, test)
    for other in ("constant", "low-rank"):
        plain = clone(model).set_params(correlation=other)
        assert ours < nats_of(plain, train, test) - 0.1
    # Where nothing depends on X it is as good as the better of the two.
    train, test = draw(150, 0.0), draw(200, 0.0)
    ours = nats_of(model, train, test)
    for other in ("constant", "low-rank"):
        plain = clone(model).set_params(correlation=other)
        assert ours < nats_of(plain, train, test) + 0.05


def test_a_spread_that_says_nothing_is_not_believed():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 4))
    model = sl.MeanCovarianceRegressor(Ridge(), KNeighborsRegressor(3)).fit(X, Y)
    assert np.abs(model.powers_).max() < 0.15
    std = model.predict(X, return_std=True)[1]
    assert np.allclose(std, 1.0, atol=0.25)
    # One that overfits on a law that has a spread keeps what holds out of fold.
    X, Y = Law(4).draw(600, seed=4)
    model = sl.MeanCovarianceRegressor(Ridge(), KNeighborsRegressor(20)).fit(X, Y)
    assert model.powers_[0] > 0.5


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
        ({"mean": Ridge}, r"got the class Ridge\. Make one of it: mean=Ridge\(\)"),
        (
            {"spread": Ridge},
            r"spread=\.\.\.\) must be an estimator, got the class Ridge",
        ),
        ({"random_state": "seed"}, "random_state=.* must be an integer from 0"),
        ({"random_state": -1}, "random_state=.* must be an integer from 0"),
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


# ---- how far the spread is believed ------------------------------------------------


def draw_close(n, seed, width=12):
    """Errors that all but go together; what they share is larger here than there."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    own = 0.1 * rng.normal(size=(n, width))
    return X, X[:, 1:2] + np.exp(X[:, :1] / 2) * rng.normal(size=(n, 1)) + own


def forced(monkeypatch, rule):
    """Powers by another rule: what a user would get without the joint likelihood."""
    monkeypatch.setattr(log_spread, "learn_powers", rule)


def nats_of(model, train, test):
    """Held-out nats a row."""
    mean, factor = clone(model).fit(*train).predict(test[0], return_factor=True)
    return nats(mean, factor, test[1]) * factor.shape[1]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("correlation", ["constant", "low-rank", "local"])
def test_where_errors_go_together_the_spread_costs_nothing(
    seed, correlation, monkeypatch
):
    """What is right for every output alone is wrong for their differences."""
    train, test = draw_close(120, seed), draw_close(100, seed + 10)
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge(), correlation)
    constant = clone(model).set_params(spread=DummyRegressor())
    ours = nats_of(model, train, test)
    assert ours < nats_of(constant, train, test) + 0.2
    forced(monkeypatch, lambda *given: Powers(*2 * (marginal_power(*given[:2]),)))
    monkeypatch.setattr(Powers, "both", (0.0, 0.0))
    assert ours < nats_of(model, train, test) - 0.3


def test_what_rows_share_is_believed_beside_what_is_not(monkeypatch):
    law, test = Law(24), Law(24).draw(200, seed=2)
    model = sl.MeanCovarianceRegressor(Ridge(), FEW_TREES)
    train = law.draw(200, seed=1)
    common, own = clone(model).fit(*train).powers_
    assert common > 0.8
    assert own < 0.5 * common
    both = nats_of(model, train, test)
    forced(monkeypatch, lambda *given: Powers(*2 * (marginal_power(*given[:2]),)))
    assert both < nats_of(model, train, test) - 0.5


def test_spreads_of_their_own_are_kept_where_outputs_are_independent():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, size=(400, 3))
    Y = np.exp(0.7 * X) * rng.normal(size=(400, 3))
    powers = sl.MeanCovarianceRegressor(Ridge(), Ridge()).fit(X, Y).powers_
    assert (np.abs(powers - 1) < 0.4).all()
    # Two rows leave one to learn from: no correlation, and no powers.
    few = sl.MeanCovarianceRegressor(Ridge(), Ridge()).fit(X[:2], Y[:2])
    assert not few.powers_.any()


@pytest.mark.parametrize("correlation", ["constant", "low-rank"])
def test_no_trust_is_the_constant_covariance(correlation):
    X, Y = Law(4).draw(300, seed=8)
    model = sl.MeanCovarianceRegressor(Ridge(), FEW_TREES, correlation, trust=0.0)
    constant = clone(model).set_params(spread=DummyRegressor(), trust=1.0)
    ours = clone(model).fit(X, Y).predict(X[:2], return_factor=True)[1]
    same = constant.fit(X, Y).predict(X[:2], return_factor=True)[1]
    assert np.allclose(ours, same, rtol=1e-6)
    # Another trust, another correlation.
    full = clone(model).set_params(trust=1.0).fit(X, Y)
    assert np.abs(full.correlation_ - clone(model).fit(X, Y).correlation_).max() > 0.01


def test_factors_are_those_of_all_rows():
    """Moments are all that counts."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 10))
    residuals = common + rng.normal(size=(400, 10))
    direct = FactorAnalysis(2, tol=1e-4, max_iter=500).fit(residuals).get_covariance()
    size = np.sqrt(np.diag(direct))
    assert np.allclose(of_rank(residuals, 2), direct / np.outer(size, size), atol=0.01)


# ---- outputs without errors --------------------------------------------------------


@pytest.mark.parametrize("correlation", ["constant", "low-rank"])
def test_cash_beside_assets(correlation):
    """An outcome that never changes is still told from one that did."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    returns = 3 + X @ rng.normal(size=(2, 3)) + rng.normal(size=(300, 3))
    Y = np.column_stack([np.full(300, 2.0), returns])
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge(), correlation).fit(X, Y)
    mean, std, factor = model.predict(X, return_std=True, return_factor=True)
    assert np.allclose(std[:, 0] / 2, RESOLUTION)
    # What rounding leaves is nothing in units of the spread.
    assert np.abs(Y[:, 0] - mean[:, 0]).max() < 1e-6 * std[:, 0].min()
    assert np.allclose(np.linalg.norm(factor, axis=2), std)
    # Units of cash, and of all else, make no difference.
    scaled = clone(model).fit(X, Y * [1e6, 1e-3, 1e-3, 1e-3])
    other = scaled.predict(X, return_std=True)[1]
    assert np.allclose(other / [1e6, 1e-3, 1e-3, 1e-3], std, rtol=1e-3)


def test_cash_in_a_portfolio():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    returns = 3 + X @ rng.normal(size=(2, 2)) + rng.normal(size=(300, 2))
    Y = np.column_stack([np.full(300, 2.0), returns])
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True)
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge()).fit(X[:100], Y[:100])
    sets = {r: sl.LossSet(model, "gaussian")}
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], sets)
    policy = problem.compile().calibrate(X[100:200], Y[100:200], alpha=0.2)
    assert (policy.decide(X[200:]).status == "optimal").all()
    # Four standard errors of 100 rows above alpha.
    violation = policy.evaluate(X[200:], Y[200:], regret=False).violation
    assert violation < 0.2 + 4 * np.sqrt(2 * 0.2 * 0.8 / 100)


@pytest.mark.parametrize("value", [1.0, 0.0, 1e-160])
def test_nothing_but_constants_is_worth_a_word(value):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = sl.MeanCovarianceRegressor(Ridge(), Ridge())
    with pytest.warns(NoErrors, match="Check whether y varies"):
        model.fit(X, np.full((60, 2), value))
    std, factor = model.predict(X, return_std=True, return_factor=True)[1:]
    assert np.allclose(np.linalg.norm(factor, axis=2), std)
    assert (std**2 > 1e-30).all()


# ---- random states -----------------------------------------------------------------


@pytest.mark.parametrize("correlation", ["constant", "local"])
def test_a_generator_shuffles_and_seeds(correlation):
    X, Y = Law(2).draw(40, seed=9)

    def std_of(state):
        model = sl.MeanCovarianceRegressor(
            Ridge(), Ridge(), correlation, random_state=state
        )
        return model.fit(X, Y).predict(X, return_std=True)[1]

    first, again, other = (std_of(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_spread_may_be_believed_as_far_as_outputs_by_themselves_confirm_it():
    X, Y = Law(4).draw(300, 1)
    models = {
        power: sl.MeanCovarianceRegressor(Ridge(), Ridge(), power=power).fit(X, Y)
        for power in ("rows", "outputs")
    }
    common, own = models["outputs"].powers_
    assert common == own > 0
    assert models["rows"].powers_.tolist() != [common, own]
    with pytest.raises(InvalidParameter, match=r"power=.*'rows', 'outputs'.*got 'row'"):
        sl.MeanCovarianceRegressor(Ridge(), Ridge(), power="row").fit(X, Y)
