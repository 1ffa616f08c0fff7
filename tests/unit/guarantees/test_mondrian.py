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


@pytest.mark.parametrize(
    "groups", [None, 1.5, ["a", "a"], True, [], {}, [0, True], {"a": None}]
)
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


# ---- groups that overlap -------------------------------------------------------------

FLAGS = pd.DataFrame(
    {"all": True, "odd": X[:, 0] == 1, "late": [False] * 3 + [True] * 3}
)
SPREAD = np.array([1.0, 30.0, 2.0, 5.0, 3.0, 20.0])


def odd(X):
    return np.asarray(X)[:, 0] == 1


@pytest.mark.parametrize(
    "groups, names",
    [
        (lambda X: FLAGS.iloc[: len(X)], ["all", "odd", "late"]),
        (lambda X: FLAGS.iloc[: len(X)].astype("boolean"), ["all", "odd", "late"]),
        (lambda X: FLAGS.to_numpy()[: len(X)], [0, 1, 2]),
        ({name: (lambda X, n=name: FLAGS[n][: len(X)]) for name in FLAGS}, list(FLAGS)),
        ([lambda X: FLAGS["all"], odd, lambda X: FLAGS["late"]], [0, "odd", 2]),
    ],
)
def test_flags_from_a_table_a_dict_or_a_list(groups, names):
    calibration = Mondrian(groups).calibrate(SPREAD, 0.5, X)
    assert calibration.budget == dict(zip(names, [5.0, 20.0, 5.0], strict=True))
    # A context in several groups has the largest of their budgets.
    np.testing.assert_array_equal(calibration.at(X, 6), [5, 20, 5, 20, 5, 20])


def test_flags_from_columns_of_a_table():
    table = FLAGS.assign(x=1.0)
    for groups in (["odd", "late"], [1, 2], {"o": "odd", "l": 2}):
        calibration = Mondrian(groups).calibrate(SPREAD, 0.5, table)
        assert list(calibration.budget.values()) == [20.0, 5.0]
        # Rows 0 and 2 are in no group.
        expected = [np.inf, 20, np.inf, 20, 5, 20]
        np.testing.assert_array_equal(calibration.at(table, 6), expected)


def test_contexts_in_no_group_are_counted_in_words():
    calibration = Mondrian({"odd": odd}).calibrate(SPREAD, 0.5, X)
    note = calibration.certificate.note
    assert note.startswith(
        "3 calibration contexts are in no group. Nothing is promised"
    )
    assert "add a group of all contexts" in note


def test_a_group_without_any_score_is_named():
    groups = {"odd": odd, "none": lambda X: X[:, 0] > 7}
    with pytest.warns(InfiniteBudget, match=r"'none' \(0 scores\). A group needs at"):
        calibration = Mondrian(groups).calibrate(SPREAD, 0.5, X)
    assert calibration.budget == {"odd": 20.0, "none": np.inf}
    np.testing.assert_array_equal(
        calibration.at(np.array([[1, 0], [9, 0]]), 2), [20.0, np.inf]
    )
    with pytest.raises(InvalidParameter, match=r"scores in every group .* 'none'"):
        Mondrian(groups).promise(SPREAD, 20.0, X)


def test_certificates_by_group_are_data():
    guarantee = Mondrian({"odd": odd, "all": lambda X: X[:, 0] >= 0})
    certificate = guarantee.calibrate(SPREAD, 0.5, X).certificate
    by_group = dict(certificate.groups)
    assert {name: each.budget for name, each in by_group.items()} == {
        "odd": 20.0,
        "all": 5.0,
    }
    assert by_group["odd"].sample_size == 3
    assert type(certificate).from_dict(certificate.to_dict()) == certificate
    assert "at most 0.5 at budget 20, from 3 scores (1 needed)" in str(certificate)


def test_confidence_for_all_groups_at_once():
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    table = pd.DataFrame(rng.random((300, 2)) < 0.6, columns=list("ab"))
    groups = ["a", "b"]
    calibration = Mondrian(groups, PAC(0.1), at_once=True).calibrate(scores, 0.2, table)
    for name in groups:
        alone = PAC(0.05).calibrate(scores[table[name]], 0.2)
        assert calibration.budget[name] == alone.budget
        assert calibration.certificates[name].confidence == 0.95
    assert calibration.certificate.confidence == 0.9
    assert "that of all groups at once" in calibration.certificate.note
    fewest = Mondrian(groups, PAC(0.1), at_once=True).minimum_sample_size(0.1)
    assert fewest == PAC(0.05).minimum_sample_size(0.1)
    with pytest.raises(InvalidParameter, match=r"at_once=True\) must come with PAC"):
        Mondrian(groups, at_once=True)


@pytest.mark.parametrize(
    "groups, message",
    [
        ({"a": lambda X: X[:, 0]}, "True or False .* got int64 .* for group 'a'"),
        ({"a": lambda X: [True]}, r"got bool of shape \(1,\) for group 'a'"),
        (lambda X: np.ones((5, 2), dtype=bool), r"one row for each of the 6 contexts"),
        (lambda X: np.ones((6, 2)), "or a table of booleans with a column for each"),
        (lambda X: FLAGS[["all", "all"]], "none twice, got columns"),
        (lambda X: FLAGS.astype(float), "True or False .* got float64"),
        (lambda X: FLAGS.replace({True: None}), "True or False"),
    ],
)
def test_flags_must_be_flags(groups, message):
    with pytest.raises(InvalidParameter, match=message):
        Mondrian(groups).calibrate(SCORES, 0.25, X)
