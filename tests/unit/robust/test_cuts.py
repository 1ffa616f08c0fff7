"""Cutting planes agree with the dual, and go where the dual cannot."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, SolverFailed
from sublevel.robust import RobustProblem, Uncertain
from sublevel.testing import example_prediction

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("name", sorted(set(sl.losses.NAMES) - {"mahalanobis"}))
def test_cuts_equal_the_dual_for_every_loss(name):
    loss = sl.losses.get(name)
    said = example_prediction(loss.needs, RNG)
    region = sl.sets.sublevel_set(loss, said, float(loss.floor(said)) + 0.6)
    y, x = Uncertain(region.dim, name="y"), cp.Variable(region.dim, nonneg=True)
    profit = RNG.uniform(0.5, 1.5, size=region.dim)
    limits = [y @ x <= 4, cp.max(cp.multiply(y, x)) <= 2, x <= 5]
    robust = RobustProblem(cp.Maximize(profit @ x), limits, {y: region})
    dual, cuts = robust.solve(engine="dual"), robust.solve(engine="cuts")
    assert cuts.objective == pytest.approx(dual.objective, rel=2e-6, abs=2e-6)
    assert dual.audit.passed
    assert cuts.audit.passed


def test_knapsack_over_an_ellipsoid_equals_brute_force():
    """Integer decisions against a curved set: no open-source solver takes the dual."""
    weight, value = RNG.uniform(1, 3, size=7), RNG.uniform(1, 3, size=7)
    region = sl.sets.Ellipsoid(weight, 0.3, 1.0)
    a, x = Uncertain(7, name="weight"), cp.Variable(7, boolean=True)
    robust = RobustProblem(cp.Maximize(value @ x), [a @ x <= 7], {a: region})
    decision = robust.solve()
    fits = [
        np.array(choice)
        for choice in product([0, 1], repeat=7)
        if region.support(choice) <= 7 + 1e-9
    ]
    assert decision.objective == pytest.approx(max(value @ c for c in fits), abs=1e-6)
    assert decision.status == "optimal"


def test_many_label_blocks_with_the_exact_oracle():
    """Twelve blocks of three classes: too many members to write out."""
    costs = [-np.log(RNG.dirichlet(np.ones(3))) for _ in range(12)]
    region = sl.sets.LabelSet(costs, budget=sum(c.min() for c in costs) + 3.0)
    p = Uncertain(36, name="labels", nonneg=True)
    x = cp.Variable(36, nonneg=True)
    loss = RNG.uniform(0, 1, size=36)
    robust = RobustProblem(
        cp.Minimize(p @ cp.pos(loss - x) + 0.4 * cp.sum(x)), [x <= 1], {p: region}
    )
    decision = robust.solve()
    rest = np.maximum(loss - decision.value(x), 0)
    worst = region.support(rest) + 0.4 * decision.value(x).sum()
    assert decision.objective == pytest.approx(worst, abs=1e-5)
    relaxed = RobustProblem(
        cp.Minimize(p @ cp.pos(loss - x) + 0.4 * cp.sum(x)),
        [x <= 1],
        {p: region.relaxation()},
    ).solve()
    assert decision.objective <= relaxed.objective + 1e-6


def test_numbers_and_labels_together():
    loss = sl.losses.Combined(["squared", "cross_entropy"], weights=(1.0, 1.0))
    said = example_prediction(loss.needs, RNG)
    region = sl.sets.sublevel_set(loss, said, float(loss.floor(said)) + 1.0)
    y, x = Uncertain(8, name="y"), cp.Variable(8)
    robust = RobustProblem(
        cp.Minimize(y @ x), [cp.sum(x) == 1, cp.abs(x) <= 1], {y: region}
    )
    decision = robust.solve()
    worst = region.support(decision.value(x))
    assert decision.objective == pytest.approx(worst, abs=1e-5)


def test_what_cuts_need():
    r, x = Uncertain(2, name="r"), cp.Variable(2)
    region = sl.sets.Box([-1.0, 0.5], [1.0, 1.0])
    robust = RobustProblem(cp.Maximize(cp.sum(x)), [r @ x >= -1], {r: region})
    with pytest.raises(SolverFailed, match="Give the variables bounds"):
        robust.solve(engine="cuts")
    with pytest.raises(InvalidParameter, match="'auto', 'dual' or 'cuts'"):
        robust.solve(engine="guess")
    none = RobustProblem(
        cp.Maximize(cp.sum(x)), [r @ x <= -9, cp.norm(x) <= 1], {r: region}
    )
    assert none.solve(engine="cuts").status == "infeasible"
