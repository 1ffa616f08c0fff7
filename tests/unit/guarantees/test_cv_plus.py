"""CV+: slack, ranks and sample sizes worked by hand."""

from fractions import Fraction

import numpy as np
import pytest

from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import CVPlus


@pytest.mark.parametrize(
    "splits, size, slack",
    [
        (None, 40, 0),
        (40, 40, 0),
        (10, 100, Fraction(9, 110)),  # (1 - 1/10) / 11 < 1.8 / 11
        (5, 1000, Fraction(8, 1005)),  # 1.6 / 201 < (1 - 1/200) / 6
        (2, 4, Fraction(1, 6)),  # (1 - 1/2) / 3 < 1 / 3
    ],
)
def test_slack(splits, size, slack):
    assert CVPlus(splits).slack(size) == slack


@pytest.mark.parametrize(
    "splits, size, alpha, rank",
    [
        (None, 40, 0.1, 39),  # ceil(41 * 0.95)
        (None, 19, 0.1, 19),
        (None, 18, 0.1, None),
        (None, 39, 0.1, 38),
        (5, 1000, 0.1, 955),  # a = (0.1 - 8/1005) / 2, ceil(1001 * (1 - a))
        (10, 100, 0.1, None),  # a = 0.0091 < 1/101
        (2, 40, 0.1, 40),  # a = (0.1 - 1/21) / 2, ceil(41 * (1 - a))
    ],
)
def test_rank(splits, size, alpha, rank):
    assert CVPlus(splits).rank(size, alpha) == rank


@pytest.mark.parametrize("splits", [None, 2, 3, 5, 10, 20, 50])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_minimum_sample_size_is_the_first_that_does(splits, alpha):
    guarantee = CVPlus(splits)
    size = guarantee.minimum_sample_size(alpha)
    step = splits or 1
    assert size % step == 0
    for smaller in range(step, size, step):
        assert guarantee.rank(smaller, alpha) is None
    for larger in range(size, size + 50 * step, step):
        assert guarantee.rank(larger, alpha) is not None


def test_too_few_outcomes_name_both_ways_out():
    message = (
        r"CVPlus\(alpha=0.1\) needs at least 120 .* got 40. Add calibration data or "
        r"raise alpha. Leaving one out at a time, n_splits=None, needs only 19."
    )
    with pytest.warns(InfiniteBudget, match=message):
        calibration = CVPlus(10).calibrate(np.arange(40), 0.1)
    assert calibration.budget == np.inf


def test_too_few_outcomes_for_leave_one_out():
    with pytest.warns(InfiniteBudget, match="at least 19 .* got 18") as record:
        CVPlus().calibrate(np.arange(18), 0.1)
    assert "Leaving one out" not in str(record[0].message)


def test_level_of_a_given_budget():
    # Twice the marginal level, plus the slack, at most one.
    assert CVPlus().promise(np.arange(1, 41), 39).alpha == pytest.approx(4 / 41)
    expected = 2 * 10 / 101 + 9 / 110
    assert CVPlus(10).promise(np.arange(1, 101), 91).alpha == pytest.approx(expected)
    assert CVPlus(10).promise(np.arange(1, 101), 20).alpha == 1.0


@pytest.mark.parametrize("splits", [None, 5, 20])
@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.4])
def test_what_was_calibrated_is_promised_back(splits, alpha):
    scores = np.random.default_rng(5).exponential(size=400)
    budget = CVPlus(splits).calibrate(scores, alpha).budget
    assert CVPlus(splits).promise(scores, budget).alpha <= alpha


def test_certificate():
    certificate = CVPlus().calibrate(np.arange(1, 41), 0.1).certificate
    assert certificate.guarantee == "CVPlus"
    assert (certificate.budget, certificate.rank) == (39.0, 39)
    assert (certificate.sample_size, certificate.minimum_sample_size) == (40, 19)
    assert not certificate.beta_law
    assert any("union" in rule for rule in certificate.assumptions)


@pytest.mark.parametrize(
    "splits, size, way_out",
    [
        (20, 90, "Use 80 or 100 rows, .*, n_splits=18, n_splits=30, or n_splits=None"),
        (2, 45, "Use 44 or 46 rows, .*, n_splits=3, or n_splits=None"),
        (40, 42, "Use 40 or 80 rows, .*, n_splits=21, or n_splits=None"),
        (10, 97, "Use 90 or 100 rows, .* outcomes, or n_splits=None to leave one out"),
    ],
)
def test_unequal_folds_are_refused_with_the_way_out(splits, size, way_out):
    guarantee = CVPlus(splits)
    rule = rf"n_splits={splits}\) must divide the number of scores, got {size}: "
    for refused in (
        lambda: guarantee.check(size),
        lambda: guarantee.slack(size),
        lambda: guarantee.rank(size, 0.2),
        lambda: guarantee.calibrate(np.arange(size), 0.2),
        lambda: guarantee.promise(np.arange(size), 3.0),
    ):
        with pytest.raises(InvalidParameter, match=f"{rule}.*{way_out}"):
            refused()


def test_equal_folds_pass_the_check():
    CVPlus(20).check(100)
    CVPlus(20).check(20)
    CVPlus().check(97)
    assert CVPlus(20).calibrate(np.arange(100), 0.2).certificate.note == ""


@pytest.mark.parametrize("size", [0, 2.5, True])
def test_the_check_needs_a_count(size):
    with pytest.raises(InvalidParameter, match=r"CVPlus.check\(sample_size=.* got"):
        CVPlus().check(size)


@pytest.mark.parametrize("splits", [1, 0, -3, 2.5, True])
def test_splits_must_be_a_count(splits):
    with pytest.raises(InvalidParameter, match=r"n_splits=.*at least 2, got"):
        CVPlus(splits)


def test_no_more_splits_than_outcomes():
    with pytest.raises(InvalidParameter, match=r"n_splits=10\) must be at most .* 9"):
        CVPlus(10).calibrate(np.arange(9), 0.5)
    with pytest.raises(InvalidParameter, match=r"n_splits=10\) must be at most .* 9"):
        CVPlus(10).check(9)
