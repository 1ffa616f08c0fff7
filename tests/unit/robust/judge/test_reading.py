"""When two readings of an expression are the same."""

import numpy as np
import pytest

from sublevel.robust.judge.reading import CLOSE, are_close

WRITTEN = np.array([[1.0, -2.0], [1e-9, np.inf]])


def never():
    raise AssertionError("sizes are asked for only where values differ")


def test_equal_numbers_need_no_sizes():
    assert are_close(WRITTEN, WRITTEN, never)
    assert are_close(WRITTEN * (1 + CLOSE / 4), WRITTEN, never)
    holes = np.array([[np.nan]])
    assert are_close(holes, holes, never)


@pytest.mark.parametrize(("factor", "same"), [(0.5, True), (2.0, False)])
def test_what_cancelled_is_compared_by_what_was_added_up(factor, same):
    """1e6 - 1e6 leaves the rounding of 1e6, not of 0."""
    sizes = np.full((1, 1), 2e6)
    off = factor * CLOSE * sizes
    assert are_close(off, np.zeros((1, 1)), lambda: sizes) is same


@pytest.mark.parametrize("other", [np.nan, -np.inf, 0.0, -1.0])
@pytest.mark.parametrize("place", [(0, 0), (1, 1)])
def test_one_number_that_differs_is_enough(other, place):
    values = WRITTEN.copy()
    values[place] = other
    assert not are_close(values, WRITTEN, lambda: np.abs(WRITTEN))
