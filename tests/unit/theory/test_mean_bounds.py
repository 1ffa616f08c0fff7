"""Bounds on a mean: exact on coins by enumeration, and against plain loops."""

from itertools import product
from math import comb, e, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sublevel.errors import InvalidParameter
from sublevel.guarantees import PAC, mean_bounds

BOUNDS = [
    mean_bounds.betting,
    mean_bounds.hoeffding_bentkus,
    mean_bounds.empirical_bernstein,
]
unit = st.floats(0, 1)


def misses(bound_of, size, chance):
    """P(bound < chance) for `size` tosses of a coin, by summing over all of them."""
    weights = {
        tosses: chance ** sum(tosses) * (1 - chance) ** (size - sum(tosses))
        for tosses in product((0, 1), repeat=size)
    }
    return sum(
        weight for tosses, weight in weights.items() if bound_of[tosses] < chance
    )


@pytest.mark.parametrize("delta", [0.05, 0.25])
def test_betting_misses_no_coin_more_often_than_delta(delta):
    size = 10
    bound_of = {
        tosses: mean_bounds.betting(tosses, delta)
        for tosses in product((0, 1), repeat=size)
    }
    rates = [misses(bound_of, size, p) for p in np.linspace(0.02, 0.98, 25)]
    assert max(rates) <= delta
    shrunk = {tosses: 0.7 * bound for tosses, bound in bound_of.items()}
    assert max(misses(shrunk, size, p) for p in (0.3, 0.5, 0.7)) > delta


@pytest.mark.parametrize(
    "bound, size, delta, shrink",
    [
        (mean_bounds.hoeffding_bentkus, 40, 0.1, 0.7),
        (mean_bounds.empirical_bernstein, 200, 0.1, 0.7),
    ],
)
def test_bounds_miss_no_coin_more_often_than_delta(bound, size, delta, shrink):
    tosses = np.tri(size + 1, size, -1)  # row k has k ones
    bounds = np.array([bound(row, delta) for row in tosses])
    chances = np.linspace(0.01, 0.99, 99)
    law = stats.binom.pmf(np.arange(size + 1)[:, None], size, chances)
    assert ((bounds[:, None] < chances) * law).sum(axis=0).max() <= delta
    assert ((shrink * bounds[:, None] < chances) * law).sum(axis=0).max() > delta


@pytest.mark.parametrize("size, delta", [(1, 0.3), (7, 0.05), (50, 0.01)])
def test_clopper_pearson_solves_the_binomial_equation(size, delta):
    for count in range(size):
        bound = mean_bounds.clopper_pearson(count, size, delta)
        assert stats.binom.cdf(count, size, bound) == pytest.approx(delta, rel=1e-9)
        interval = stats.binomtest(count, size).proportion_ci(1 - 2 * delta, "exact")
        assert bound == pytest.approx(interval.high, rel=1e-9)
    assert mean_bounds.clopper_pearson(size, size, delta) == 1.0


def test_pac_levels_are_clopper_pearson():
    level = PAC(delta=0.05).promise(np.arange(1, 101), budget=93).alpha
    assert level == mean_bounds.clopper_pearson(7, 100, 0.05)


def plain_pvalue(values, level):
    size, mean = len(values), sum(values) / len(values)
    apart = 0.0
    if mean < level:
        apart = (1 - mean) * log((1 - mean) / (1 - level))
        apart += mean * log(mean / level) if mean > 0 else 0.0
    count = int(np.ceil(sum(values)))
    tail = sum(
        comb(size, k) * level**k * (1 - level) ** (size - k) for k in range(count + 1)
    )
    return min(1.0, np.exp(-size * apart), e * tail)


@given(st.lists(unit, min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_hoeffding_bentkus_pvalue(values, level):
    found = mean_bounds.hoeffding_bentkus_pvalue(values, level)
    assert found == pytest.approx(plain_pvalue(values, level), rel=1e-9, abs=1e-12)


@given(st.lists(unit, min_size=1, max_size=30), st.floats(0.01, 0.5))
def test_hoeffding_bentkus_inverts_its_pvalue(values, delta):
    bound = mean_bounds.hoeffding_bentkus(values, delta)
    assert bound >= np.mean(values) - 1e-12
    if bound + 1e-6 < 1:
        assert plain_pvalue(values, bound + 1e-6) <= delta
    if bound - 1e-6 > np.mean(values):
        assert plain_pvalue(values, bound - 1e-6) > delta


def plain_capital(values, level, delta):
    """The largest capital of the game, one toss at a time."""
    total, squares, capital, best = 0.5, 0.25, 1.0, 0.0
    spread = 0.25
    for count, value in enumerate(values, start=1):
        stake = min(1.0, sqrt(2 * log(1 / delta) / (len(values) * spread)))
        capital *= 1 + stake * (level - value)
        best = max(best, capital)
        total += value
        squares += (value - total / (count + 1)) ** 2
        spread = squares / (count + 1)
    return best


@given(st.lists(unit, min_size=1, max_size=40), st.floats(0.01, 0.5))
def test_betting_is_the_least_level_that_makes_rich(values, delta):
    bound = mean_bounds.betting(values, delta)
    if bound < 1:
        assert plain_capital(values, bound + 1e-9, delta) >= 1 / delta * (1 - 1e-6)
    if bound > 1e-9:
        assert plain_capital(values, bound - 1e-9, delta) <= 1 / delta * (1 + 1e-6)


@given(st.lists(unit, min_size=1, max_size=40), st.floats(0.01, 0.5), unit)
def test_rejecting_a_level_is_a_bound_below_it(values, delta, level):
    bound = mean_bounds.betting(values, delta)
    if abs(bound - level) > 1e-9 or level == 1:
        assert mean_bounds.betting_rejects(values, level, delta) == (bound <= level)


def test_empirical_bernstein_by_hand():
    # Mean 1/4, variance 250 (3/16) / 249..., log(2/.05) = log 40.
    values = [0.0, 0.0, 0.0, 1.0] * 250
    variance = 1000 * (3 / 16) / 999
    wide = sqrt(2 * variance * log(40) / 1000)
    by_hand = 0.25 + wide + 7 * log(40) / (3 * 999)
    assert mean_bounds.empirical_bernstein(values, 0.05) == pytest.approx(by_hand)
    assert mean_bounds.empirical_bernstein([0.3], 0.05) == 1.0
    assert mean_bounds.empirical_bernstein([0.3, 0.4], 0.05) == 1.0


def test_betting_is_tightest_for_small_values_and_not_for_rare_ones():
    # Beta(1, 9), N = 1000, delta = .05: betting .106, empirical Bernstein .117,
    # Hoeffding-Bentkus .122, Hoeffding .139 on average; the standard errors are .0003.
    rng = np.random.default_rng(0)
    samples = rng.beta(1, 9, size=(100, 1000))
    betting, bentkus, bernstein = (
        np.mean([bound(row) for row in samples]) for bound in BOUNDS
    )
    assert betting == pytest.approx(0.1065, abs=0.001)
    assert bernstein == pytest.approx(0.1166, abs=0.001)
    assert bentkus == pytest.approx(0.1224, abs=0.001)
    rare = (rng.random((50, 1000)) < 0.01).astype(float)
    betting, bentkus, _ = (np.mean([bound(row) for row in rare]) for bound in BOUNDS)
    assert bentkus < betting


@pytest.mark.parametrize("bound", BOUNDS)
def test_bounds_of_constant_and_extreme_values(bound):
    assert bound(np.ones(50)) == 1.0
    assert 0 < bound(np.zeros(500)) < 0.02
    assert bound(np.full(2000, 0.5)) > 0.5


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    "values, message",
    [
        ([], "non-empty vector, got shape"),
        ([[0.1]], "non-empty vector, got shape"),
        ([0.1, 1.2], r"lie in \[0, 1\], got 1.2 at row 1. Divide"),
        ([0.1, np.nan], "got nan at row 1"),
        (["a"], "must be numeric, got list"),
    ],
)
def test_values_are_checked(bound, values, message):
    with pytest.raises(InvalidParameter, match=message):
        bound(values)


def test_levels_and_counts_are_checked():
    with pytest.raises(InvalidParameter, match=r"betting\(delta=.*between 0 and 1"):
        mean_bounds.betting([0.1], delta=0)
    with pytest.raises(InvalidParameter, match=r"pvalue\(level=.*between 0 and 1"):
        mean_bounds.hoeffding_bentkus_pvalue([0.1], level=1.0)
    with pytest.raises(InvalidParameter, match=r"clopper_pearson\(size=.*at least 5"):
        mean_bounds.clopper_pearson(5, 4)
    with pytest.raises(InvalidParameter, match=r"clopper_pearson\(count=.*at least 0"):
        mean_bounds.clopper_pearson(-1, 4)
