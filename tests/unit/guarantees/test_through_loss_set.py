"""Guarantees that look at the components' losses, through LossSet.calibrate."""

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
