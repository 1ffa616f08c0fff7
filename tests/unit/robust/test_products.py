"""An ordinary parameter that multiplies the outcome.

Two packages of the field drop the uncertainty here without a word and return the
nominal value. Here the worst case counts, at whatever value the parameter has.
"""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, NotRobustifiable

CENTER, RADIUS = np.array([1.0, 2.0, 1.5]), 0.8


def model(scale):
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    region = sl.sets.Ellipsoid(CENTER, radius=RADIUS)
    goal = cp.Maximize((scale * r) @ w)
    return sl.RobustProblem(goal, [cp.sum(w) == 1], {r: region}), w


def by_hand(scale):
    w = cp.Variable(3, nonneg=True)
    worst = scale * (CENTER @ w) - abs(scale) * RADIUS * cp.norm(w)
    return cp.Problem(cp.Maximize(worst), [cp.sum(w) == 1]).solve()


@pytest.mark.parametrize("engine", ["dual", "cuts"])
def test_the_worst_case_follows_the_value(engine):
    scale = cp.Parameter(name="scale")
    problem, w = model(scale)
    for value in (1.0, 3.0, -2.0):
        scale.value = value
        decision = problem.solve(engine=engine)
        assert decision.objective == pytest.approx(by_hand(value), rel=1e-6)
        assert decision.objective < value * (CENTER @ decision.value(w))


def test_a_compiled_policy_follows_it_too():
    scale = cp.Parameter(name="scale", value=1.0)
    problem, _ = model(scale)
    policy = problem.compile()
    assert policy.one_by_one is None
    for value in (1.0, 3.0, -2.0, 3.0):
        scale.value = value
        found = policy.decide().objective[0]
        assert found == pytest.approx(by_hand(value), rel=1e-6)


def test_a_constraint_as_well():
    price, limit = cp.Parameter(2, name="price"), cp.Parameter(name="limit")
    d, x = sl.Uncertain(2, name="d"), cp.Variable(2, nonneg=True)
    region = sl.sets.Box([1.0, 2.0], [2.0, 5.0])
    problem = sl.RobustProblem(
        cp.Maximize(cp.sum(x)), [cp.multiply(price, d) @ x <= limit], {d: region}
    )
    price.value, limit.value = np.array([1.0, 4.0]), 6.0
    assert problem.solve().objective == pytest.approx(3.0, rel=1e-6)
    price.value, limit.value = np.array([3.0, 0.1]), 6.0
    assert problem.solve().objective == pytest.approx(12.0, rel=1e-6)


def test_without_a_value_nothing_is_decided():
    problem, _ = model(cp.Parameter(name="scale"))
    with pytest.raises(InvalidParameter, match="'scale' must have a value"):
        problem.solve()


def test_what_is_inexact_stays_refused():
    k = cp.Parameter(nonneg=True, name="k", value=2.0)
    r, z = sl.Uncertain(2, name="r"), cp.Variable(2)
    region = sl.sets.Ellipsoid([0.5, 0.5], radius=0.5)
    bad = k * cp.exp(cp.max(cp.multiply(r, z))) + r @ z <= 4
    with pytest.raises(NotRobustifiable):
        sl.RobustProblem(cp.Minimize(cp.sum(z)), [bad, cp.abs(z) <= 1], {r: region})
