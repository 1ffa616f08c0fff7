"""Exact values worked by hand, edges of the domain, and every error once."""

import numpy as np
import pytest

from sublevel import Prediction, losses, sets
from sublevel.errors import InvalidParameter
from sublevel.predictions import JointPrediction, LabelPrediction

TWO = np.zeros(2)
E = np.e


@pytest.mark.parametrize(
    ("loss", "prediction", "outcome", "components"),
    [
        (losses.Squared(weights=(4, 1)), TWO, [2, 3], [1, 9]),
        (losses.Mahalanobis([[4, 0], [0, 1]]), TWO, [2, 3], [1, 9]),
        (losses.Absolute(weights=(2, 1)), TWO, [-2, 3], [1, 3]),
        (losses.Huber(1.0), TWO, [1, -3], [0.5, 2.5]),
        (losses.Gaussian(), Prediction(TWO, np.array([1, 2])), [1, 4], [1, 4]),
        (losses.NLL(), Prediction(TWO, np.array([1, E])), [1, E], [1, 3]),
        (losses.Pinball(0.9), TWO, [10, -10], [9, 1]),
        (losses.EpsilonInsensitive(0.5), TWO, [0.5, -2], [0, 1.5]),
        (losses.LogCosh(), TWO, [0, 800], [0, 800 - np.log(2)]),
        (losses.Poisson(), np.array([1.0, 2.0]), [E, 0], [2, 4]),
        (losses.Gamma(), np.array([1.0, 2.0]), [E, 2], [2 * (E - 2), 0]),
    ],
)
def test_components(loss, prediction, outcome, components):
    found = loss.components(prediction, np.array(outcome, dtype=float))
    assert found == pytest.approx(np.array(components, dtype=float), abs=1e-12)


def test_label_costs():
    said = LabelPrediction((np.array([0.5, 0.25, 0.25]),))
    assert losses.CrossEntropy().costs(said)[0] == pytest.approx(np.log([2, 4, 4]))
    assert losses.Hinge().costs(said)[0].tolist() == [1.0, 1.5, 1.5]
    assert losses.ZeroOne().costs(said)[0].tolist() == [0.0, 1.0, 1.0]
    impossible = LabelPrediction((np.array([1.0, 0.0]),))
    assert losses.CrossEntropy().costs(impossible)[0][1] == -np.log(1e-12)


def test_hinge_of_margins():
    """Two classes, decision value 1.5: a sure label costs 0, the other 1 + 1.5."""
    said = LabelPrediction(margins=(np.array([-0.75, 0.75]),))
    assert losses.Hinge().costs(said)[0].tolist() == [2.5, 0.0]
    three = LabelPrediction(margins=(np.array([2.0, 0.5, -1.0]),))
    assert losses.Hinge().costs(three)[0].tolist() == [0.0, 2.5, 4.0]


def test_hinge_is_twice_the_distance_only_at_labels():
    """2 |p - y| for y in {0, 1}; the same as the variation distance of the laws."""
    for p in (0.1, 0.5, 0.8):
        costs = losses.Hinge().costs(LabelPrediction((np.array([1 - p, p]),)))[0]
        assert costs == pytest.approx([2 * p, 2 * (1 - p)])


def test_outcomes_outside_the_domain_cost_everything():
    assert losses.Poisson().score(np.array([1.0]), np.array([-0.1])) == np.inf
    assert losses.Gamma().score(np.array([1.0]), np.array([0.0])) == np.inf
    assert losses.Gamma().score(np.array([1.0]), np.array([-1.0])) == np.inf


def test_poisson_worst_case_stops_at_zero():
    """With enough budget, pushing all counts down ends at zero."""
    worst = losses.Poisson().worst_case(np.array([1.0, 2.0]), 10.0, np.array([-1, -1]))
    assert worst == pytest.approx([0, 0], abs=1e-20)


def test_kendall_weights_cancel_the_factor_of_classification():
    """loss_b / E loss_b: each block contributes one on average."""
    rng = np.random.default_rng(0)
    outcome = np.column_stack([rng.normal(size=200), 3 * rng.normal(size=200)])
    said = JointPrediction(
        (Prediction(np.zeros((200, 1))), Prediction(np.zeros((200, 1))))
    )
    learned = losses.Combined(["squared", "absolute"]).learn(said, outcome)
    assert learned.components(said, outcome).mean(axis=0) == pytest.approx([1, 1])
    kept = losses.Combined(["squared", "absolute"], (2, 3)).learn(said, outcome)
    assert kept.weights == (2, 3)


def test_mahalanobis_learns_second_moments():
    rng = np.random.default_rng(0)
    truth = np.array([[2.0, 1.0], [1.0, 1.0]])
    residual = rng.multivariate_normal([0, 0], truth, size=20_000)
    learned = losses.Mahalanobis().learn(Prediction(0 * residual), residual)
    assert np.array(learned.covariance) == pytest.approx(truth, abs=0.1)
    assert learned.learn(Prediction(0 * residual), 5 * residual) is learned


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Squared(weights=(1, 0)), "must be positive, got 0"),
        (lambda: losses.Squared(weights=(1, np.nan)), "finite"),
        (lambda: losses.Squared(weights=(1,)).components(TWO, TWO), "each of the 2"),
        (lambda: losses.Squared(weights=(1,)).check(Prediction(TWO)), "each of the 2"),
        (lambda: losses.Huber(0), "positive number, got 0"),
        (lambda: losses.Pinball(1), "strictly between 0 and 1"),
        (lambda: losses.EpsilonInsensitive(-1), "at least 0"),
        (lambda: losses.EpsilonInsensitive(np.inf), "finite"),
        (lambda: losses.Mahalanobis([[1, 2], [2, 1]]), "positive definite"),
        (lambda: losses.Mahalanobis([[1, 2], [0, 1]]), "symmetric"),
        (lambda: losses.Mahalanobis([[1e-9, 5e-10], [0, 1e-9]]), "symmetric"),
        (lambda: losses.Mahalanobis().components(TWO, TWO), "is learned"),
        (lambda: losses.Mahalanobis([[1]]).check(Prediction(TWO)), "is 1 wide"),
        (lambda: losses.Combined([]), "non-empty"),
        (lambda: losses.Combined([losses.Combined(["squared"])]), "none of them"),
        (lambda: losses.Combined(["squared"], (0,)), "positive, got 0"),
        (lambda: losses.Combined(["squared"], (1, 2)), "shape"),
        (lambda: losses.Custom(3), "callable"),
        (
            lambda: losses.CrossEntropy().check(LabelPrediction(margins=(TWO,))),
            "predict_proba",
        ),
        (lambda: losses.Poisson().check(Prediction(TWO)), "positive predictions"),
        (lambda: losses.Gamma().check(Prediction(-1 - TWO)), "positive predictions"),
    ],
)
def test_every_error_once(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_combined_refuses_losses_of_negative_mean():
    said = JointPrediction((Prediction(np.zeros((5, 1)), np.full((5, 1), 0.01)),))
    with pytest.raises(InvalidParameter, match="Gaussian in place of NLL"):
        losses.Combined(["nll"]).learn(said, np.zeros((5, 1)))


def test_losses_are_values():
    assert losses.Huber(2.0) == losses.Huber(2.0) != losses.Huber(1.0)
    assert hash(losses.Squared(weights=[1, 2])) == hash(losses.Squared(weights=(1, 2)))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_corners_of_the_insensitive_box_are_in_it(unit):
    """At a budget of 0 nothing but rounding separates them from it."""
    location = unit * np.array([-1.894, -0.404, -1.702])
    loss = losses.EpsilonInsensitive(0.44 * unit)
    box = sets.Sublevel(loss, location, 0.0)
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        worst = box.worst_case(direction)
        assert box.contains(worst)
        assert not box.contains(worst + 1e-12 * unit * direction)
    assert not box.contains([np.inf, 0.0, 0.0])
