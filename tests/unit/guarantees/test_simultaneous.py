"""Levels of all order statistics at once, against determinants and simulation."""

from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

from sublevel.errors import InvalidParameter
from sublevel.guarantees.simultaneous import probability_of_all, simultaneous_levels


def by_determinant(bounds):
    """Steck (1971), in exact fractions: all of n uniforms' order statistics above."""
    n = len(bounds)
    room = [1 - Fraction(b) for b in bounds]

    def entry(i, j):
        power = j - i + 1
        return room[j] ** power / factorial(power) if power >= 0 else Fraction(0)

    total = Fraction(0)
    for order in permutations(range(n)):
        sign = (-1) ** sum(order[a] > order[b] for a in range(n) for b in range(a, n))
        product = Fraction(sign)
        for i, j in enumerate(order):
            product *= entry(i, j)
        total += product
    return float(total * factorial(n))


@pytest.mark.parametrize("seed", range(8))
def test_probabilities_are_those_of_a_determinant(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    bounds = np.sort(rng.uniform(0, 0.9, size=n))
    assert probability_of_all(bounds, 1, n) == pytest.approx(
        by_determinant(bounds), rel=1e-10
    )


@pytest.mark.parametrize("first", [1, 3, 5])
def test_a_window_leaves_the_other_ranks_alone(first):
    """Bounds of zero before it ask for nothing."""
    bounds = np.array([0.1, 0.15, 0.4, 0.5, 0.7])[first - 1 :]
    padded = np.concatenate([np.zeros(first - 1), bounds])
    assert probability_of_all(bounds, first, 5) == pytest.approx(
        by_determinant(padded), rel=1e-10
    )


def test_one_rank_alone_is_the_usual_level():
    [level] = simultaneous_levels(100, 0.05, first=95, last=95)
    assert level == pytest.approx(1 - betaincinv(95, 6, 0.05), rel=1e-4)


@pytest.mark.parametrize(("n", "delta"), [(30, 0.1), (200, 0.05)])
def test_all_hold_together_and_pointwise_ones_do_not(n, delta):
    """Exact region for the number of draws in which some level fails."""
    draws, first = 20_000, (n + 1) // 2
    uniforms = np.sort(np.random.default_rng(n).random((draws, n)), axis=1)[
        :, first - 1 :
    ]
    beyond = 1 - uniforms
    low, high = binom.ppf([1e-6, 1 - 1e-6], draws, delta)
    failures = (beyond > simultaneous_levels(n, delta)).any(axis=1).sum()
    assert low <= failures <= high
    ranks = np.arange(first, n + 1)
    pointwise = 1 - betaincinv(ranks, n + 1 - ranks, delta)
    assert (beyond > pointwise).any(axis=1).sum() > high


def test_windows_are_checked():
    with pytest.raises(InvalidParameter, match=r"last=.* at most size=10, got 11"):
        simultaneous_levels(10, 0.1, last=11)
    with pytest.raises(InvalidParameter, match="first"):
        simultaneous_levels(10, 0.1, first=0)
