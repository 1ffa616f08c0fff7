"""PAC: the allowed number of exceedances against exact binomial sums."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import PAC

levels = st.integers(1, 99).map(lambda percent: percent / 100)


def exact_rank(size, alpha, share):
    """N - max{c : P(Bin(N, alpha) <= c) <= share}, by summing fractions."""
    alpha, allowed, tail = Fraction(str(alpha)), -1, Fraction(0)
    while True:
        hits = allowed + 1
        tail += comb(size, hits) * alpha**hits * (1 - alpha) ** (size - hits)
        if tail > share:
            return size - allowed if allowed >= 0 else None
        allowed = hits


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
@pytest.mark.parametrize(
    "delta, candidates", [(0.05, 1), (0.25, 1), (0.5, 1), (0.1, 4)]
)
def test_rank_equals_the_exact_binomial_sum(alpha, delta, candidates):
    guarantee = PAC(delta, candidates)
    share = Fraction(str(delta)) / candidates
    for size in range(1, 61):
        assert guarantee.rank(size, alpha) == exact_rank(size, alpha, share)


@pytest.mark.parametrize(
    "size, alpha, delta, rank",
    [
        (1, 0.95, 0.05, 1),  # 0.05 <= 0.05: a tie that rounding would lose
        (2, 0.5, 0.25, 2),
        (2, 0.5, 0.75, 1),
        (3, 0.5, 0.5, 2),
        (100, 0.1, 0.05, 96),
        (1000, 0.1, 0.05, 916),
        (28, 0.1, 0.05, None),
    ],
)
def test_rank(size, alpha, delta, rank):
    assert PAC(delta).rank(size, alpha) == rank


def test_rank_of_an_empty_sample():
    assert PAC().rank(0, 0.1) is None


def test_rank_of_ten_million_scores():
    size, alpha, delta = 10**7, 0.1, 0.05
    allowed = size - PAC(delta).rank(size, alpha)
    assert stats.binom.cdf(allowed, size, alpha) <= delta
    assert stats.binom.cdf(allowed + 1, size, alpha) > delta


@pytest.mark.parametrize(
    "delta, sizes",
    [(0.1, (22, 45, 230)), (0.05, (29, 59, 299)), (0.01, (44, 90, 459))],
)
def test_minimum_sample_size(delta, sizes):
    guarantee = PAC(delta)
    for alpha, size in zip((0.1, 0.05, 0.01), sizes, strict=True):
        assert guarantee.minimum_sample_size(alpha) == size
        assert guarantee.rank(size, alpha) is not None
        assert guarantee.rank(size - 1, alpha) is None


@pytest.mark.parametrize("candidates", [2, 10, 1000])
def test_minimum_sample_size_with_candidates(candidates):
    guarantee = PAC(0.05, candidates)
    size = guarantee.minimum_sample_size(0.1)
    share = Fraction(1, 20 * candidates)
    assert Fraction(9, 10) ** size <= share < Fraction(9, 10) ** (size - 1)


def test_minimum_sample_size_at_a_tie():
    assert PAC(delta=0.125).minimum_sample_size(0.5) == 3
    assert PAC(delta=0.001).minimum_sample_size(0.9) == 3


def test_too_few_scores():
    with pytest.warns(InfiniteBudget, match=r"PAC\(alpha=0.1\) needs at least 29 .*28"):
        calibration = PAC().calibrate(np.arange(28), 0.1)
    assert calibration.budget == np.inf


def test_certificate_of_a_calibration():
    certificate = PAC().calibrate(np.arange(1, 101), 0.1).certificate
    assert certificate.guarantee == "PAC"
    assert certificate.confidence == 0.95
    assert (certificate.budget, certificate.rank) == (96.0, 96)
    assert certificate.minimum_sample_size == 29
    assert certificate.beta_law


def test_certificate_counts_the_candidates():
    certificate = PAC(candidates=7).calibrate(np.arange(1, 101), 0.1).certificate
    assert any("At most 7 candidates" in rule for rule in certificate.assumptions)
    assert certificate.confidence == 0.95
    assert not certificate.beta_law


@pytest.mark.parametrize("within", [0, 1, 50, 99, 100])
def test_level_is_the_clopper_pearson_limit(within):
    certificate = PAC(delta=0.05).promise(np.arange(1, 101), within)
    limit = stats.binomtest(100 - within, 100).proportion_ci(0.9, "exact").high
    assert certificate.alpha == pytest.approx(limit, rel=1e-12)
    assert "Clopper-Pearson" in certificate.note


def test_candidates_raise_the_level_of_a_given_budget():
    scores = np.arange(1, 101)
    assert PAC(0.05, 5).promise(scores, 90).alpha == PAC(0.01).promise(scores, 90).alpha


@pytest.mark.parametrize("candidates", [0, -1, 1.5, "two", True])
def test_candidates_must_be_a_count(candidates):
    with pytest.raises(InvalidParameter, match=r"PAC\(candidates=.*at least 1, got"):
        PAC(candidates=candidates)


@pytest.mark.parametrize("delta", [0, 1, -0.5])
def test_delta_must_be_a_level(delta):
    with pytest.raises(InvalidParameter, match=r"PAC\(delta=.*between 0 and 1"):
        PAC(delta=delta)


@given(st.integers(1, 400), levels, levels)
def test_what_was_calibrated_is_promised_back(size, alpha, delta):
    guarantee = PAC(delta)
    rank = guarantee.rank(size, alpha)
    if rank is not None:
        assert guarantee.level(rank, size) <= alpha * (1 + 1e-10)
        if rank > 1:
            assert guarantee.level(rank - 1, size) > alpha * (1 - 1e-10)


@given(st.integers(1, 400), levels, levels, levels)
def test_rank_grows_with_strictness_and_confidence(size, alpha, one, other):
    strict, loose = sorted((one, other))
    never = size + 1
    by_delta = [PAC(d).rank(size, alpha) or never for d in (strict, loose)]
    by_alpha = [PAC(alpha).rank(size, a) or never for a in (strict, loose)]
    assert by_delta[0] >= by_delta[1]
    assert by_alpha[0] >= by_alpha[1]
