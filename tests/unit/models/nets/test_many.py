"""Networks trained together are the networks trained alone."""

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("torch")

from sublevel.errors import InvalidParameter, UnseenClass
from sublevel.models.nets import (
    GaussianNetworkRegressor,
    NetworkClassifier,
    NetworkRegressor,
    SimplexOracle,
    SPOPlusRegressor,
    fit_many,
)

B, N, P = 6, 150, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(B, N, P))
Y = np.abs(X[..., 0]) + 0.3 * RNG.normal(size=(B, N))
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [0.5, 1.0])]
COSTS = np.stack([Y, 1.5 - Y, X[..., 1]], axis=2)

CASES = {
    "squared": (NetworkRegressor(), Y),
    "several outputs": (NetworkRegressor(), COSTS),
    "warm-up": (GaussianNetworkRegressor(), Y),
    "joint": (GaussianNetworkRegressor(training="joint", beta=0.5), COSTS),
    "separate": (GaussianNetworkRegressor(training="separate"), Y),
    "classes": (NetworkClassifier(), LABELS),
    "two classes": (NetworkClassifier(), LABELS == "low"),
    "decisions": (SPOPlusRegressor(SimplexOracle(), max_epochs=30), COSTS),
}


def numbers_of(network, rows):
    """What the network says, as numbers."""
    if isinstance(network, NetworkClassifier):
        return network.predict_proba(rows)
    if isinstance(network, GaussianNetworkRegressor):
        return np.stack(network.predict(rows, return_std=True))
    return network.predict(rows)


@pytest.mark.parametrize("name", CASES)
def test_together_or_alone_is_the_same(name):
    estimator, outcomes = CASES[name]
    networks = fit_many(estimator.set_params(random_state=3), X, outcomes)
    for i in (0, 4):
        alone = clone(networks[i]).fit(X[i], outcomes[i])
        np.testing.assert_allclose(
            numbers_of(alone, X[i]), numbers_of(networks[i], X[i]), rtol=1e-5, atol=1e-6
        )
        assert alone.n_epochs_ == networks.n_epochs[i]
    # Networks with other seeds and data do differ.
    assert not np.allclose(networks[0].coefs_[0], networks[4].coefs_[0])


@pytest.mark.parametrize("name", CASES)
def test_stacked_predictions_are_those_of_the_members(name):
    estimator, outcomes = CASES[name]
    networks = fit_many(estimator.set_params(random_state=3), X, outcomes)
    new = X[0, :10]
    for rows, own in ((new, [new] * B), (X[:, :10], X[:, :10])):
        expected = [
            network.predict(x) for network, x in zip(networks, own, strict=True)
        ]
        np.testing.assert_array_equal(networks.predict(rows), np.stack(expected))


def test_spreads_and_probabilities_are_stacked_too():
    spreads = fit_many(GaussianNetworkRegressor(random_state=0), X, COSTS)
    mean, std = spreads.predict(X[0], return_std=True)
    assert mean.shape == std.shape == (B, N, 3)
    np.testing.assert_array_equal(std[2], spreads[2].predict(X[0], return_std=True)[1])
    chances = fit_many(NetworkClassifier(random_state=0), X, LABELS)
    found = chances.predict_proba(X[0])
    np.testing.assert_array_equal(found[2], chances[2].predict_proba(X[0]))


def test_shared_covariates_are_as_good_as_copies():
    shared = fit_many(NetworkRegressor(random_state=0), X[0], Y)
    copies = fit_many(NetworkRegressor(random_state=0), np.stack([X[0]] * B), Y)
    np.testing.assert_allclose(shared.predict(X[0]), copies.predict(X[0]), atol=1e-6)


def test_components_with_their_own_covariates():
    rng = np.random.default_rng(0)
    own = rng.normal(size=(2, 100, 3, 2))
    costs = np.abs(own[..., 0])
    estimator = SPOPlusRegressor(SimplexOracle(), random_state=0, max_epochs=30)
    networks = fit_many(estimator, own, costs)
    assert networks.predict(own[0]).shape == (2, 100, 3)
    np.testing.assert_array_equal(networks.predict(own)[1], networks[1].predict(own[1]))
    shared = fit_many(estimator, own[0], costs[:1])
    np.testing.assert_allclose(shared[0].predict(own[0]), networks[0].predict(own[0]))


def test_an_ensemble_is_a_sequence_of_estimators():
    networks = fit_many(NetworkRegressor(), X, Y, random_states=range(10, 10 + B))
    assert len(networks) == B == len(list(networks))
    assert networks[-1].random_state == 15
    assert [network.random_state for network in networks[1:3]] == [11, 12]
    assert networks[0].n_features_in_ == P
    assert networks[0].score(X[0], Y[0]) > 0.5
    with pytest.raises(IndexError):
        networks[B]


def test_the_same_random_state_gives_identical_networks():
    first, second = (
        fit_many(NetworkRegressor(random_state=4), X, Y).predict(X[0]) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_the_template_is_left_alone():
    template = NetworkRegressor(random_state=0)
    fit_many(template, X, Y)
    assert not hasattr(template, "coefs_")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": object()}, "must be a network estimator"),
        ({"X": np.where(X > 2, np.nan, X)}, r"X=...\) must be finite, got nan at"),
        ({"X": X[:, :-1]}, r"shape \(N, p\) or \(B, N, p\) for Y of shape \(6, 150\)"),
        ({"X": "words"}, "must be numeric"),
        ({"Y": Y[0]}, r"shape \(B, N\) or \(B, N, m\), got shape \(150,\)"),
        ({"Y": np.full_like(Y, np.inf)}, r"Y=...\) must be finite"),
        ({"X": X[:, :3], "Y": Y[:, :3]}, "at least 4 rows a network, got 3"),
        ({"random_states": [1, 2]}, "must be 6 integers of at least 0"),
        ({"random_states": [-1] * 6}, "must be 6 integers of at least 0"),
        ({"X": 1e200 * X}, "squares overflow"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        fit_many(**{"estimator": NetworkRegressor(), "X": X, "Y": Y, **arguments})


def test_a_class_that_one_network_never_sees_is_named():
    labels = LABELS.copy()
    labels[2] = np.where(labels[2] == "high", "low", labels[2])
    with pytest.raises(UnseenClass, match=r"class .*'high'.* for network 2"):
        fit_many(NetworkClassifier(), X, labels)


def test_what_an_ensemble_cannot_predict():
    networks = fit_many(NetworkRegressor(random_state=0), X, Y)
    with pytest.raises(InvalidParameter, match="these are NetworkRegressor"):
        networks.predict(X[0], return_std=True)
    with pytest.raises(InvalidParameter, match="predict_proba needs networks"):
        networks.predict_proba(X[0])
    for wrong in (X[0, :, :2], X[:3], X[0, 0]):
        with pytest.raises(InvalidParameter, match=r"\(n, p\) or \(B, n, p\) with p=3"):
            networks.predict(wrong)
