"""Warnings name the line of whoever called the library."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X + RNG.normal(size=(200, 2))


@pytest.fixture
def sets():
    return sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])


@pytest.mark.parametrize(
    ("rows", "alpha", "category"),
    [
        (slice(100, 105), 0.01, sl.errors.InfiniteBudget),
        (slice(95, 150), 0.1, sl.errors.RowsSeenBefore),
    ],
)
@pytest.mark.parametrize("door", ["sets", "policy"])
def test_the_users_line_is_named(sets, rows, alpha, category, door):
    calibrated = sets
    if door == "policy":
        import cvxpy as cp

        demand, stock = sl.Uncertain(2, name="demand"), cp.Variable(2)
        goal = cp.Minimize(cp.sum(stock))
        problem = sl.RobustProblem(goal, [stock >= demand], {demand: sets})
        calibrated = problem.compile()
    with pytest.warns(category) as caught:
        calibrated.calibrate(X[rows], Y[rows], alpha=alpha)
    assert [warning.filename for warning in caught] == [__file__]


def test_the_line_of_a_rule_is_named():
    def decide(x, level):
        return x[0] + level

    with pytest.warns(sl.errors.InfiniteBudget) as caught:
        sl.calibrate_rule(
            decide, lambda a, b: b[0] > a, X[:5], Y[:5], alpha=0.01, levels=[0.0, 1.0]
        )
    assert [warning.filename for warning in caught] == [__file__]
