"""One bar for a whole search, whose end is a forecast."""

import re

import numpy as np
import pytest

from sublevel.robust.outlook import Outlook


def test_the_forecast_is_that_of_the_points_found_so_far():
    outlook = Outlook()
    with outlook.shown(wanted=8.0, progress=False):
        assert outlook.expected(50) == 50  # nothing is known yet
        outlook.learn(np.arange(50), np.where(np.arange(50) < 2, 0.1, -np.inf))
        assert outlook.expected(10) == 50 + 150  # 25 for each of six more
        assert outlook.expected(400) == 450  # a round that was asked for will come
        outlook.learn(np.arange(50), np.full(50, 1.0))
        assert outlook.expected(10) == 110  # more points than that need no more
    assert outlook.bar is None


def test_the_bar_ends_where_the_search_does(capsys):
    outlook = Outlook()
    with outlook.shown(wanted=30.0, progress=True):
        for start in (0, 20):
            outlook.begin(20)
            outlook.bar.advance(20)
            outlook.learn(np.arange(start, start + 20), np.r_[1.0, np.zeros(19)])
    counts = re.findall(r"(\d+)/(\d+) decisions", capsys.readouterr().err)
    assert ("20", "600") in counts
    assert counts[-1] == ("40", "40")


def test_a_search_that_fails_leaves_no_bar_behind():
    outlook = Outlook()
    with pytest.raises(KeyError), outlook.shown(wanted=3.0, progress=True):
        raise KeyError
    assert outlook.bar is None
