"""Marginal: ranks, levels and sample sizes worked by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sublevel.errors import InfiniteBudget
from sublevel.guarantees import Marginal

finite = st.floats(-1e6, 1e6)
samples = st.lists(finite, min_size=1, max_size=60)
levels = st.integers(1, 99).map(lambda percent: percent / 100)


@pytest.mark.parametrize(
    "size, alpha, rank",
    [
        (9, 0.1, 9),
        (19, 0.1, 18),
        (99, 0.1, 90),
        (999, 0.1, 900),
        (9999, 0.1, 9000),
        (10**7 - 1, 0.1, 9 * 10**6),
        (100, 0.1, 91),
        (19, 0.05, 19),
        (1000, 0.1, 901),
        (99, 0.01, 99),
        (9, 0.7, 3),
        (1, 0.5, 1),
        (8, 0.1, None),
        (98, 0.01, None),
    ],
)
def test_rank(size, alpha, rank):
    assert Marginal().rank(size, alpha) == rank


@pytest.mark.parametrize("percent", range(1, 100))
def test_rank_is_exact_where_it_is_a_whole_number(percent):
    alpha = percent / 100
    for size in (99, 199, 999, 99_999):
        assert Marginal().rank(size, alpha) == (size + 1) * (100 - percent) // 100


@pytest.mark.parametrize("alpha, size", [(0.1, 9), (0.05, 19), (0.01, 99), (0.3, 3)])
def test_minimum_sample_size(alpha, size):
    assert Marginal().minimum_sample_size(alpha) == size
    assert Marginal().rank(size, alpha) is not None
    assert Marginal().rank(size - 1, alpha) is None


def test_too_few_scores_give_an_infinite_budget_and_the_number_needed():
    message = (
        r"Marginal\(alpha=0.1\) needs at least 9 calibration scores for a finite "
        r"budget, got 8. Add calibration data or raise alpha."
    )
    with pytest.warns(InfiniteBudget, match=message) as record:
        calibration = Marginal().calibrate(np.arange(8), 0.1)
    assert record[0].filename == __file__
    assert calibration.budget == np.inf
    assert calibration.certificate.rank is None
    assert not calibration.certificate.is_finite
    assert "at least 9" in calibration.certificate.note


def test_infinite_scores_count_as_large():
    scores = [1.0, -np.inf, np.inf, 2.0]
    assert Marginal().calibrate(scores, 0.4).budget == 2.0
    with pytest.warns(InfiniteBudget, match="read from is: order statistic 4 of 4"):
        assert Marginal().calibrate(scores, 0.2).budget == np.inf


def test_level_of_a_given_budget():
    certificate = Marginal().promise(np.arange(1, 10), 7.5)
    assert certificate.alpha == 0.3
    assert certificate.budget == 7.5
    assert certificate.rank is None
    assert "averaged over calibration draws" in certificate.note


def test_certificate_of_a_calibration():
    certificate = Marginal().calibrate(np.arange(1, 100), 0.1).certificate
    assert certificate.guarantee == "Marginal"
    assert certificate.alpha == 0.1
    assert certificate.confidence is None
    assert certificate.budget == 90.0
    assert (certificate.sample_size, certificate.minimum_sample_size) == (99, 9)
    assert certificate.rank == 90
    assert certificate.note == ""


def test_ties_are_conservative():
    scores = [1.0] * 50 + [2.0] * 49
    assert Marginal().calibrate(scores, 0.5).budget == 1.0
    assert Marginal().calibrate(scores, 0.49).budget == 2.0
    assert Marginal().promise(scores, 2.0).alpha == 0.01


@given(samples, levels)
def test_the_budget_is_the_smallest_score_that_keeps_the_level(scores, alpha):
    size = len(scores)
    if size < Marginal().minimum_sample_size(alpha):
        return
    budget = Marginal().calibrate(scores, alpha).budget
    enough = (size + 1) * (1 - Fraction(str(alpha)))
    assert sum(score <= budget for score in scores) >= enough
    assert sum(score < budget for score in scores) < enough


@given(samples, levels)
def test_what_was_calibrated_is_promised_back(scores, alpha):
    if len(scores) < Marginal().minimum_sample_size(alpha):
        return
    budget = Marginal().calibrate(scores, alpha).budget
    assert Marginal().promise(scores, budget).alpha <= alpha + 1e-15


@given(samples, levels, levels)
def test_a_stricter_level_never_has_a_smaller_budget(scores, one, other):
    strict, loose = sorted((one, other))
    if len(scores) < Marginal().minimum_sample_size(strict):
        return
    assert (
        Marginal().calibrate(scores, strict).budget
        >= Marginal().calibrate(scores, loose).budget
    )


@given(samples, finite, finite)
def test_a_larger_budget_never_promises_less(scores, one, other):
    small, large = sorted((one, other))
    assert (
        Marginal().promise(scores, large).alpha
        <= Marginal().promise(scores, small).alpha
    )
