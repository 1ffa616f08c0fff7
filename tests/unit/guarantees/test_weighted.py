"""Weighted: budgets by hand, by brute force, and equal to Marginal at equal weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import Marginal, Weighted


def column(X):
    return X[:, 0]


def brute_force(scores, weights, own, alpha):
    """The definition, candidate by candidate."""
    for budget in np.sort(scores):
        if weights[scores <= budget].sum() >= (1 - alpha) * (weights.sum() + own):
            return budget
    return np.inf


def test_budgets_by_hand():
    # Weights 1, 1, 2 at scores 1, 2, 3; level 1/2: reach half of 4 + w.
    X = np.array([[1.0], [1.0], [2.0]])
    calibration = Weighted(column).calibrate([1.0, 2.0, 3.0], 0.5, X)
    contexts = np.array([[0.0], [0.1], [4.0], [4.1]])
    np.testing.assert_array_equal(calibration.at(contexts, 4), [2.0, 3.0, 3.0, np.inf])
    assert calibration.budget == 3.0


def test_budgets_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    for alpha in (0.1, 0.2, 0.5):
        scores = rng.integers(8, size=30).astype(float)
        weights, own = rng.exponential(size=30), 4 * rng.exponential(size=50)
        calibration = Weighted(column).calibrate(scores, alpha, weights[:, None])
        expected = [brute_force(scores, weights, each, alpha) for each in own]
        np.testing.assert_array_equal(calibration.at(own[:, None], 50), expected)


@given(
    st.integers(1, 300),
    st.integers(1, 99),
    st.sampled_from([1.0, 0.1, 3.0, 1e-9, 1 / 3]),
)
def test_equal_weights_are_marginal(size, percent, weight):
    alpha = percent / 100
    if size < Marginal().minimum_sample_size(alpha):
        return
    scores, X = np.arange(size), np.full((size, 1), weight)
    weighted = Weighted(column).calibrate(scores, alpha, X)
    expected = Marginal().calibrate(scores, alpha).budget
    assert weighted.budget == expected
    assert weighted.at(X[:1], 1) == [expected]


@pytest.mark.parametrize("size", [9, 99, 999, 99_999])
@pytest.mark.parametrize("weight", [0.1, 0.7])
def test_equal_weights_are_marginal_at_the_boundary(size, weight):
    scores, X = np.arange(size), np.full((size, 1), weight)
    calibration = Weighted(column).calibrate(scores, 0.1, X)
    assert calibration.budget == Marginal().calibrate(scores, 0.1).budget


def test_a_common_factor_cancels():
    rng = np.random.default_rng(3)
    scores, X = rng.exponential(size=200), rng.exponential(size=(200, 1))
    one = Weighted(column).calibrate(scores, 0.1, X)
    other = Weighted(lambda X: 8 * X[:, 0]).calibrate(scores, 0.1, X)
    np.testing.assert_array_equal(one.at(X, 200), other.at(X, 200))


def test_a_heavier_context_never_has_a_smaller_budget():
    rng = np.random.default_rng(4)
    scores, X = rng.exponential(size=200), rng.exponential(size=(200, 1))
    own = np.linspace(0, 60, 500)[:, None]
    budgets = Weighted(column).calibrate(scores, 0.1, X).at(own, 500)
    assert (budgets[1:] >= budgets[:-1]).all()
    assert budgets[-1] == np.inf


def test_too_little_weight_is_infinite_and_says_where():
    X = np.ones((4, 1))
    message = r"Weighted\(alpha=0.1\): the budget is infinite .* exceeds 0.444444"
    with pytest.warns(InfiniteBudget, match=message) as record:
        calibration = Weighted(column).calibrate(np.arange(4), 0.1, X)
    assert record[0].filename == __file__
    assert calibration.budget == np.inf
    np.testing.assert_array_equal(
        calibration.at(np.array([[0.44], [0.45]]), 2), [3.0, np.inf]
    )


def test_certificate():
    X = np.array([[1.0]] * 10 + [[3.0]] * 10)
    certificate = Weighted(column).calibrate(np.arange(20), 0.2, X).certificate
    assert certificate.guarantee == "Weighted"
    assert (certificate.alpha, certificate.confidence) == (0.2, None)
    assert (certificate.sample_size, certificate.minimum_sample_size) == (20, 4)
    assert certificate.rank is None
    # (10 + 30)^2 / (10 + 90) and 40 * 0.2 / 0.8
    assert "Effective sample size 16.0 of 20" in certificate.note
    assert "density ratio is <= 10." in certificate.note


def test_promise_by_hand():
    # At weight 1: 1 - 2/5; at weight 2: 1 - 2/6; averaged with weights 1, 1, 2.
    X = np.array([[1.0], [1.0], [2.0]])
    weighted = Weighted(column)
    certificate = weighted.promise([1.0, 2.0, 3.0], 2.0, X)
    assert certificate.alpha == pytest.approx((2 * 0.6 + 2 * 2 / 3) / 4)
    # Scores up to 2 have weight 2 of 4; a context of weight 0, 1 or 4 adds its own.
    deployment = np.array([[0.0], [1.0], [4.0]])
    certificate = weighted.promise([1.0, 2.0, 3.0], 2.0, X, deployment)
    assert certificate.alpha == pytest.approx((1 / 2 + 3 / 5 + 3 / 4) / 3)


@pytest.mark.parametrize("deployment", [None, np.ones((7, 1))])
def test_promise_with_equal_weights_is_marginal(deployment):
    scores, X = np.arange(50), np.ones((50, 1))
    certificate = Weighted(column).promise(scores, 41, X, deployment)
    assert certificate.alpha == pytest.approx(Marginal().promise(scores, 41).alpha)


def test_promise_says_whether_a_theorem_backs_it():
    scores, X = np.arange(50), np.ones((50, 1))
    proved = Weighted(column).promise(scores, 41, X, deployment=X)
    assert not proved.heuristic
    assert "at least the violation rate" in proved.note
    assert any("deployment contexts given" in rule for rule in proved.assumptions)
    guessed = Weighted(column).promise(scores, 41, X)
    assert guessed.heuristic
    assert "too low, even on average" in guessed.note
    assert "Pass promise(..., deployment=X_deployment)" in guessed.note
    for certificate in (proved, guessed):
        assert "median" not in certificate.note


@pytest.mark.parametrize("budget, alpha", [(np.inf, 0.0), (-1.0, 1.0)])
def test_a_trivial_promise_needs_no_theorem(budget, alpha):
    certificate = Weighted(column).promise(np.arange(50), budget, np.ones((50, 1)))
    assert (certificate.alpha, certificate.heuristic) == (alpha, False)


def test_promise_where_the_calibration_contexts_cannot_stand_in():
    # Contexts are scores: N(0, 1) in calibration, N(3, 1) in deployment.
    rng = np.random.default_rng(5)
    shift = Weighted(lambda X: np.exp(3 * X[:, 0]))
    guessed, proved = [], []
    for _ in range(500):
        X, deployment = rng.normal(size=(100, 1)), rng.normal(3.0, size=(20, 1))
        guessed.append(shift.promise(X[:, 0], 3.5, X))
        proved.append(shift.promise(X[:, 0], 3.5, X, deployment))
    truth = stats.norm.sf(0.5)
    assert np.mean([each.alpha for each in guessed]) < 0.75 * truth
    assert all(each.heuristic for each in guessed if each.alpha < 1)
    assert np.mean([each.alpha for each in proved]) > truth
    assert not any(each.heuristic for each in proved)


@pytest.mark.parametrize("deployment", [np.ones((0, 1)), np.ones((2, 3, 1))])
def test_deployment_contexts_have_one_weight_each(deployment):
    scores, X = np.arange(50), np.ones((50, 1))
    with pytest.raises(
        InvalidParameter, match="each of the deployment rows, got shape"
    ):
        Weighted(column).promise(scores, 41, X, deployment)


def test_the_budget_shown_is_that_of_the_median_weight():
    X = np.array([[1.0]] * 10 + [[2.0]] * 11)
    calibration = Weighted(column).calibrate(np.arange(21), 0.2, X)
    assert calibration.budget == calibration.at(np.array([[2.0]]), 1)
    shown = " ".join(str(calibration.certificate).split())
    assert "budget shown is that of a context of median calibration weight, 2;" in shown


def test_density_ratio_must_be_a_function():
    with pytest.raises(InvalidParameter, match=r"must be a function of X, got 2\.0"):
        Weighted(2.0)
    with pytest.raises(InvalidParameter, match=r"got ndarray of shape \(300,\)\.$"):
        Weighted(np.zeros(300))


def test_contexts_are_needed():
    with pytest.raises(InvalidParameter, match=r"got X=None\. Pass X"):
        Weighted(column).calibrate([1.0, 2.0], 0.5)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_must_be_finite_and_nonnegative(bad):
    X = np.array([[1.0], [bad], [1.0]])
    with pytest.raises(InvalidParameter, match=f"at least 0, got {bad} at row 1"):
        Weighted(column).calibrate([1.0, 2.0, 3.0], 0.5, X)
    calibration = Weighted(column).calibrate([1.0, 2.0, 3.0], 0.5, np.ones((3, 1)))
    with pytest.raises(InvalidParameter, match=f"got {bad} at row 1"):
        calibration.at(X, 3)


def test_weights_may_not_all_be_zero():
    with pytest.raises(InvalidParameter, match="got weights that are all zero"):
        Weighted(column).calibrate([1.0, 2.0], 0.5, np.zeros((2, 1)))


def test_one_weight_for_each_row():
    with pytest.raises(InvalidParameter, match="one weight for each of the 2 rows"):
        Weighted(lambda X: X).calibrate([1.0, 2.0], 0.5, np.ones((2, 1)))
