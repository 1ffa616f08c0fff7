"""What bounds of a constraint share, and what their certificates say of it."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.guarantees import (
    Certificate,
    ComponentBound,
    Guarantee,
    Marginal,
    Mondrian,
    PaperFirst,
    PaperLLN,
    TheoremA,
    TheoremA1,
    TheoremA3,
)

BOUNDS = [
    PaperLLN(),
    PaperFirst(),
    TheoremA(kappa=1.0, bias=0.0, spread=1.0),
    TheoremA1(kappa=1.0, total=3.0, largest=1.0),
    TheoremA3(kappa=1.0, cap=1.0),
]


@pytest.fixture(scope="module")
def losses():
    return np.random.default_rng(0).random((60, 3))


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_it_is_called_like_every_guarantee(bound, losses):
    assert isinstance(bound, Guarantee)
    assert isinstance(bound, ComponentBound)
    assert bound.by_component
    assert sl.guarantees.get(bound) is bound
    calibration = bound.calibrate(losses, 0.1, X=np.zeros((60, 1)))
    assert calibration.at(None, 2) == pytest.approx([calibration.budget] * 2)
    promised = bound.promise(losses, calibration.budget, X=np.zeros((60, 1)))
    assert promised.alpha <= 0.1 + 1e-9


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_certificates_speak_of_a_constraint_and_not_of_the_outcome(bound, losses):
    certificate = bound.calibrate(losses, 0.1).certificate
    assert certificate.event == "a constraint kept on the whole set is violated"
    text = str(certificate)
    assert "leaves its set with" not in text
    assert max(map(len, text.splitlines())) <= 88
    with pytest.raises(InvalidParameter, match="order statistic of independent scores"):
        certificate.violation_interval()


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_budgets_that_are_no_numbers_are_refused(bound, losses):
    with pytest.raises(
        InvalidParameter, match=r"promise\(budget=...\) must be a number"
    ):
        bound.promise(losses, "much")


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_totals_are_not_taken_for_components(bound):
    # LossSet hands every guarantee the sums over components; these need the losses.
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 2)), rng.normal(size=(200, 3))
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    handed = sets.scores(X[100:], Y[100:])
    with pytest.raises(InvalidParameter, match="must be the losses by component"):
        bound.calibrate(handed, 0.1)


def test_losses_of_a_fitted_set_by_hand():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 2)), rng.normal(size=(400, 3))
    sets = sl.LossSet(LinearRegression()).fit(X[:200], Y[:200])
    predicted = sets.model_.predict(X[200:])
    losses = sl.losses.Squared().components(predicted, Y[200:])
    assert losses.sum(axis=1) == pytest.approx(sets.scores(X[200:], Y[200:]))
    budget = TheoremA(kappa=1.0, bias=0.5, spread=1.2).calibrate(losses, 0.1).budget
    batch = sets.predict_set(X[:2], budget=budget)
    assert batch[0].support([1.0, 0.0, 0.0]) > predicted.max()


def test_mondrian_does_not_take_them():
    with pytest.raises(InvalidParameter, match="must be Marginal or PAC"):
        Mondrian(0, PaperLLN())


def test_old_certificates_can_still_be_read():
    certificate = Marginal().calibrate(range(1, 20), 0.1).certificate
    values = certificate.to_dict()
    del values["event"], values["holds"]
    assert Certificate.from_dict(values) == certificate


def test_no_calibration_scores_are_not_counted():
    certificate = Marginal().calibrate(range(1, 20), 0.1).certificate
    none = {**certificate.to_dict(), "sample_size": 0, "rank": None}
    assert "calibration scores" not in str(Certificate.from_dict(none))
