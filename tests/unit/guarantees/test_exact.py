"""Levels as fractions, and binomial tails at their ties."""

from fractions import Fraction
from math import comb

import pytest

from sublevel.guarantees.exact import exact, tail_is_below


@pytest.mark.parametrize("level", [0.1, 0.05, 0.01, 0.3, 1e-6])
def test_a_level_is_the_decimal_that_was_written(level):
    assert exact(level) == Fraction(str(level)).limit_denominator(10**6)


def tail(count, trials, chance):
    return sum(
        comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits)
        for hits in range(count + 1)
    )


@pytest.mark.parametrize("trials", [1, 2, 5, 20, 60, 300])
@pytest.mark.parametrize("chance", [Fraction(1, 10), Fraction(1, 2), Fraction(19, 20)])
def test_a_tie_counts_as_below_and_a_hair_above_does_not(trials, chance):
    for count in range(0, trials, max(1, trials // 7)):
        limit = tail(count, trials, chance)
        assert tail_is_below(count, trials, chance, limit)
        assert not tail_is_below(
            count, trials, chance, limit * (1 - Fraction(1, 10**15))
        )


def test_a_doubtful_comparison_of_a_large_sample_is_answered_no():
    chance = Fraction(1, 10)
    assert not tail_is_below(0, 2000, chance, (1 - chance) ** 2000)
    assert tail_is_below(0, 2000, chance, (1 - chance) ** 1999)
