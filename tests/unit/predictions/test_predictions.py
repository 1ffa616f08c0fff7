"""Models of many kinds, the shapes they give, and what they are told when wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from sublevel import ModelBlocks, Prediction, SharedModel
from sublevel.errors import InvalidParameter, UnseenClass
from sublevel.predictions import (
    JointPrediction,
    LabelPrediction,
    Labels,
    Numbers,
    Outcomes,
    align,
    column_names,
    count_rows,
    outcomes_of,
    predict,
    predict_point,
    split_columns,
    take_rows,
    unseen_components,
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
    with pytest.raises(UnseenClass, match=r"'c' in row 1.*\['a', 'b'\]") as caught:
        outcomes.encode(["a", "c"])
    assert "Train the model on every class" in str(caught.value)
    assert "speak only of the classes known" in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["a", float("nan")], "nan"),
        (pd.Series(["a", None], dtype=object), "None"),
        (pd.Series(["a", pd.NA], dtype="string"), "<NA>"),
    ],
)
def test_a_missing_label_is_missing_and_not_an_unseen_class(labels, shown):
    outcomes = Outcomes((Labels(np.array(["a", "b"])),))
    with pytest.raises(InvalidParameter, match=f"label {shown} in row 1") as caught:
        outcomes.encode(labels)
    assert not isinstance(caught.value, UnseenClass)
    assert "rows whose outcome is observed" in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [[1.0, float("nan")], [1.0, None], pd.Series([1, pd.NA], dtype="Int64")],
)
def test_a_missing_number_is_told_what_dropping_it_means(values):
    with pytest.raises(InvalidParameter, match=r"NaN in row 1.*outcome is observed"):
        Outcomes((Numbers(1),)).encode(values)


def test_the_value_that_is_no_number_is_named():
    with pytest.raises(
        InvalidParameter, match="numeric, got ndarray with words such as 'high'"
    ):
        Outcomes((Numbers(1),)).encode([1.0, "high"])


def test_columns_in_another_order_are_refused():
    outcomes = Outcomes((Numbers(2),), ("demand", "price"))
    frame = pd.DataFrame({"price": [1.0], "demand": [2.0]})
    with pytest.raises(
        InvalidParameter, match=r"\['demand', 'price'\].*got \['price', 'demand'\]"
    ):
        outcomes.encode(frame)
    assert outcomes.encode(frame[["demand", "price"]]).tolist() == [[2.0, 1.0]]
    assert outcomes.encode(frame.to_numpy()).shape == (1, 2)


def test_columns_of_lists_keep_their_types():
    columns = split_columns([[1, "a", 2.5], [2, "b", 3]])
    assert [column.dtype.kind for column in columns] == ["i", "U", "f"]
    for ragged in ([[1, 2], [3]], [[[1], [2]], [[3], [4]]]):
        with pytest.raises(InvalidParameter, match=r"shape \(n,\) or \(n, m\)"):
            split_columns(ragged)


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


# -- classes, part by part -----------------------------------------------------------


CODES = 1 + np.digitize(Y[:, 0], np.quantile(Y[:, 0], [1 / 3, 2 / 3]))


def uniform(n_classes):
    def model(x):
        return np.full((len(x), n_classes), 1 / n_classes)

    return model


def classes_of(model):
    blocks = outcomes_of(model, predict(model, X, "labels")).blocks
    return [block.classes.tolist() for block in blocks]


def test_a_part_without_classes_counts_its_own():
    named = LogisticRegression().fit(X, CODES)
    assert classes_of(ModelBlocks([named, uniform(3)])) == [[1, 2, 3], [0, 1, 2]]
    assert classes_of(ModelBlocks([uniform(2), named])) == [[0, 1], [1, 2, 3]]
    assert classes_of(ModelBlocks([uniform(2), uniform(3)])) == [[0, 1], [0, 1, 2]]


def test_classes_of_models_of_several_labels():
    two = np.column_stack([CODES, CODES > 1])
    several = MultiOutputClassifier(LogisticRegression()).fit(X, two)
    nested = ModelBlocks([several, ModelBlocks([uniform(2)])])
    assert classes_of(nested) == [[1, 2, 3], [0, 1], [0, 1]]

    def pair(x):
        return uniform(2)(x), uniform(3)(x)

    named = LogisticRegression().fit(X, CODES)
    assert classes_of(ModelBlocks([pair, named])) == [[0, 1], [0, 1, 2], [1, 2, 3]]
    unsure = [pair, named, uniform(3)]
    with pytest.raises(InvalidParameter, match=r"how many of the 4 labels"):
        classes_of(ModelBlocks(unsure))
    told = classes_of(ModelBlocks(unsure, widths=[2, 1, 1]))
    assert told == [[0, 1], [0, 1, 2], [1, 2, 3], [0, 1, 2]]


def test_one_classes_attribute_serves_all_components_of_a_shared_model():
    cube = RNG.normal(size=(80, 3, 2))
    labels = np.where(cube.sum(axis=2) > 0, "up", "down")
    inner = LogisticRegression().fit(cube.reshape(240, 2), labels.ravel())
    # The shared model itself was never told that there are three components.
    said = predict(SharedModel(inner), cube, "labels")
    blocks = outcomes_of(SharedModel(inner), said).blocks
    assert [block.classes.tolist() for block in blocks] == [["down", "up"]] * 3

    class Twice:
        classes_ = np.array([1, 2])

        def predict(self, x):
            return x

        def predict_proba(self, x):
            return [np.full((len(x), 2), 0.5)] * 2

    with pytest.raises(InvalidParameter, match="as many classes as its classes_"):
        classes_of(Twice())


# -- margins -------------------------------------------------------------------------


def pairwise(labels):
    return SVC(decision_function_shape="ovo").fit(X, labels)


class Rotated(LinearSVC):
    """Three margins that are not those of the classes, and nothing that says so."""

    def decision_function(self, x):
        return np.roll(super().decision_function(x), 1, axis=1)

    def predict(self, x):
        return self.classes_[np.argmax(super().decision_function(x), axis=1)]


@pytest.mark.parametrize(
    "model",
    [
        pairwise(CODES),
        pairwise(np.arange(60) % 4),
        make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
        GridSearchCV(SVC(decision_function_shape="ovo"), {"C": [1.0]}, cv=2),
        Rotated(),
    ],
    ids=["three", "four", "pipeline", "search", "unnamed"],
)
def test_margins_of_pairs_are_not_margins_of_classes(model):
    ready = model if hasattr(model, "support_") else model.fit(X, CODES)
    with pytest.raises(InvalidParameter, match=r"one margin a class.*'ovr'"):
        predict(ready, X, "labels")


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), RidgeClassifier()])
def test_margins_of_classes_are_taken(model):
    for labels in (CODES, CODES > 1, np.arange(60) % 4):
        model.fit(X, labels)
        said = predict(model, X, "labels")
        assert said.margins[0].shape == (60, len(np.unique(labels)))
        agree = model.classes_[np.argmax(said.margins[0], axis=1)] == model.predict(X)
        assert agree.mean() > 0.9
        assert len(predict(model, X[:1], "labels")) == 1


# -- classes that a fold has missed ----------------------------------------------------


def test_predictions_are_widened_to_all_classes():
    known = Outcomes((Numbers(1), Labels(np.array(["a", "c"]))))
    wanted = Outcomes((Numbers(1), Labels(np.array(["a", "b", "c"]))))
    margins = LabelPrediction(None, (np.array([[0.5, -2.0]]),))
    joint = JointPrediction((Prediction(np.zeros((1, 1))), margins))
    wide = align(joint, known, wanted).parts[1].margins[0][0]
    assert wide[[0, 2]].tolist() == [0.5, -2.0]
    assert np.isfinite(wide[1])
    assert wide[1] < -1e5
    assert unseen_components(known, wanted).tolist() == [0, 0, 1, 0]
