"""Models of many kinds, the shapes they give, and what they are told when wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

from sublevel import ModelBlocks, Prediction, SharedModel
from sublevel.errors import InvalidParameter, UnseenClass
from sublevel.predictions import (
    JointPrediction,
    LabelPrediction,
    Labels,
    Numbers,
    Outcomes,
    column_names,
    count_rows,
    outcomes_of,
    predict,
    predict_point,
    take_rows,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ RNG.normal(size=(3, 2)) + 0.1 * RNG.normal(size=(60, 2))


def test_one_output_becomes_one_column():
    model = LinearRegression().fit(X, Y[:, 0])
    assert predict(model, X, "location").location.shape == (60, 1)


def test_spread_is_that_of_the_model():
    model = BayesianRidge().fit(X, Y[:, 0])
    said = predict(model, X, "spread")
    location, scale = model.predict(X, return_std=True)
    assert np.array_equal(said.location[:, 0], location)
    assert np.array_equal(said.scale[:, 0], scale)


def test_blocks_stand_in_the_order_of_the_columns():
    model = ModelBlocks([LinearRegression(), BayesianRidge()]).fit(X, Y)
    said = predict(model, X, "location").location
    for column in range(2):
        alone = LinearRegression().fit(X, Y[:, column]).predict(X)
        assert said[:, column] == pytest.approx(alone, abs=0.05)


def test_shared_model_sees_each_components_own_covariates():
    cube = RNG.normal(size=(40, 5, 2))
    weights = np.array([2.0, -1.0])
    shared = SharedModel(LinearRegression()).fit(cube, cube @ weights)
    assert shared.model_.coef_ == pytest.approx(weights)
    assert shared.predict(cube[:3]) == pytest.approx(cube[:3] @ weights)
    spread = SharedModel(BayesianRidge()).fit(cube, cube @ weights)
    assert predict(spread, cube, "spread").scale.shape == (40, 5)


def test_shared_classifier_has_a_block_a_component():
    cube = RNG.normal(size=(80, 3, 2))
    labels = np.where(cube.sum(axis=2) > 0, "up", "down")
    shared = SharedModel(LogisticRegression()).fit(cube, labels)
    said = predict(shared, cube, "labels")
    assert [block.shape for block in said.probabilities] == [(80, 2)] * 3
    blocks = outcomes_of(shared, said).blocks
    assert [block.classes.tolist() for block in blocks] == [["down", "up"]] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SharedModel(LinearRegression()).fit(X, Y), "shape \\(n, m, p\\)"),
        (
            lambda: SharedModel(LinearRegression()).fit(np.ones((4, 2, 3)), Y[:4, :1]),
            "one outcome for each component",
        ),
        (
            lambda: ModelBlocks([LinearRegression()] * 3).fit(X, Y),
            "sum to 2, got \\[1, 1, 1\\]",
        ),
        (
            lambda: predict(lambda x: x[:-1], X, "location"),
            "shape \\(60, m\\) for 60 rows",
        ),
        (
            lambda: predict(lambda x: (x, 0 * x), X, "spread"),
            "positive spreads.*row 0",
        ),
        (
            lambda: predict(lambda x: (x, x[:, :1] ** 2 + 1), X, "spread"),
            "one spread a component",
        ),
        (lambda: predict(lambda x: x, X, "spread"), "must return a pair"),
        (lambda: predict(lambda x: x, X, "labels"), "sum to 1"),
        (
            lambda: predict(lambda x: Prediction(x), X, "labels"),
            "needs labels.*returned a Prediction",
        ),
        (lambda: predict(lambda x: x, X, ("location", "labels")), "as many models"),
        (lambda: count_rows(3.0), "must have rows"),
    ],
)
def test_every_wrong_turn_is_told(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_outcomes_mix_numbers_and_labels():
    outcomes = Outcomes((Numbers(2), Labels(np.array(["a", "b"]))))
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4], "kind": ["b", "a"]})
    vectors = outcomes.encode(frame)
    assert vectors.tolist() == [[1, 3, 0, 1], [2, 4, 1, 0]]
    rows = frame.to_numpy().tolist()
    assert outcomes.encode(rows).tolist() == vectors.tolist()
    assert outcomes.names(column_names(frame)) == ("x", "y", "kind=a", "kind=b")


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True]),
        np.array([1.0, 0.0, 1.0]),
        pd.Series([1, 0, 1], dtype="category"),
        [1, 0, 1],
    ],
)
def test_labels_of_any_type(labels):
    outcomes = Outcomes((Labels(np.unique(np.asarray(labels))),))
    assert outcomes.encode(labels).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_unseen_class_names_class_row_and_way_out():
    outcomes = Outcomes((Labels(np.array(["a", "b"])),))
    with pytest.raises(UnseenClass, match=r"'c' in row 1.*\['a', 'b'\].*drop"):
        outcomes.encode(["a", "c"])


def test_three_dimensional_outcomes_are_refused():
    with pytest.raises(InvalidParameter, match="shape"):
        Outcomes((Numbers(1),)).encode(np.ones((2, 2, 2)))


def test_point_predictions_in_the_words_of_the_outcome():
    labels = np.where(X[:, 0] > 0, "up", "down")
    mixed = ModelBlocks([LinearRegression(), LogisticRegression()])
    outcome = pd.DataFrame({"y": Y[:, 0], "label": labels})
    mixed.fit(X, outcome)
    point = predict_point(mixed, X, ("location", "labels"))
    assert point.shape == (60, 2)
    assert (point[:, 1] == labels).mean() > 0.9
    assert point[:, 0].astype(float) == pytest.approx(Y[:, 0], abs=0.5)


def test_predictions_index_like_sequences():
    joint = JointPrediction(
        (Prediction(Y, np.abs(Y)), LabelPrediction(margins=(X[:, :2],)))
    )
    assert len(joint) == 60
    assert joint[3].parts[0].scale == pytest.approx(np.abs(Y[3]))
    assert joint[:5].point.shape == (5, 4)
    assert joint.width == 4


def test_rows_of_every_container():
    assert take_rows(pd.DataFrame(X), [1]).shape == (1, 3)
    assert take_rows(scipy.sparse.csr_matrix(X), [1, 2]).shape == (2, 3)
    assert take_rows(X.tolist(), [0]).tolist() == X[:1].tolist()
    assert count_rows(pd.DataFrame(X)) == count_rows(X.tolist()) == 60
