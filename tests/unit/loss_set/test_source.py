"""What gives sets at contexts: the written protocol, and who satisfies it."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.loss_set import Batch, SetSource, certificate_of, mark_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X + 0.1 * RNG.normal(size=(60, 2))


@pytest.fixture
def sets():
    return sl.LossSet(LinearRegression()).fit(X[:30], Y[:30])


def test_a_loss_set_is_a_source_once_calibrated(sets):
    assert not isinstance(sets, SetSource)
    assert isinstance(sets.calibrate(X[30:], Y[30:]), SetSource)
    assert isinstance(sets.predict_set(X), Batch)


def test_a_set_value_and_an_unfitted_loss_set_are_none():
    assert not isinstance(sl.sets.Box([0.0], [1.0]), SetSource)
    assert not isinstance(sl.LossSet(LinearRegression()), SetSource)


def test_what_is_promised_is_none_until_calibrated(sets):
    assert certificate_of(sets) is None
    sets.calibrate(X[30:], Y[30:], alpha=0.2)
    assert certificate_of(sets) is sets.certificate_
    assert sets.certificate_.budget == sets.budget_
    assert certificate_of(sets.fit(X[:30], Y[:30])) is None


def test_the_rows_that_were_used_are_marked(sets):
    assert np.array_equal(sets.training_marks, mark_rows(X[:30], Y[:30]))
    assert sets.calibration_marks is None
    sets.calibrate(X[30:], Y[30:])
    assert np.array_equal(sets.calibration_marks, mark_rows(X[30:], Y[30:]))


@pytest.mark.parametrize("name", ["training_marks", "calibration_marks", "losses_"])
def test_what_is_read_only_stays_as_it_is(sets, name):
    with pytest.raises(AttributeError):
        setattr(sets, name, None)


def test_a_model_that_arrived_fitted_has_no_training_marks():
    assert sl.LossSet(lambda X: X).fit(X, Y).training_marks is None
