"""What a constraint is called in reports."""

import cvxpy as cp
import numpy as np

import sublevel as sl
from sublevel.robust.judge.build import LONG


def texts(prices):
    """The texts of a robust row and of a certain one, and what was written."""
    demand, w = sl.Uncertain(2), cp.Variable(len(prices), nonneg=True)
    rows = [cp.sum(w) >= cp.sum(demand), prices @ w <= 1e4]
    box = {demand: sl.sets.Box([0.0, 0.0], [1.0, 1.0])}
    ruler = sl.RobustProblem(cp.Minimize(prices @ w), rows, box).prepared().ruler
    return ruler.uncertain[0].text, ruler.certain[0].text, [str(row) for row in rows]


def test_constraints_are_called_by_what_was_written():
    robust, certain, written = texts(np.arange(LONG) + 0.5)
    assert [robust, certain] == written


def test_of_a_long_array_the_ends_are_shown():
    robust, certain, written = texts(np.arange(LONG + 1) + 0.5)
    assert robust == written[0]
    assert certain.startswith("[ 0.5  1.5  2.5 ... 18.5 19.5 20.5] @ ")
    assert certain.endswith(" <= 10000.0")
    assert len(written[1]) > 2 * len(certain)
