"""Outcomes of one solve start the next, as long as they are in its sets."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.robust import Cuts, RobustProblem, Uncertain

RNG = np.random.default_rng(9)


def portfolio(region):
    r, w = Uncertain(region.dim, name="r"), cp.Variable(region.dim, nonneg=True)
    return r, w, RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: region})


def test_scenarios_are_outcomes_of_the_sets_and_save_rounds():
    mean = RNG.normal(size=6)
    region = sl.sets.Ellipsoid(mean, radius=1.0)
    r, _, robust = portfolio(region)
    first = robust.solve(engine="cuts")
    assert first.scenarios[r].shape[1] == 6
    assert region.contains(first.scenarios[r]).all()
    again = robust.solve(engine=Cuts(scenarios=first.scenarios))
    assert again.objective == pytest.approx(first.objective, abs=1e-7)
    assert again.rounds <= 2 < first.rounds
    r, _, larger = portfolio(sl.sets.Ellipsoid(mean, radius=1.1))
    cold = larger.solve(engine="cuts")
    warm = larger.solve(
        engine=Cuts(scenarios={r: next(iter(first.scenarios.values()))})
    )
    assert warm.objective == pytest.approx(cold.objective, abs=1e-6)
    assert warm.rounds < cold.rounds


def test_scenarios_outside_the_set_are_left_out():
    """Kept, they would protect against what cannot happen."""
    r, _, robust = portfolio(sl.sets.Box([1.0, 0.5], [2.0, 0.9]))
    disaster = {r: np.array([[-9.0, -9.0], [1.5, 0.7]])}
    decision = robust.solve(engine=Cuts(scenarios=disaster))
    assert decision.objective == pytest.approx(1.0)
    assert not (decision.scenarios[r] < 0).any()


def test_shared_sets_keep_scenarios_together():
    a, b, x = Uncertain(2, name="a"), Uncertain(1, name="b"), cp.Variable(2)
    joint = sl.sets.Ellipsoid([1.0, 1.0, 1.0], radius=0.5)
    limits = [a @ x + b @ x[:1] <= 1, x >= 0]
    robust = RobustProblem(cp.Maximize(cp.sum(x)), limits, {(a, b): joint})
    first = robust.solve(engine="cuts")
    both = np.hstack([first.scenarios[a], first.scenarios[b]])
    assert joint.contains(both).all()
    again = robust.solve(engine=Cuts(scenarios=first.scenarios))
    assert again.rounds < first.rounds


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: Cuts(scenarios=[1]), "dict from sl.Uncertain"),
        (lambda r: Cuts(scenarios={}), "must have outcomes of 'r'"),
        (lambda r: Cuts(scenarios={r: np.ones(2)}), r"shape \(n, 2\)"),
        (lambda r: Cuts(tolerance=0.0), "must be a positive number"),
        (lambda r: Cuts(tolerance=1e-4), "fails its audit"),
        (lambda r: Cuts(gap=1.0), "strictly between 0 and 1"),
        (lambda r: Cuts(max_rounds=0), "must be an integer of at least 1"),
        (lambda r: Cuts(max_rounds=1.5), "must be an integer"),
    ],
)
def test_wrong_turns(make, message):
    r, _, robust = portfolio(sl.sets.Box([1.0, 0.5], [2.0, 0.9]))
    with pytest.raises(InvalidParameter, match=message):
        robust.solve(engine=make(r))


def test_scenarios_of_different_length():
    a, b, x = Uncertain(1, name="a"), Uncertain(1, name="b"), cp.Variable(1)
    box = sl.sets.Box([0.0], [1.0])
    given = {a: np.zeros((2, 1)), b: np.zeros((3, 1))}
    apart = RobustProblem(cp.Minimize(x[0]), [x >= a, x >= b], {a: box, b: box})
    joint = sl.sets.Box([0.0, 0.0], [1.0, 1.0])
    shared = RobustProblem(cp.Minimize(x[0]), [x >= a, x >= b], {(a, b): joint})
    for robust in (apart, shared):
        with pytest.raises(InvalidParameter, match="as many outcomes"):
            robust.solve(engine=Cuts(scenarios=given))
