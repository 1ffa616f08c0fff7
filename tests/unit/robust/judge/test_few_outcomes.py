"""The worst of few outcomes is the worst of all of them, in whatever order they are."""

from itertools import permutations

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.robust.judge import worst_sum

CORNERS = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.0, 2.0]])
CURVES = {
    "norm": (
        lambda y, x: cp.norm(cp.multiply(y, x)),
        lambda y, x: np.linalg.norm(y * x),
    ),
    "distance": (lambda y, x: cp.norm(x - y), lambda y, x: np.linalg.norm(x - y)),
    "cubic": (lambda y, x: cp.norm(x - y, 3), lambda y, x: np.linalg.norm(x - y, 3)),
    "shortage": (
        lambda y, x: cp.norm(cp.pos(y - x)),
        lambda y, x: np.linalg.norm(np.maximum(y - x, 0)),
    ),
}
SETS = {
    "finite": sl.sets.Finite,
    "union": lambda points: sl.sets.Union(
        [sl.sets.Finite(points[:4]), sl.sets.Finite(points[4:])]
    ),
}


def worst_by_judge(region, curve, at):
    """The worst of  curve(y, x)  as an audit of a limit of 0 finds it."""
    x, y = cp.Variable(len(at), name="x"), sl.Uncertain(len(at), nonneg=True)
    limit = cp.Variable(name="limit")
    rows = [curve(y, x) <= limit, cp.sum(x) >= 0]
    problem = sl.RobustProblem(cp.Minimize(limit), rows, {y: region})
    return problem.audit({"x": at, "limit": 0.0}).slack[0]


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_the_order_of_outcomes_says_nothing(order, monkeypatch):
    region = sl.sets.Finite(CORNERS[list(order)])
    curve = CURVES["norm"][0]
    assert worst_by_judge(region, curve, np.ones(2)) == pytest.approx(np.sqrt(8))
    # The twin: what is worst place by place is not, where it comes late in the list.
    monkeypatch.setattr(worst_sum, "outcomes_of", lambda oracle, n: [])
    found = worst_by_judge(region, curve, np.ones(2))
    assert found <= np.sqrt(8) + 1e-9
    if order == (0, 1, 2, 3):
        assert found < 2.3


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", CURVES)
def test_as_by_trying_all(name, kind):
    curve, by_hand = CURVES[name]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points, at = rng.uniform(0, 3, (8, 3)), rng.uniform(0, 2, 3)
        wanted = max(by_hand(point, at) for point in points)
        found = worst_by_judge(SETS[kind](points), curve, at)
        assert found == pytest.approx(wanted, rel=1e-9)
