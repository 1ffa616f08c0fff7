"""Cutting planes agree with the dual, and go where the dual cannot."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, SolverFailed
from sublevel.robust import Cuts, RobustProblem, Uncertain
from sublevel.robust.cutting import Loop
from sublevel.robust.cvxpy_master import CvxpyMaster
from sublevel.robust.linear_master import LinearMaster
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


# -- the linear master is the master CVXPY would have solved ---------------------------


def production(kind, seed):
    """Random plans with all that a linear model may have."""
    rng = np.random.default_rng(seed)
    n, k = 3, 2
    integer = {"integer": True} if kind == "integer" else {}
    x = cp.Variable((n, 2), bounds=[-1, np.full((n, 2), 4.0)], **integer)
    part = cp.Variable(3, boolean=[(0, 2)]) if kind == "partly" else cp.Variable(3)
    z = cp.Variable(nonpos=True)
    price = cp.Parameter(n, value=rng.uniform(0.5, 1.5, size=n))
    a, b = Uncertain((n, k), name="a"), Uncertain(n, name="b")
    limits = [
        a.T @ x[:, 0] + cp.sum(part) <= rng.uniform(3, 6, size=k),
        cp.max(cp.multiply(b, x[:, 1])) - 0.1 * z <= 2 + part[0],
        price @ x[:, 1] - b @ x[:, 0] >= -6,
        cp.sum(x[:, 1]) == cp.sum(x[:, 0]),
        cp.norm1(part) <= 2,
        part >= -1,
        z >= -3,
    ]
    sets = {
        a: sl.sets.Ellipsoid(rng.uniform(0, 1, size=n * k), radius=0.4),
        b: sl.sets.Box(rng.uniform(-0.5, 0, size=n), rng.uniform(0.5, 1, size=n)),
    }
    gain = rng.uniform(0, 1, size=(n, 2))
    value = cp.sum(cp.multiply(gain, x)) + z + 0.3 * cp.sum(part) - cp.max(x[:, 0])
    return RobustProblem(cp.Maximize(value), limits, sets), price


def by_cvxpy(robust, solver):
    sets = robust._sets_at(None)
    goal, certain = robust._bounded_goal(), robust._all_certain(sets)
    master = CvxpyMaster(goal, certain, robust._rows(), solver)
    rows = robust._rows()
    found = Loop(master, rows, sets, -1.0, len(rows)).run(1e-7, 500, None)
    return found, master


@pytest.mark.parametrize("kind", ["continuous", "integer", "partly"])
@pytest.mark.parametrize("seed", range(2))
def test_the_linear_master_agrees_with_cvxpy(kind, seed):
    robust, price = production(kind, seed)
    solver = "CLARABEL" if kind == "continuous" else "HIGHS"
    for factor in (1.0, 1.4):
        price.value = factor * price.value
        decision = robust.solve(engine="cuts")
        assert robust._linear_model is not None
        assert decision.status == "optimal"
        found, master = by_cvxpy(robust, solver)
        assert found.status == "optimal"
        # CVXPY leaves HiGHS a relative gap of 1e-4.
        close = 1e-6 if kind == "continuous" else 2e-4
        assert decision.objective == pytest.approx(master.value, rel=close)
        assert decision.objective >= master.value - 1e-5
        assert np.isnan(found.bound) == (kind != "continuous")


def test_structured_and_curved_models_are_left_to_cvxpy():
    r = Uncertain(2, name="r")
    region = sl.sets.Box([0.5, 0.5], [1.0, 1.5])
    x, S = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    cases = [
        ([r @ x <= 1, cp.norm(x) <= 9], cp.sum(x)),
        ([r @ cp.diag(S) <= 1, S <= 2, S >= -2], cp.trace(S)),
        ([r @ x <= 1, x <= 3, x >= -3], cp.sum(x) - cp.sum_squares(x)),
    ]
    for constraints, value in cases:
        robust = RobustProblem(cp.Maximize(value), constraints, {r: region})
        assert robust._linear_model is None
        dual, cuts = robust.solve(engine="dual"), robust.solve(engine="cuts")
        assert cuts.objective == pytest.approx(dual.objective, abs=1e-5)


def test_a_parameter_without_a_value_is_named():
    r, x, p = Uncertain(2, name="r"), cp.Variable(2), cp.Parameter(2, name="price")
    region = sl.sets.Box([0.0, 0.0], [1.0, 1.0])
    for constraint in ([r @ x + p @ x <= 1], [r @ x <= 1, p @ x <= 1]):
        robust = RobustProblem(cp.Maximize(cp.sum(x)), constraint, {r: region})
        with pytest.raises(InvalidParameter, match="'price' must have a value"):
            robust.solve(engine="cuts")


# -- statuses --------------------------------------------------------------------------


def test_a_solver_at_its_limit_is_a_failure():
    robust, _ = production("continuous", 0)
    master = LinearMaster(robust._linear_model, 1e-7)
    master._program._highs.setOptionValue("simplex_iteration_limit", 1)
    master._program._highs.setOptionValue("presolve", "off")
    with pytest.raises(SolverFailed, match="'Iteration limit reached'"):
        master.solve()


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
        robust.solve()


# -- stopped early ---------------------------------------------------------------------


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
        truth = (early.bound - early.objective) / (1 + abs(early.bound))
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
    assert early.status == "stopped_early"
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


# -- scenarios -------------------------------------------------------------------------


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


def test_scenarios_of_several_parameters_and_rows():
    robust, _ = production("continuous", 1)
    first = robust.solve(engine="cuts")
    again = robust.solve(engine=Cuts(scenarios=first.scenarios))
    assert again.objective == pytest.approx(first.objective, abs=1e-6)
    assert again.rounds < first.rounds
    shapes = {p.name(): found.shape for p, found in first.scenarios.items()}
    assert shapes["a"][0] == shapes["b"][0]
    assert (shapes["a"][1], shapes["b"][1]) == (6, 3)


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
        (lambda r: Cuts(max_rounds=0), "must be a positive number"),
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
