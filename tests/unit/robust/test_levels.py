"""Grids that owe nothing to the data: of the data only where to begin and to end."""

from itertools import pairwise

import numpy as np
import pytest

from sublevel.calibration.levels import (
    DEPTH,
    Geometric,
    Given,
    Signed,
    as_levels,
)
from sublevel.errors import InvalidParameter


@pytest.mark.parametrize("unit", [1e-9, 0.3, 1.0, 7e8])
@pytest.mark.parametrize("grid", [Geometric(), Signed()])
def test_two_samples_share_their_grid(grid, unit):
    rng = np.random.default_rng(0)
    first, second = unit * rng.gamma(1, size=30), unit * rng.gamma(3, size=50)
    one, other = (list(grid.downwards(scores)) for scores in (first, second))
    low, high = max(one[-1], other[-1]), min(one[0], other[0])
    assert [v for v in one if low <= v <= high] == [
        v for v in other if low <= v <= high
    ]


@pytest.mark.parametrize("grid", [Geometric(), Signed()])
def test_from_above_all_scores_downwards_without_a_gap(grid):
    scores = np.array([0.2, 3.0, 1.05**7])
    levels = np.array(list(grid.downwards(scores)))
    assert levels[0] >= scores.max()
    assert levels[1] < scores.max()
    assert (np.diff(levels) < 0).all()
    assert (levels[:-1] - levels[1:] <= 0.051 * np.hypot(1, levels[1:])).all()


def test_geometric_goes_far_below_the_middle():
    scores = np.array([1.0, 2.0, 3.0, np.inf])
    levels = list(Geometric().downwards(scores))
    assert levels[-1] <= DEPTH * 2.0 < levels[-2]
    assert levels[0] / 3.0 < 1.05


def test_signed_goes_below_the_least():
    scores = np.array([-4.0, 2.0, np.inf])
    levels = list(Signed().downwards(scores))
    assert levels[-1] < -4.0 <= levels[-2]
    assert 0.0 in levels


def test_signed_goes_as_far_below_the_least_as_a_quarter_lies_above():
    scores = np.array([10.0, 16.0, 16.0, 18.0, 30.0])
    levels = list(Signed().downwards(scores))
    assert levels[-1] < 4.0 <= levels[-2]


def test_a_heavy_tail_costs_few_levels():
    scores = np.array([-4.0, 1e12])
    assert len(list(Signed().downwards(scores))) < 700
    assert len(list(Geometric().downwards(np.array([1.0, 1.0, 1e12])))) < 1000


@pytest.mark.parametrize("scores", [[0.0, 0.0], [np.inf], [0.0, np.inf]])
def test_nothing_to_cover(scores):
    assert list(Geometric().downwards(np.array(scores))) == [0.0]
    assert list(Signed().downwards(np.array([np.inf]))) == [0.0]


def test_the_users_own_levels():
    found = as_levels([1.0, 3.0, 2.0, 3.0], signed=False, owner="calibrate")
    assert found == Given((1.0, 2.0, 3.0))
    assert list(found.downwards(np.array([9.0]))) == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    "grid", [[], 1.0, [[1.0]], [1.0, np.nan], [np.inf], "many", [None], ["a"]]
)
def test_a_grid_must_be_a_list_of_numbers(grid):
    with pytest.raises(
        InvalidParameter, match=r"grid=\.\.\.\) must be (a non-empty|numeric)"
    ):
        as_levels(grid, signed=False, owner="calibrate")


@pytest.mark.parametrize("grid", [Geometric(), Signed()])
def test_up_is_the_next_level_and_levels_stay(grid):
    levels = np.array(list(grid.downwards(np.array([1e-7, 3.0, 1e6]))))[::-1]
    for low, high in pairwise(levels):
        assert grid.up(float(high)) == high
        assert grid.up(float(low + 0.3 * (high - low))) == high
    assert grid.up(np.inf) == np.inf


def test_up_from_below_and_from_above():
    assert Geometric().up(0.0) == 0.0
    given = Given((1.0, 2.0))
    assert [given.up(v) for v in (0.5, 1.0, 1.5, 2.5)] == [1.0, 1.0, 2.0, 2.5]
