"""Mondrian: one budget per group, wherever the labels come from."""

import numpy as np
import pandas as pd
import pytest

from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import PAC, CVPlus, Marginal, Mondrian, Weighted

SCORES = np.array([1.0, 10.0, 2.0, 20.0, 3.0, 30.0])
X = np.array([[0, 5], [1, 5], [0, 5], [1, 5], [0, 5], [1, 5]])
TABLE = pd.DataFrame({"other": 5, "region": list("abababa")[:6]})


@pytest.mark.parametrize(
    "groups, contexts, names",
    [
        (lambda X: X[:, 0], X, (0, 1)),
        (lambda X: X[:, 0] == 1, X, (False, True)),
        (lambda X: ["a", "b"] * 3, X, ("a", "b")),
        (0, X, (0, 1)),
        ("region", TABLE, ("a", "b")),
        (1, TABLE, ("a", "b")),
    ],
)
def test_groups_from_a_function_a_name_or_a_position(groups, contexts, names):
    calibration = Mondrian(groups).calibrate(SCORES, 0.25, contexts)
    assert calibration.budget == {names[0]: 3.0, names[1]: 30.0}
    np.testing.assert_array_equal(calibration.at(contexts, 6), [3.0, 30.0] * 3)


def test_each_group_is_calibrated_as_if_alone():
    rng = np.random.default_rng(1)
    scores, labels = rng.exponential(size=500), rng.integers(4, size=500)
    for inner in (Marginal(), PAC(0.1)):
        calibration = Mondrian(0, inner).calibrate(scores, 0.1, labels[:, None])
        for label in range(4):
            alone = inner.calibrate(scores[labels == label], 0.1)
            assert calibration.budget[label] == alone.budget
            assert calibration.certificates[label] == alone.certificate


def test_a_group_never_calibrated_has_no_limit():
    calibration = Mondrian("region").calibrate(SCORES, 0.25, TABLE)
    unseen = pd.DataFrame({"region": ["b", "c", None]})
    np.testing.assert_array_equal(calibration.at(unseen, 3), [30.0, np.inf, np.inf])


def test_a_group_too_small_is_named():
    labels = np.array([0] * 9 + [1] * 4 + [2] * 8)[:, None]
    message = (
        r"infinite for these groups: 1 \(4 scores\), 2 \(8 scores\). A group needs at "
        r"least 9 calibration scores at alpha=0.1. Merge groups"
    )
    with pytest.warns(InfiniteBudget, match=message) as record:
        calibration = Mondrian(0).calibrate(np.arange(21), 0.1, labels)
    assert len(record) == 1
    assert record[0].filename == __file__
    assert calibration.budget == {0: 8.0, 1: np.inf, 2: np.inf}
    assert not calibration.certificate.is_finite
    assert calibration.certificates[0].is_finite


def test_many_groups_too_small_are_counted():
    with pytest.warns(InfiniteBudget, match=r"4 \(1 scores\) and 2 more\. A group"):
        Mondrian(0).calibrate(np.arange(7), 0.1, np.arange(7)[:, None])


def test_certificate_of_all_groups():
    labels = np.array([0] * 9 + [1] * 20)[:, None]
    certificate = Mondrian(0).calibrate(np.arange(29), 0.1, labels).certificate
    assert certificate.guarantee == "Mondrian"
    assert (certificate.alpha, certificate.confidence) == (0.1, None)
    assert certificate.budget == 27.0
    assert (certificate.sample_size, certificate.minimum_sample_size) == (9, 9)
    assert certificate.rank is None
    assert certificate.note.startswith("Marginal promise to each of 2 groups")
    assert "confidence" not in certificate.note


def test_confidence_is_per_group():
    labels = np.repeat([0, 1], 40)[:, None]
    guarantee = Mondrian(0, PAC(delta=0.1))
    certificate = guarantee.calibrate(np.arange(80), 0.1, labels).certificate
    assert certificate.confidence == 0.9
    assert "all groups at once have it with confidence 0.8" in certificate.note


def test_promise_is_that_of_the_group_worst_off():
    labels = np.repeat([0, 1], 9)[:, None]
    scores = np.concatenate([np.arange(9), np.arange(9) + 5])
    guarantee = Mondrian(0)
    assert guarantee.promise(scores, 8, labels).alpha == 0.6
    assert guarantee.promise(scores, {0: 8, 1: 13}, labels).alpha == 0.1
    assert guarantee.promise(scores, {0: 7}, labels).alpha == 0.2
    assert "not calibrated" in guarantee.promise(scores, 8, labels).note


def test_minimum_sample_size_is_that_of_the_inner_guarantee():
    assert Mondrian(0).minimum_sample_size(0.05) == 19
    assert Mondrian(0, "pac").minimum_sample_size(0.05) == 59


def test_contexts_are_needed():
    guarantee = Mondrian(0)
    with pytest.raises(InvalidParameter, match=r"\(groups=.*got X=None. Pass X"):
        guarantee.calibrate(SCORES, 0.25)
    with pytest.raises(InvalidParameter, match="got X=None"):
        guarantee.calibrate(SCORES, 0.25, X).at(None, 3)


@pytest.mark.parametrize("labels", [[0, 1], 3, np.zeros((6, 1))])
def test_one_label_for_each_row(labels):
    with pytest.raises(InvalidParameter, match="one label for each of the 6 rows"):
        Mondrian(lambda X: labels).calibrate(SCORES, 0.25, X)


@pytest.mark.parametrize(
    "groups, contexts", [("colour", TABLE), (9, TABLE), (9, X), (0, X[:, 0]), ("a", X)]
)
def test_a_column_must_exist(groups, contexts):
    with pytest.raises(InvalidParameter, match="must be a column of X"):
        Mondrian(groups).calibrate(SCORES, 0.25, contexts)


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan] * 3,
        ["a", np.nan] * 3,
        np.array(["a", None] * 3, dtype=object),
        np.array([None] * 6),
        np.array([1.0, np.nan] * 3, dtype=object),
        np.array(["2020-01-01", "NaT"] * 3, dtype="datetime64[D]"),
        pd.Series(["a", None] * 3),
        pd.Series([1, pd.NA] * 3, dtype="Int64"),
        pd.Categorical(["a", None] * 3),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{labels[1]}",
)
def test_labels_may_not_be_missing(labels):
    message = r"labels of one kind, none missing, got \S+ at row [01]\. Give missing"
    with pytest.raises(InvalidParameter, match=message):
        Mondrian(lambda X: labels).calibrate(SCORES, 0.25, X)


@pytest.mark.parametrize("labels", [[1, "a"] * 3, np.array([1, "a"] * 3, dtype=object)])
def test_labels_must_be_of_one_kind(labels):
    with pytest.raises(InvalidParameter, match="labels of one kind, none missing"):
        Mondrian(lambda X: labels).calibrate(SCORES, 0.25, X)


@pytest.mark.parametrize("kind", [list, set, np.array])
def test_labels_must_be_hashable(kind):
    labels = np.empty(6, dtype=object)
    labels[:] = 1
    labels[2] = kind([1, 2])
    name = type(labels[2]).__name__
    groups = Mondrian(lambda X: labels if len(X) == 6 else X[:, 0])
    with pytest.raises(InvalidParameter, match=f"hashable .* got a {name} at row 2"):
        groups.calibrate(SCORES, 0.25, X)
    calibration = groups.calibrate([1.0, 2.0, 3.0], 0.5, X[:3, 1:])
    with pytest.raises(InvalidParameter, match=f"hashable .* got a {name} at row 2"):
        calibration.at(X, 6)


def test_ragged_labels_are_refused():
    labels = [[1], [1, 2], [1], [1], [1], [1]]
    with pytest.raises(InvalidParameter, match="one label for each row, got rows of"):
        Mondrian(lambda X: labels).calibrate(SCORES, 0.25, X)


def test_an_array_of_labels_is_not_printed():
    with pytest.raises(InvalidParameter, match=r"got ndarray of shape \(300,\)\.$"):
        Mondrian(np.zeros(300))
    with pytest.raises(InvalidParameter, match=r"got list of length 300\.$"):
        Mondrian([0] * 300)
    with pytest.raises(InvalidParameter, match=r"got Series of shape \(6,\)\.$"):
        Mondrian(TABLE["region"])


@pytest.mark.parametrize("groups", [None, 1.5, ["a", "b"], True])
def test_groups_must_be_readable(groups):
    with pytest.raises(InvalidParameter, match="a function of X, a column name or"):
        Mondrian(groups)


@pytest.mark.parametrize("inner", [CVPlus(), Mondrian(0), Weighted(len)])
def test_inner_guarantee_must_be_marginal_or_pac(inner):
    with pytest.raises(InvalidParameter, match="must be Marginal or PAC, got"):
        Mondrian(0, inner)


def test_inner_guarantee_by_name():
    with pytest.raises(InvalidParameter, match='must be "marginal" or "pac"'):
        Mondrian(0, "exact")
    labels = np.zeros((50, 1))
    assert (
        Mondrian(0, "pac").calibrate(np.arange(50), 0.1, labels).budget[0.0]
        == PAC().calibrate(np.arange(50), 0.1).budget
    )
