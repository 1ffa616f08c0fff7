"""Cutting planes agree with the dual, and go where the dual cannot."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, SolverFailed
from sublevel.robust import Cuts, RobustProblem, Uncertain
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
    assert cuts.bound == pytest.approx(dual.objective, rel=2e-6, abs=2e-6)
    assert max(cuts.gap, dual.gap) < 2e-6


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
    assert decision.gap < 1e-6


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


def test_more_labels_than_can_be_listed():
    costs = [-np.log(RNG.dirichlet(np.ones(4))) for _ in range(20)]
    region = sl.sets.LabelSet(costs, budget=sum(c.max() for c in costs))
    p, x = Uncertain(80, name="labels"), cp.Variable(80)
    robust = RobustProblem(
        cp.Minimize(p @ x), [cp.sum(x) == 1, cp.abs(x) <= 1], {p: region}
    )
    decision = robust.solve()
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(region.support(decision.value(x)))


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


def half_plane(**attributes):
    """max x0 + x1 with r @ x >= -1: unbounded along (0, 1), and infeasible if asked."""
    r, x = Uncertain(2, name="r"), cp.Variable(2, **attributes)
    region = sl.sets.Box([-1.0, 0.5], [1.0, 1.0])
    return r, x, region


@pytest.mark.parametrize("attributes", [{}, {"integer": True}])
def test_unbounded_masters_are_cut_at_infinity_or_shown_unbounded(attributes):
    r, x, region = half_plane(**attributes)
    goal = cp.Maximize(cp.sum(x))
    loose = RobustProblem(goal, [r @ x >= -1], {r: region})
    assert loose.solve(engine="cuts").status == "unbounded"
    none = RobustProblem(goal, [r @ x >= -1, r @ x <= -2], {r: region})
    assert none.solve(engine="cuts").status == "infeasible"
    # The diagonal outcomes leave x[0] - x[1] free; only the others bound it.
    ball = sl.sets.Ellipsoid([0.0, 0.0], radius=1.0)
    bounded = RobustProblem(cp.Maximize(x[0] - x[1]), [r @ x <= 1], {r: ball})
    decision = bounded.solve(engine="cuts")
    best = 1.0 if attributes else np.sqrt(2)
    assert decision.objective == pytest.approx(best, abs=1e-6)


def test_wrong_engines_and_infeasible_models():
    r, x, region = half_plane()
    robust = RobustProblem(cp.Maximize(cp.sum(x)), [r @ x >= -1], {r: region})
    with pytest.raises(SolverFailed, match="Give the variables bounds"):
        robust.solve(engine="cuts", solver="CLARABEL")
    with pytest.raises(InvalidParameter, match=r"'cuts' or sl.robust.Cuts"):
        robust.solve(engine="guess")
    none = RobustProblem(
        cp.Maximize(cp.sum(x)), [r @ x <= -9, cp.norm(x) <= 1], {r: region}
    )
    decision = none.solve(engine="cuts")
    assert decision.status == "infeasible"
    assert np.isnan(decision.gap)


def test_integers_and_curves_together_name_the_way_out():
    r, x, region = half_plane(integer=True)
    robust = RobustProblem(
        cp.Maximize(cp.sum(x)), [r @ x >= -1, cp.norm(x) <= 3], {r: region}
    )
    with pytest.raises(SolverFailed, match=r"linear pieces.*solver='SCIP'"):
        robust.solve(engine="cuts")
    # Around the cones there is a polyhedron: best is the best of the points.
    points = [np.array(p) for p in product(range(-3, 4), repeat=2)]
    kept = [p for p in points if p @ p <= 9 and region.support(-p) <= 1 + 1e-9]
    assert robust.solve().objective == pytest.approx(max(p.sum() for p in kept))


def portfolio(region):
    r, w = Uncertain(region.dim, name="r"), cp.Variable(region.dim, nonneg=True)
    return r, w, RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: region})


def test_stopped_early_brackets_the_optimum_and_the_gap_shrinks():
    mean = RNG.normal(size=8)
    region = sl.sets.Ellipsoid(mean, RNG.uniform(0.5, 1.5, size=8), 2.0)
    _, w, robust = portfolio(region)
    best = robust.solve(engine="dual").objective
    gaps = []
    for rounds in (2, 5, 12, 25):
        early = robust.solve(engine=Cuts(max_rounds=rounds))
        assert early.status == "stopped_early"
        assert early.rounds == rounds
        assert early.audit.passed
        weights = early.value(w)
        assert early.objective == pytest.approx(-region.support(-weights), abs=1e-7)
        assert early.objective <= best + 1e-7 <= early.bound + 2e-7
        largest = max(abs(early.bound), abs(early.objective))
        truth = (early.bound - early.objective) / largest
        assert early.gap == pytest.approx(truth)
        gaps.append(early.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < gaps[0] / 3
    full = robust.solve(engine="cuts")
    assert full.status == "optimal"
    assert full.gap < 1e-6
    assert full.objective == pytest.approx(best, abs=1e-6)


def test_the_best_robust_decision_on_the_way_is_kept_not_the_last():
    """The rounds' own worst cases: the decision is the best of them."""
    mean = np.random.default_rng(4).normal(size=6)
    region = sl.sets.Ellipsoid(mean, radius=1.5)
    _, w, robust = portfolio(region)
    found = [robust.solve(engine=Cuts(max_rounds=k)).objective for k in range(1, 15)]
    assert found == sorted(found)
    assert w.value is not None
    assert -region.support(-w.value) == pytest.approx(found[-1])


@pytest.mark.parametrize("master", ["linear", "curved"])
def test_stopped_early_without_a_robust_decision(master):
    """With an uncertain constraint the masters before the last break it."""
    a, x = Uncertain(3, name="a"), cp.Variable(3)
    region = sl.sets.Ellipsoid(np.ones(3), radius=1.0)
    limits = [a @ x <= 1, x <= 3, x >= -3]
    limits += [cp.norm(x) <= 9] if master == "curved" else []
    robust = RobustProblem(cp.Maximize(cp.sum(x) + x[0]), limits, {a: region})
    early = robust.solve(engine=Cuts(max_rounds=2))
    assert early.status == "out_of_rounds"
    assert not early.decided
    assert early.audit is None
    assert np.isnan(early.objective)
    assert np.isnan(early.gap)
    best = robust.solve(engine="dual").objective
    assert early.bound > best
    with pytest.raises(InvalidParameter, match="no value"):
        early.value(x)


def test_the_bound_of_an_integer_master_is_that_of_branch_and_bound():
    rng = np.random.default_rng(0)
    region = sl.sets.Ellipsoid(rng.uniform(1, 2, size=14), 0.3, 2.0)
    a, x = Uncertain(14, name="a"), cp.Variable(14, boolean=True)
    value = rng.uniform(1, 2, size=14)
    robust = RobustProblem(cp.Maximize(value @ x), [a @ x <= 9], {a: region})
    exact = robust.solve()
    rough = robust.solve(engine=Cuts(gap=0.1))
    assert exact.gap < 1e-6
    assert rough.status == "optimal"
    assert rough.objective <= exact.objective + 1e-9 <= rough.bound + 1e-6
    assert 1e-4 < rough.gap < 0.12


def test_a_policy_takes_the_same_options():
    _, _, robust = portfolio(sl.sets.Ellipsoid(RNG.normal(size=5), radius=2.0))
    policy = robust.compile(engine=Cuts(max_rounds=2))
    assert policy.one_by_one == "cutting planes were asked for"
    assert policy.decide().status.tolist() == ["stopped_early"]


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_squares_in_units(unit):
    """Masters of 1e5 squared had no solution; of 1e-5 squared, too few digits."""
    r, x = sl.Uncertain(2), cp.Variable(1, bounds=[-1, 1.6])
    U = sl.sets.Box([-1.6, 0.8], [2.0, 15.5])
    goal = cp.Minimize(cp.square(unit * (-0.85 * r[1] * x[0] - 0.79)))
    decision = sl.RobustProblem(goal, [], {r: U}).solve(engine="cuts")
    assert decision.status == "optimal"
    # By hand: the two ends of r[1] are equally bad.
    best = -0.79 * 2 / (0.85 * (0.8 + 15.5))
    by_hand = max((0.85 * end * best + 0.79) ** 2 for end in (0.8, 15.5))
    assert decision.objective / unit**2 == pytest.approx(by_hand, rel=1e-5)


def test_a_small_objective_beside_large_variables_has_its_digits():
    r, x = sl.Uncertain(2), cp.Variable(3, nonneg=True)
    inner = np.array([0.0, 0.0, 0.0053]) @ x + np.array([0.0073, 0.0]) @ r + 0.0004
    goal = cp.Minimize(cp.square(inner))
    limits = [x >= 0, x <= np.array([186000.0, 231.0, 2.72])]
    rows = [*limits, np.array([1e-5, 1e-2, 1.0]) @ x == 3.09]
    problem = sl.RobustProblem(goal, rows, {r: sl.sets.Finite([[1.0, 0.0]])})
    decision = problem.solve(engine="cuts")
    assert decision.objective == pytest.approx(0.0077**2, rel=1e-6)


def test_a_row_of_a_minimum_is_measured_in_its_own_units():
    """Of two rows in units of 1e3 and 1e-3 the large one binds: its last digit is not
    a miss of the small one."""
    r, x = sl.Uncertain(3), cp.Variable(1, bounds=[0, 2.23])
    loss = sl.losses.Custom(lambda y, location: cp.norm(y - location, 3))
    U = sl.sets.Sublevel(loss, sl.Prediction(np.array([0.3, 1.3, -1.8])), 0.504)
    large = (
        1360 * x[0]
        + r @ np.array([40.0, 730, -940]) * x[0]
        + np.array([-330.0, -770, -160]) @ r
        - 1851.299
    )
    small = (
        0.00088 * x[0]
        + r @ np.array([0.00062, -0.00094, 0.00066]) * x[0]
        + np.array([-0.00082, 0.00079, 0.00052]) @ r
        - 0.00022885613
    )
    kept = cp.min(cp.hstack([-large, -small])) >= 0
    problem = sl.RobustProblem(cp.Minimize(0.42 * r[2] * x[0]), [kept], {r: U})
    dual, cuts = problem.solve(), problem.solve(engine="cuts")
    assert dual.status == cuts.status == "optimal"
    assert cuts.objective == pytest.approx(dual.objective, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_piece_of_a_minimum_has_the_size_of_what_it_compares(unit):
    """min(a, b) >= 0 is judged as a >= 0 and b >= 0 are: by what a adds up."""
    r, x = sl.Uncertain(1, name="r"), cp.Variable(2, name="x")
    apart = [unit * (x[0] - r[0]) >= 0, x[1] >= 3]
    both = [cp.min(cp.hstack([unit * (x[0] - r[0]), unit * (x[1] - 3 * r[0])])) >= 0]
    U = sl.sets.Box([0.5], [1.0])
    for miss, passes in ((3e-6, True), (3e-4, False)):
        values = {"x": [1.0 - miss, 3.5]}
        for rows in (apart, both):
            problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), rows, {r: U})
            assert problem.audit(values).passed is passes
