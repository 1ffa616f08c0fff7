"""What guarantees ask of LossSet.calibrate: components, folds, contexts."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import InvalidParameter


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, X + rng.uniform(-1, 1, size=(600, 3))


def test_the_paper_bound_calibrates_on_component_losses(data):
    X, Y = data
    sets = sl.LossSet(LinearRegression()).fit(X[:300], Y[:300])
    promise = sl.guarantees.PaperLLN()
    sets.calibrate(X[300:], Y[300:], alpha=0.1, guarantee=promise)
    losses = (Y[300:] - sets.model_.predict(X[300:])) ** 2
    assert sets.radius_ == pytest.approx(promise.radius(losses, 0.1))
    assert sets.certificate_.heuristic


def test_only_squared_losses_have_components_to_show(data):
    X, Y = data
    sets = sl.LossSet(LinearRegression(), loss="absolute").fit(X[:300], Y[:300])
    with pytest.raises(InvalidParameter, match="squared or the gaussian"):
        sets.calibrate(X[300:], Y[300:], guarantee=sl.guarantees.PaperLLN())


def test_overlapping_groups_have_the_largest_of_their_budgets(data):
    X, Y = data
    Y = np.where(X[:, :1] > 1, 3 * Y, Y)
    sets = sl.LossSet(LinearRegression()).fit(X[:300], Y[:300])
    groups = {"all": lambda X: X[:, 0] > -9, "high": lambda X: X[:, 0] > 1}
    sets.calibrate(X[300:], Y[300:], guarantee=sl.guarantees.Mondrian(groups))
    high = X[300:, 0] > 1
    marginal = sl.guarantees.Marginal()
    assert sets.budget_ == {
        "all": marginal.calibrate(sets.scores_, 0.1).budget,
        "high": marginal.calibrate(sets.scores_[high], 0.1).budget,
    }
    assert sets.budget_["high"] > sets.budget_["all"]
    assert sets.radius_["high"] == pytest.approx(np.sqrt(sets.budget_["high"]))
    budgets = sets.predict_set(X[300:]).budgets
    np.testing.assert_array_equal(
        budgets, np.where(high, sets.budget_["high"], sets.budget_["all"])
    )


class TwoFolds:
    """A third party's guarantee that wants scores out of two folds."""

    def count_folds(self, sample_size):
        return 2

    def calibrate(self, scores, alpha, X=None):
        return sl.guarantees.Marginal().calibrate(scores, alpha)

    def promise(self, scores, budget, X=None):
        return sl.guarantees.Marginal().promise(scores, budget)

    def minimum_sample_size(self, alpha):
        return sl.guarantees.Marginal().minimum_sample_size(alpha)


def test_folds_are_made_for_whoever_asks(data):
    X, Y = data
    sets = sl.LossSet(LinearRegression()).calibrate(X, Y, guarantee=TwoFolds())
    assert len(sets.losses_) == 2
    fitted = sl.LossSet(LinearRegression().fit(X, Y))
    with pytest.raises(InvalidParameter, match="TwoFolds trains the model once a fold"):
        fitted.calibrate(X, Y, guarantee=TwoFolds())
