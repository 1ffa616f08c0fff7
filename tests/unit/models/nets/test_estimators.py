"""The estimators: what they learn, how they are used, what they refuse."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("torch")

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.models.nets import (
    GaussianNetworkRegressor,
    NetworkClassifier,
    NetworkRegressor,
    SimplexOracle,
    SPOPlusRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.column_stack([np.abs(X[:, 0]), X[:, 1]]) + 0.1 * RNG.normal(size=(200, 2))
LABELS = np.array(["a", "b", "c"])[np.digitize(Y[:, 1], [-0.5, 0.5])]
ESTIMATORS = {
    "squared": (NetworkRegressor(), Y),
    "gaussian": (GaussianNetworkRegressor(), Y),
    "labels": (NetworkClassifier(), LABELS),
    "decisions": (SPOPlusRegressor(SimplexOracle(), max_epochs=20), Y),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_random_state_gives_identical_predictions(name):
    estimator, y = ESTIMATORS[name]
    first, second, other = (
        clone(estimator).set_params(random_state=seed).fit(X, y) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_array_equal(first.coefs_[0], second.coefs_[0])
    assert not np.array_equal(first.coefs_[0], other.coefs_[0])
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.predict(X), first.predict(X))


def test_coefficients_are_the_network():
    network = NetworkRegressor(random_state=0).fit(X, Y)
    hidden = np.maximum(X @ network.coefs_[0] + network.intercepts_[0], 0)
    by_hand = hidden @ network.coefs_[1] + network.intercepts_[1]
    np.testing.assert_array_equal(network.predict(X), by_hand)
    assert [part.shape for part in network.coefs_] == [(3, 5), (5, 2)]
    assert [part.shape for part in network.intercepts_] == [(5,), (2,)]
    assert network.score(X, Y) > 0.9


def test_the_shape_of_y_comes_back():
    for y, shape in ((Y[:, 0], (200,)), (Y[:, :1], (200, 1)), (Y, (200, 2))):
        for estimator in (NetworkRegressor(), GaussianNetworkRegressor()):
            assert (
                estimator.set_params(random_state=0).fit(X, y).predict(X).shape == shape
            )


def heteroscedastic(n, rng):
    X = rng.uniform(-1, 1, size=(n, 2))
    std = 0.1 + np.abs(X[:, 0])
    return X, X[:, 1] + std * rng.normal(size=n), std


def likelihood_loss(y, mean, std):
    return np.mean(((y - mean) / std) ** 2 / 2 + np.log(std))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"training": "joint"},
        {"training": "separate"},
        {"beta": 0.5},
        {"training": "separate", "beta": 0.5},
    ],
    ids=str,
)
def test_a_changing_spread_is_learned(settings):
    rng = np.random.default_rng(0)
    X, y, _ = heteroscedastic(2000, rng)
    X_test, y_test, std_test = heteroscedastic(5000, rng)
    network = GaussianNetworkRegressor(random_state=0, **settings).fit(X, y)
    mean, std = network.predict(X_test, return_std=True)
    best = likelihood_loss(y_test, X_test[:, 1], std_test)
    constant = likelihood_loss(y_test, mean, np.std(y_test - mean))
    # A constant spread loses 0.2; the network must recover three quarters of it.
    assert constant - best > 0.18
    assert likelihood_loss(y_test, mean, std) - best < (constant - best) / 4
    np.testing.assert_array_equal(mean, network.predict(X_test))


def test_the_spread_has_a_floor_on_noiseless_data():
    y = X[:, 0] + X[:, 1]
    network = GaussianNetworkRegressor(random_state=0).fit(X, y)
    mean, std = network.predict(X, return_std=True)
    assert (std > 0).all()
    assert std.max() < 1e-2
    assert np.abs(mean - y).max() < 1e-2


@pytest.mark.parametrize(
    "training", ["warm-up", "separate"], ids=["one hidden layer", "two"]
)
def test_the_number_of_hidden_units(training):
    network = GaussianNetworkRegressor(training=training, random_state=0).fit(X, Y)
    assert network.coefs_[0].shape[1] == (5 if training == "warm-up" else 10)
    assert network.coefs_[1].shape[1] == 4
    if training == "separate":
        # The mean sees only its own units, the spread only its own.
        assert (network.coefs_[1][5:, :2] == 0).all()
        assert (network.coefs_[1][:5, 2:] == 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_calibrated_where_labels_are_random(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    odds = np.column_stack([np.zeros(4000), 2 * X[:, 0], 1 - X[:, 1]])[:, :classes]
    chances = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    y = (chances.cumsum(axis=1) < rng.uniform(size=(4000, 1))).sum(axis=1)
    network = NetworkClassifier(random_state=0).fit(X, y)
    found = network.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found - chances).mean() < 0.03
    assert np.abs(found - chances.mean(axis=0)).mean() > 0.15


def test_a_loss_set_takes_every_estimator():
    train, cal = slice(0, 100), slice(100, 200)
    for name, loss in (
        ("squared", "squared"),
        ("gaussian", "gaussian"),
        ("labels", "cross_entropy"),
    ):
        estimator, y = ESTIMATORS[name]
        sets = sl.LossSet(clone(estimator).set_params(random_state=0), loss=loss)
        sets.fit(X[train], y[train]).calibrate(X[cal], y[cal], alpha=0.1)
        assert len(sets.predict_set(X[:3])) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"hidden_units": 0},
            r"hidden_units=...\) must be a whole number of at least 1",
        ),
        ({"patience": 1.5}, r"patience=...\) must be a whole number"),
        ({"n_restarts": -1}, r"n_restarts=...\) must be a whole number"),
        ({"max_epochs": None}, r"max_epochs=...\) must be a whole number"),
        ({"validation_fraction": 1.0}, "validation_fraction=.* between 0 and 1"),
        ({"validation_fraction": 0.999}, "at least 2 rows to train on, got 1 of 200"),
        ({"beta": -0.1}, "beta=.* at least 0"),
        ({"beta": 1.1}, "beta=.* at most 1"),
        ({"training": "quick"}, "must be one of warm-up, joint, separate, got 'quick'"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        GaussianNetworkRegressor(**settings).fit(X, Y)


def test_data_are_checked():
    network = NetworkRegressor(random_state=0)
    with pytest.raises(InvalidParameter, match=r"NetworkRegressor.fit: .*NaN"):
        network.fit(np.where(X > 1, np.nan, X), Y)
    with pytest.raises(InvalidParameter, match=r"NetworkRegressor.fit: .*NaN"):
        network.fit(X, np.where(Y > 1, np.nan, Y))
    with pytest.raises(InvalidParameter, match="minimum of 4 is required"):
        network.fit(X[:3], Y[:3])
    with pytest.raises(InvalidParameter, match="inconsistent numbers of samples"):
        network.fit(X, Y[:-1])
    network.fit(X, Y)
    with pytest.raises(InvalidParameter, match="X has 2 features"):
        network.predict(X[:, :2])


def test_labels_are_checked():
    with pytest.raises(InvalidParameter, match="at least two classes, got one class"):
        NetworkClassifier().fit(X, np.zeros(200))
    with pytest.raises(InvalidParameter, match="Unknown label type"):
        NetworkClassifier().fit(X, Y[:, 0])
    with pytest.raises(InvalidParameter, match="at least 10 rows to train on, got 9"):
        NetworkClassifier().fit(X[:12], [*range(10), 0, 1])


PROGRAM = """
import pickle, sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
import numpy as np
import sublevel as sl
from sublevel.models.nets import NetworkRegressor
try:
    NetworkRegressor().fit(np.ones((9, 1)), np.ones(9))
except sl.errors.MissingExtra as error:
    print(error)
with open(sys.argv[1], "rb") as file:
    print(pickle.load(file).predict(np.ones((1, 3))))
"""


def test_without_torch_the_install_command_is_told_and_prediction_works(tmp_path):
    network = NetworkRegressor(random_state=0).fit(X, np.full(200, 7.0))
    path = tmp_path / "network.pkl"
    path.write_bytes(pickle.dumps(network))
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    told, predicted = finished.stdout.strip().splitlines()
    assert "pip install 'sublevel[torch]'" in told
    assert predicted == "[7.]"


def test_importing_networks_does_not_import_torch():
    program = "import sys, sublevel.models.nets; print('torch' in sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "False"
