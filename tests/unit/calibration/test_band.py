"""The band of a frontier: bounds at every level at once, and what is chosen by them."""

from math import floor

import numpy as np
import pytest

import sublevel as sl
from sublevel.calibration.band import (
    band_certificate,
    band_of,
    minimum_size,
    search_band,
)
from sublevel.calibration.levels import Given
from sublevel.calibration.search import Looks, Search
from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees.simultaneous import simultaneous_levels

RNG = np.random.default_rng(0)


def window(size, widest):
    return max(1, size - floor(widest * size))


def test_bounds_at_any_level_count_the_scores_at_or_below_it():
    scores = RNG.integers(0, 12, size=200).astype(float)  # with ties
    scores[:3] = np.inf
    band = band_of(scores, widest=0.3, delta=0.1)
    first = window(200, 0.3)
    bounds = simultaneous_levels(200, 0.1, first=first)
    for level in np.arange(-0.5, 13.0, 0.25):
        rank = int(np.sum(scores <= level))
        bound = bounds[rank - first] if rank >= first else 1.0
        expected = bound if bound <= 0.3 else 1.0
        assert band.bound_at(level) == expected
    assert band.bound_at(np.inf) == 0.0
    assert band.beyond[-1] == 0
    assert (np.diff(band.bounds) < 0).all()


def test_the_level_is_the_lowest_that_keeps_alpha():
    scores = RNG.random(300)
    band = band_of(scores, widest=0.3, delta=0.05)
    for alpha in (0.02, 0.05, 0.1, 0.3):
        level = band.level_at(alpha)
        assert band.bound_at(level) <= alpha
        below = np.sort(scores)[np.sort(scores) < level][-1]
        assert band.bound_at(below) > alpha
    assert band.level_at(0.001) == np.inf


def test_a_band_is_lower_than_dkw_and_above_one_level_fixed_in_advance():
    levels = simultaneous_levels(500, 0.05, first=window(500, 0.3))
    allowed = int((levels <= 0.1).sum()) - 1
    fixed = 500 - sl.guarantees.PAC(0.05).rank(500, 0.1)
    dkw = floor(500 * (0.1 - np.sqrt(np.log(1 / 0.05) / 1000)))
    assert dkw < allowed < fixed == 38


@pytest.mark.parametrize("seed", range(20))
def test_the_search_goes_no_further_than_the_band_needs(seed):
    """Violations come and go; the band is that of all envelope scores."""
    rng = np.random.default_rng(seed)
    grid = np.arange(1.0, 21.0)
    bad = rng.random((20, 80)) < np.linspace(0.3, 0.01, 20)[:, None]

    class Rule:
        scores = np.full(80, 1000.0)
        fallback_miss = np.full(80, -np.inf)
        has_fallback, has_sets, wave, proves = False, False, 1, None
        asked = 0

        def look(self, levels, rows):
            self.asked += len(rows)
            here = bad[np.searchsorted(grid, levels), rows]
            return Looks(np.where(here, 1.0, -np.inf), np.ones(len(rows), bool))

    rule = Rule()
    band = search_band(Search(rule, Given(tuple(grid)), False), 0.3, 0.1)
    last = [max(np.flatnonzero(column), default=-1) for column in bad.T]
    envelope = np.array([grid[k + 1] if k < 19 else np.inf for k in last])
    np.testing.assert_array_equal(band.levels, band_of(envelope, 0.3, 0.1).levels)
    assert rule.asked < bad.size


@pytest.mark.parametrize(("alpha", "widest"), [(0.3, 0.3), (0.1, 0.3), (0.05, 0.2)])
def test_the_fewest_points(alpha, widest):
    def keeps(size):
        return simultaneous_levels(size, 0.05, first=window(size, widest))[-1] <= alpha

    size = minimum_size(alpha, widest, 0.05)
    assert keeps(size)
    assert not any(keeps(fewer) for fewer in range(1, size))


def test_certificates_say_that_it_was_looked_at():
    band = band_of(RNG.random(200), widest=0.2, delta=0.1)
    certificate = band_certificate(band, 0.1, "Policy.at_alpha", acts=False)
    assert certificate.guarantee == "DecisionAware, simultaneous"
    assert certificate.confidence == 0.9
    assert certificate.budget == band.level_at(0.1)
    assert "independent and identically distributed" in certificate.assumptions[0]
    text = " ".join(str(certificate).split())
    assert "for every level of the frontier at once" in text
    assert "up to 0.2" in text
    nothing = band_certificate(band, 0.001, "Policy.at_alpha", acts=False)
    assert "needs at least" in nothing.note
    assert nothing.budget == np.inf


# ---- rules and episodes --------------------------------------------------------------

X = RNG.uniform(5, 10, size=300)
Y = X + RNG.normal(size=300)
LEVELS = np.linspace(0, 4, 41)


def margin_rule():
    return sl.calibrate_rule(
        lambda x, level: x + level, lambda d, y: y > d, X, Y, 0.1, LEVELS
    )


def by_definition(scores, alpha, delta=0.05, widest=0.3):
    bounds = simultaneous_levels(len(scores), delta, first=window(len(scores), widest))
    allowed = int((bounds <= alpha).sum()) - 1
    return np.sort(scores)[len(scores) - 1 - allowed]


def test_a_rule_at_a_level_chosen_from_its_frontier():
    rule = margin_rule()
    table = rule.frontier()
    gaps = np.array([LEVELS[gap <= LEVELS][0] for gap in Y - X])
    for alpha in (0.1, 0.05, 0.12):
        chosen = rule.at_alpha(alpha)
        assert chosen.level_ == by_definition(gaps, alpha)
        assert chosen.certificate_.confidence == 0.95
        assert chosen.certificate_.alpha == alpha
    row = table.set_index("alpha").loc[0.1]
    assert row["level"] == rule.at_alpha(0.1).level_ > rule.level_
    assert row["bound"] == rule.band().bound_at(row["level"]) <= 0.1
    assert rule.at_alpha(0.1)([7.0])[0] == 7.0 + row["level"]
    with pytest.raises(InvalidParameter, match=r"at most 0\.3.*got 0\.4"):
        rule.at_alpha(0.4)
    with pytest.warns(InfiniteBudget, match="needs at least"):
        assert rule.at_alpha(0.005).level_ == np.inf


def test_episodes_have_a_frontier_too():
    days = RNG.normal(size=(200, 24))
    rule = sl.calibrate_episodes(
        lambda reserve, day: (day > reserve).any(), days, 0.1, np.linspace(0, 5, 51)
    )
    chosen = rule.at_alpha(0.15)
    assert chosen.level_ > rule.at_alpha(0.3).level_
    assert "any violation in an episode" in chosen.certificate_.event
    assert "simultaneous" in chosen.certificate_.guarantee
