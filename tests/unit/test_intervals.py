"""Intervals of a mean: what they are, and how often they hold it.

Of R samples the number whose interval holds the mean is Bin(R, p); with p = 0.94 or
more it is at least binom.ppf(1e-6, R, 0.94) but for probability 1e-6. Student's
interval, of the same samples, is the control that must fall short.
"""

import numpy as np
import pytest
from scipy import stats

from sublevel.intervals import mean_interval, t_interval

LEVEL = 0.95


def by_definition(values, level, resamples=40_000, seed=7):
    """Both intervals, one resample at a time."""
    rng, n = np.random.default_rng(seed), len(values)
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(n)
    ratios = []
    for _ in range(resamples):
        drawn = rng.choice(values, size=n)
        ratios.append((drawn.mean() - mean) / (drawn.std(ddof=1) / np.sqrt(n)))
    student = stats.t.ppf((1 + level) / 2, n - 1)
    tail = stats.norm.cdf(-np.sqrt(n / (n - 1)) * student)
    upper, lower = np.quantile(ratios, [tail, 1 - tail])
    low, high = mean - error * lower, mean - error * upper
    return min(low, mean - student * error), max(high, mean + student * error)


def test_it_is_the_farther_of_two_intervals():
    values = np.random.default_rng(0).exponential(size=40)
    low, high = mean_interval(values, LEVEL)
    expected = by_definition(values, LEVEL)
    reach = expected[1] - values.mean()
    assert (low, high) == pytest.approx(expected, abs=0.1 * reach)
    student = t_interval(values, LEVEL)
    assert low == pytest.approx(student[0])  # the short tail is Student's
    assert high > student[1] + 0.1 * reach


def test_the_same_numbers_have_the_same_interval():
    rng = np.random.default_rng(1)
    values = rng.exponential(size=30)
    once = mean_interval(values, LEVEL)
    assert mean_interval(rng.permutation(values), LEVEL) == pytest.approx(once)
    moved = mean_interval(3.0 - 2.0 * values, LEVEL)
    low, high = mean_interval(-values, LEVEL)
    assert moved == pytest.approx((3 + 2 * low, 3 + 2 * high))
    tiny = mean_interval(1e-12 * values, LEVEL)
    assert np.array(tiny) * 1e12 == pytest.approx(np.array(once))


def test_samples_larger_than_what_is_drawn_at_once():
    values = np.random.default_rng(2).normal(size=3000)
    low, high = mean_interval(values, LEVEL)
    student = t_interval(values, LEVEL)
    assert (low, high) == pytest.approx(student, abs=0.1 * (student[1] - student[0]))


def test_an_end_that_the_numbers_do_not_bound_is_infinite():
    values = np.zeros(30)
    values[:3] = [1.0, 2.0, 3.0]
    low, high = mean_interval(values, LEVEL)
    assert np.isfinite(low)
    assert high == np.inf
    assert mean_interval(-values, LEVEL)[0] == -np.inf
    assert np.isfinite(mean_interval(np.append(np.zeros(30), np.ones(8)), LEVEL)).all()
    assert mean_interval(np.array([0.0, 1.0, 5.0]), LEVEL) == (-np.inf, np.inf)
    assert mean_interval(np.full(9, 2.5), LEVEL) == (2.5, 2.5)
    assert mean_interval(np.array([1.0]), LEVEL) == (-np.inf, np.inf)
    assert np.isnan(mean_interval(np.array([]), LEVEL)).all()


# ---- coverage ------------------------------------------------------------------------


def often_zero(share, draw):
    return lambda rng, n: np.where(rng.random(n) < share, 0.0, draw(rng, n))


def exponential(rng, n):
    return rng.exponential(size=n)


def lognormal(rng, n):
    return np.exp(rng.normal(size=n))


def normal(rng, n):
    return rng.normal(size=n)


LAWS = {
    "normal": (normal, 0.0),
    "exponential": (exponential, 1.0),
    "lognormal": (lognormal, np.exp(0.5)),
    "heavy": (lambda rng, n: rng.standard_t(3, size=n), 0.0),
    "half zero": (often_zero(0.5, lognormal), 0.5 * np.exp(0.5)),
    "mostly zero": (often_zero(0.8, exponential), 0.2),
    "mostly zero, even": (often_zero(0.8, normal), 0.0),
}


def held(interval, law, n, samples, seed=0):
    """How many intervals hold the mean."""
    draw, mean = LAWS[law]
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(samples):
        low, high = interval(draw(rng, n), LEVEL)
        hits += low <= mean <= high
    return hits


def fewest(samples):
    return stats.binom.ppf(1e-6, samples, 0.94)


@pytest.mark.parametrize("law", ["lognormal", "mostly zero"])
def test_means_of_twenty_skewed_numbers_are_held(law):
    samples = 800
    assert held(mean_interval, law, 20, samples) >= fewest(samples)
    assert held(t_interval, law, 20, samples) < fewest(samples)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("law", LAWS)
def test_means_are_held(law, n):
    samples = 2000
    assert held(mean_interval, law, n, samples) >= fewest(samples)
    if n == 20 and law in ("lognormal", "half zero", "mostly zero"):
        # Control: below .9 where numbers are very skewed. Of exponential ones .92 are
        # held, which is too near .94 for so few samples.
        assert held(t_interval, law, n, samples) < fewest(samples)
