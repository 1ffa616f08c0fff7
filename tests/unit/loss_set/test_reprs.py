"""Calibrated sets and their batches say what matters in a line, and in a table."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sublevel import LossSet
from sublevel.guarantees import CVPlus, Mondrian


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    X[:, 0] = X[:, 0] > 0
    return X, X + rng.normal(size=(120, 2))


def test_a_calibrated_loss_set_says_what_is_promised(data):
    X, Y = data
    sets = LossSet(LinearRegression()).fit(X[:60], Y[:60])
    assert "budget" not in repr(sets)
    assert repr(sets.calibrate(X[60:], Y[60:], alpha=0.2)) == (
        "LossSet(model LinearRegression, loss Squared, budget "
        f"{sets.budget_:.4g}, alpha 0.2, promise Marginal from 60 scores)"
    )
    html = sets._repr_mimebundle_()["text/html"]
    assert html.startswith("<table><caption>LossSet</caption>")
    assert "Marginal from 60 scores" in html


def test_budgets_of_groups_are_not_listed(data):
    X, Y = data
    sets = LossSet(lambda X: X).calibrate(X, Y, guarantee=Mondrian(groups=0))
    low, high = sorted(sets.budget_.values())
    assert f"budget {low:.4g} to {high:.4g} in 2 groups" in repr(sets)


def test_a_batch_names_its_components_in_a_table(data):
    X, Y = data
    sets = LossSet(LinearRegression())
    batch = sets.calibrate(X, Y, guarantee=CVPlus(3)).predict_set(X[:4])
    assert "unions of 3 folds, Squared, budget" in batch._repr_html_()
    assert "<td>y0, y1</td>" in batch._repr_html_()


def test_a_certificate_is_one_line_and_a_table(data):
    X, Y = data
    certificate = LossSet(lambda X: X).calibrate(X, Y, alpha=0.2).certificate_
    assert repr(certificate) == (
        f"Certificate(Marginal, alpha 0.2, budget {certificate.budget:.6g}, 120 scores)"
    )
    assert "what is random" in certificate._repr_html_()
