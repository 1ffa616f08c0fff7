"""Integer variables beside cones: against enumeration, and against SCIP."""

import re
import time
from itertools import combinations, count, product
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.conic.substitution import substituted_problem
from sublevel.errors import InvalidParameter
from sublevel.robust import Integers, RobustProblem, Uncertain
from sublevel.robust.solve.cuts.live_highs import LiveHighs
from sublevel.robust.solve.mixed import outer, task, tree
from sublevel.robust.solve.mixed.memory import Memory
from sublevel.robust.solve.mixed.split_cone import largest_diagonal, split_cone
from sublevel.robust.solve.mixed.steps import Steps

HAS_SCIP = "SCIP" in cp.installed_solvers()
LOSSES = ("squared", "absolute", "huber")


def tilted(spread, rng):
    """The square root of a covariance with two common factors."""
    factors = rng.normal(size=(len(spread), 2)) * spread[:, None] / 2
    return np.linalg.cholesky(factors @ factors.T + np.diag(spread**2) / 2)


def subsets(n, k):
    rows = np.array(list(combinations(range(n), k)))
    every = np.zeros((len(rows), n))
    every[np.arange(len(rows))[:, None], rows] = 1.0
    return every


def choosing(seed, shape, n=20, k=8):
    """Choose k of n; the best of all choices, from the support of the set alone."""
    rng = np.random.default_rng(seed)
    gain, spread = rng.normal(1.0, 0.3, n), rng.uniform(0.1, 0.6, n)
    every = subsets(n, k)
    if shape == "manhattan":
        region = sl.sets.L1Ball(gain, spread, 1.5)
        worst = every @ gain - 1.5 * np.abs(every * spread).max(axis=1)
    else:
        scale = {"straight": spread, "tilted": tilted(spread, rng)}.get(shape)
        if scale is None:
            # As many directions as there are items.
            scale = spread[:, None] * rng.normal(size=(n, n)) / np.sqrt(n)
        region = sl.sets.Ellipsoid(gain, scale, 1.5)
        square = np.diag(scale) if scale.ndim == 1 else scale
        worst = every @ gain - 1.5 * np.linalg.norm(every @ square, axis=1)
    r, pick = Uncertain(n, name="gain"), cp.Variable(n, boolean=True)
    problem = RobustProblem(cp.Maximize(r @ pick), [cp.sum(pick) == k], {r: region})
    return problem, float(worst.max())


@pytest.mark.parametrize("shape", ["straight", "tilted", "dense", "manhattan"])
@pytest.mark.parametrize("seed", range(2))
def test_eight_of_twenty_are_the_best_of_all_choices_within_seconds(shape, seed):
    problem, best = choosing(seed, shape)
    start = time.process_time()
    decision = problem.solve()
    # The aim is 2 s; this must hold on a slow machine too.
    assert time.process_time() - start < 8
    assert decision.status == "optimal"
    assert decision.audit.passed
    assert decision.objective == pytest.approx(best, rel=1e-7)
    assert decision.bound >= decision.objective
    assert decision.gap <= 1e-6


def knapsack(seed, n, share=3):
    rng = np.random.default_rng(seed)
    value = rng.uniform(1, 10, n)
    weight = value * rng.uniform(0.7, 1.3, n) + rng.uniform(0, 2, n)
    scale = tilted(0.3 * weight, rng) if seed % 2 else 0.3 * weight
    region = sl.sets.Ellipsoid(weight, scale, 2.0)
    w, take = Uncertain(n, name="weight"), cp.Variable(n, boolean=True, name="take")
    room = weight.sum() / share
    goal, limits = cp.Maximize(value @ take), [w @ take <= room]
    return RobustProblem(goal, limits, {w: region}), value, region, room


@pytest.mark.parametrize("seed", range(4))
def test_knapsacks_are_the_best_of_all_that_fit(seed):
    problem, value, region, room = knapsack(seed, 11)
    decision = problem.solve()
    fits = [c for c in product([0.0, 1.0], repeat=11) if region.support(c) <= room]
    assert decision.objective == pytest.approx(max(value @ c for c in fits), rel=1e-7)
    assert decision.status == "optimal"


def test_sixty_items_are_packed_and_the_bound_agrees():
    problem, value, region, room = knapsack(0, 60)
    start = time.process_time()
    decision = problem.solve()
    assert time.process_time() - start < 20
    taken = decision.value("take")
    assert region.support(taken) <= room * (1 + 1e-9)
    assert value @ taken == pytest.approx(decision.bound, rel=1e-6)


def dense_knapsack(seed, n):
    rng = np.random.default_rng(seed)
    value = rng.uniform(1, 10, n)
    weight = value * rng.uniform(0.7, 1.3, n) + rng.uniform(0, 2, n)
    scale = 0.3 * weight[:, None] * rng.normal(size=(n, n)) / np.sqrt(n)
    region, room = sl.sets.Ellipsoid(weight, scale, 2.0), weight.sum() / 3
    w, take = Uncertain(n, name="weight"), cp.Variable(n, boolean=True, name="take")
    goal, limits = cp.Maximize(value @ take), [w @ take <= room]
    return RobustProblem(goal, limits, {w: region}), value, region, room


@pytest.mark.parametrize("seed", range(3))
def test_dense_knapsacks_are_the_best_of_all_that_fit(seed):
    problem, value, region, room = dense_knapsack(seed, 11)
    decision = problem.solve()
    fits = [c for c in product([0.0, 1.0], repeat=11) if region.support(c) <= room]
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(max(value @ c for c in fits), rel=1e-7)


@pytest.mark.slow
def test_sixty_items_over_a_dense_ellipsoid_are_packed_within_seconds():
    problem, *_ = dense_knapsack(1, 60)
    start = time.process_time()
    decision = problem.solve()
    # The aim is 10 s; this must hold on a slow machine too.
    assert time.process_time() - start < 30
    assert decision.status == "optimal"
    assert decision.gap <= 1e-6
    # By branch and bound of SCIP, which shares nothing with ours.
    assert decision.objective == pytest.approx(123.2188365663364, rel=1e-7)


def by_looks(monkeypatch):
    """Seconds that pass only when the clock is looked at: the same on any machine."""
    clock = SimpleNamespace(monotonic=count(0.0, 1.0).__next__)
    for module in (outer, task, tree):
        monkeypatch.setattr(module, "time", clock)


def test_time_that_runs_out_comes_with_a_decision_and_its_gap(monkeypatch):
    by_looks(monkeypatch)
    problem, *_ = dense_knapsack(0, 60)
    soon, later = (
        problem.solve(engine=Integers(time_limit=seconds)) for seconds in (20.0, 150.0)
    )
    for early in (soon, later):
        assert early.status == "stopped_early"
        assert early.audit.passed
        # Its optimum, by SCIP, is in between.
        assert early.objective <= 117.9694933
        assert early.bound >= 117.9694932
        width = early.bound - early.objective
        assert early.gap == pytest.approx(width / early.bound, rel=0.1)
        assert early.gap < 0.1
    assert later.gap < soon.gap


def random_model(seed):
    """Whole numbers, binaries and ordinary variables, and a norm of the model's own."""
    rng = np.random.default_rng(seed)
    a, b = Uncertain(3, name="a"), Uncertain(2, name="b")
    x = cp.Variable(3, integer=True, bounds=[-1, 1])
    z, y = cp.Variable(2, boolean=True), cp.Variable(2, bounds=[-1, 1])
    gain = rng.normal(size=7)
    limits = [
        a @ x + b @ z <= 2.0,
        cp.norm(cp.hstack([x[0] - y[0], x[1] + y[1], z[0]])) <= 1.4,
        cp.abs(x[2] - y[0]) <= 1.5,
    ]
    sets = {
        a: sl.sets.Ellipsoid(rng.normal(size=3), rng.uniform(0.2, 0.6, 3)),
        b: sl.sets.Ellipsoid(rng.normal(size=2), rng.uniform(0.2, 0.6, 2)),
    }
    goal = cp.Maximize(gain @ cp.hstack([x, z, y]) - 0.1 * cp.sum_squares(y))
    return RobustProblem(goal, limits, sets), (x, z, y)


def by_enumeration(problem, variables):
    """Every choice of the whole numbers, the rest by CVXPY: no branching anywhere."""
    x, z, _ = variables
    best = -np.inf
    (a, U), (b, V) = ((key.parameters[0], key.source) for key in problem.keys)
    first, *others = problem.constraints
    assert {p.id for p in first.parameters()} == {a.id, b.id}
    for whole in product(range(-1, 2), repeat=3):
        for chosen in product([0, 1], repeat=2):
            if U.support(whole) + V.support(chosen) > 2.0 + 1e-9:
                continue
            pinned = [x == np.array(whole), z == np.array(chosen)]
            inner = cp.Problem(problem.objective, [*others, *pinned])
            plain = _without_integers(inner)
            value = plain.solve(solver=cp.CLARABEL)
            best = max(best, value) if np.isfinite(value) else best
    return best


def _without_integers(problem):
    plain = {
        v.id: cp.Variable(v.shape)
        for v in problem.variables()
        if v.attributes["boolean"] or v.attributes["integer"]
    }
    return substituted_problem(problem, plain)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_mixed_models_with_norms_of_their_own_equal_enumeration(seed):
    problem, variables = random_model(seed)
    decision = problem.solve()
    assert decision.status == "optimal"
    best = by_enumeration(problem, variables)
    assert decision.objective == pytest.approx(best, rel=1e-5)
    for variable in variables[:2]:
        values = decision.value(variable)
        assert (values == np.round(values)).all()


def random_set(kind, n, rng):
    center, spread = rng.normal(size=n), rng.uniform(0.2, 0.8, n)
    ball = sl.sets.Ellipsoid(
        center, spread if kind != "tilted" else tilted(spread, rng)
    )
    if kind == "cut":
        return ball & sl.sets.Box(center - spread / 2, np.full(n, 9.0))
    if kind == "both":
        return ball & sl.sets.L1Ball(center, spread, 1.2)
    if kind == "image":
        return sl.sets.AffineImage(ball, rng.normal(size=(n, n)), center)
    return sl.sets.L1Ball(center, spread) if kind == "manhattan" else ball


@pytest.mark.parametrize(
    "kind", ["straight", "tilted", "manhattan", "cut", "both", "image"]
)
def test_decisions_beside_constants_are_the_best_of_all(kind):
    """Directions 1 + x, 2 - x and the like: squares whose slopes are negative too."""
    every = np.array(list(product([0.0, 1.0], repeat=4)))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        U, V = random_set(kind, 4, rng), random_set("tilted", 4, rng)
        a, b, x = (
            Uncertain(4, name="a"),
            Uncertain(4, name="b"),
            cp.Variable(4, boolean=True),
        )
        shift, slope = rng.normal(size=4), rng.normal(size=4)
        at = shift + cp.multiply(slope, x)
        gain = rng.normal(size=4)
        limit = float(np.median([V.support(row) for row in every]))
        problem = RobustProblem(
            cp.Minimize(a @ at - gain @ x), [b @ x <= limit], {a: U, b: V}
        )
        decision = problem.solve()
        worth = [
            U.support(shift + slope * row) - gain @ row
            for row in every
            if V.support(row) <= limit * (1 + 1e-9 * np.sign(limit))
        ]
        assert decision.status == "optimal"
        assert decision.objective == pytest.approx(min(worth), rel=1e-5, abs=1e-6)
        assert decision.bound <= min(worth) + 1e-6


def test_models_without_a_robust_decision_are_infeasible():
    problem, *_ = knapsack(1, 8)
    (key,) = problem.keys
    take = problem.prepared().model.variables[0]
    crowded = [*problem.constraints, cp.sum(take) == 7]
    none = RobustProblem(problem.objective, crowded, {key.parameters[0]: key.source})
    assert none.solve().status == "infeasible"


@pytest.mark.parametrize("uncertain", [True, False])
def test_integers_beside_numbers_and_labels_go_through_cuts(uncertain):
    """At this budget the label is the likely one, and the number an interval."""
    losses = [sl.losses.Mahalanobis([[1.8]]), sl.losses.ZeroOne()]
    loss = sl.losses.Combined(losses, weights=(2.0, 1.6))
    likely = sl.predictions.LabelPrediction((np.array([0.6, 0.4]),))
    both = sl.predictions.JointPrediction((sl.Prediction(np.array([0.8])), likely))
    region = sl.sets.sublevel_set(loss, both, 0.05)
    y, z = Uncertain(3, name="y"), cp.Variable(2, boolean=True)
    cost = y[0] * (z[0] - 2) + y[1] * z[1] if uncertain else -z[0] + z[1]
    decision = RobustProblem(cp.Minimize(cost), [z[1] >= z[0]], {y: region}).solve()
    every = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    if uncertain:
        worth = [region.support(np.array([a - 2, b, 0.0])) for a, b in every]
    else:
        worth = [b - a for a, b in every]
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(min(worth), abs=1e-6)


# -- limits mean what they say -------------------------------------------------------


def test_a_gap_is_kept_and_its_bound_is_valid():
    problem, best = choosing(1, "tilted")
    loose = problem.solve(engine=Integers(gap=0.05))
    assert loose.status == "optimal"
    assert loose.audit.passed
    assert loose.objective <= best + 1e-7
    assert loose.bound >= best - 1e-7
    assert loose.gap <= 0.05


def test_no_time_leaves_no_decision_and_no_bound_that_is_wrong(monkeypatch):
    by_looks(monkeypatch)
    problem, *_ = knapsack(3, 60, share=2)
    none = problem.solve(engine=Integers(time_limit=1e-9))
    assert none.status == "out_of_time"
    assert np.isnan(none.objective)
    assert not none.bound < problem.solve().objective * (1 - 1e-7)


def test_every_run_of_branch_and_bound_has_its_own_seconds():
    """A market split, which takes minutes: neither too long nor too short."""
    rng = np.random.default_rng(0)
    rows, n = 4, 35
    table = rng.integers(0, 100, (rows, n)).astype(float)
    upper = np.append(np.ones(n), np.full(2 * rows, 1e4))
    cost = np.append(np.zeros(n), np.ones(2 * rows))
    highs = LiveHighs(np.zeros(len(cost)), upper, cost, np.arange(n), 1e-7)
    for i, row in enumerate(table):
        columns = [*range(n), n + i, n + rows + i]
        half = row.sum() // 2
        highs.add_rows([n + 2], columns, np.append(row, [1.0, -1.0]), [half], [half])
    for seconds in (0.6, 0.3, 0.0, 0.3):
        begun, spent = time.monotonic(), time.process_time()
        assert highs.run(seconds) == "stopped_early"
        assert time.monotonic() - begun >= 0.9 * seconds
        # What others do on the machine must not count.
        assert time.process_time() - spent < seconds + 1.2


def test_rounds_that_run_out_are_told():
    problem, best = choosing(1, "tilted")
    early = problem.solve(engine=Integers(max_rounds=1, warm=False))
    assert early.status in ("stopped_early", "optimal")
    assert early.rounds == 1
    assert early.objective <= best + 1e-7 <= early.bound + 2e-7


def test_limits_that_are_none_are_refused():
    for wrong in ({"gap": 0.0}, {"time_limit": -1.0}, {"max_rounds": 0}, {"warm": 1}):
        with pytest.raises(InvalidParameter, match="Integers"):
            Integers(**wrong)


# -- contexts -------------------------------------------------------------------------


def contexts(loss, seed=0, n=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    Y = 2 + X @ rng.normal(size=(2, n)) / 3 + rng.normal(size=(120, n)) / 4
    sets = sl.LossSet(LinearRegression(), loss=loss).fit(X[:60], Y[:60])
    sets.calibrate(X[60:100], Y[60:100], alpha=0.2)
    cost, pick = Uncertain(n, name="cost"), cp.Variable(n, boolean=True, name="pick")
    most = cp.Parameter(value=3.0)
    limits = [cp.sum(pick) >= most]
    return RobustProblem(cp.Minimize(cost @ pick), limits, {cost: sets}), sets, X[100:]


@pytest.mark.parametrize("loss", LOSSES)
def test_contexts_share_a_program_and_each_has_its_best_decision(loss):
    problem, sets, X = contexts(loss)
    every = np.array(list(product([0.0, 1.0], repeat=6)))
    every = every[every.sum(axis=1) >= 3]
    warm, cold = (
        problem.compile(engine=Integers(warm=warm)).decide(X[:8])
        for warm in (True, False)
    )
    for i, region in enumerate(sets.predict_set(X[:8])):
        best = min(region.support(choice) for choice in every)
        assert warm.objective[i] == pytest.approx(best, rel=1e-6)
        assert cold.objective[i] == pytest.approx(best, rel=1e-6)
    assert (warm.status == "optimal").all()
    assert (warm.value("pick") == cold.value("pick")).all()


def test_what_is_left_behind_does_not_outlive_a_parameter():
    """A parameter that takes another value changes the decision, warm or not."""
    problem, sets, X = contexts("squared")
    policy = problem.compile()
    (most,) = problem.prepared().model.ordinary
    first = policy.decide(X[:3]).objective
    most.value = 5.0
    second = policy.decide(X[:3]).objective
    every = np.array(list(product([0.0, 1.0], repeat=6)))
    every = every[every.sum(axis=1) >= 5]
    best = [min(U.support(c) for c in every) for U in sets.predict_set(X[:3])]
    assert second == pytest.approx(np.array(best), rel=1e-6)
    assert (second > first).all()


def test_decisions_with_integers_are_calibrated_with_a_bar(capsys):
    problem, _, X = contexts("squared")
    rng = np.random.default_rng(1)
    Y = 2 + rng.normal(size=(len(X), 6)) / 3
    policy = problem.compile()
    policy.calibrate(X, Y, alpha=0.3, grid=np.geomspace(0.2, 20, 6), progress=True)
    bars = capsys.readouterr().err
    # One bar for all rounds, whose end moves, and nothing is left at the end.
    counts = re.findall(r"(\d+)/(\d+) decisions \[[^\]]* left\]", bars)
    assert len({total for _, total in counts}) > 1
    assert counts[-1][0] == counts[-1][1] != "0"
    assert bars.count("\n") == 1
    assert policy.certificate_.alpha == 0.3


# -- cuts -----------------------------------------------------------------------------


def test_steps_are_never_more_than_the_root_and_meet_it_at_binaries():
    rng = np.random.default_rng(0)
    weights = np.append(rng.uniform(0, 2, 4), [-0.3, -0.15])
    steps = Steps(np.arange(6), weights, 0.5)
    every = np.array(list(product([0.0, 1.0], repeat=6)))
    roots = np.sqrt(0.5 + every @ steps.weights)
    for _ in range(50):
        start, each = steps.along(rng.permutation(6))
        assert (start + every @ each <= roots + 1e-12).all()
    least = np.array([steps.least(row) for row in every])
    assert least == pytest.approx(roots)


@pytest.mark.parametrize("rank", [0, 2, 6])
def test_split_cones_have_the_same_norm_at_binaries_and_a_larger_one_between(rank):
    rng = np.random.default_rng(rank)
    common = rng.normal(size=(6, rank))
    spread = np.linalg.cholesky(common @ common.T + np.eye(6)).T
    rows = sp.csr_array(np.vstack([np.zeros((1, 6)), spread]))
    # Where entries see one binary each, they may have a constant too.
    right = np.append(0.0, rng.normal(size=6)) if rank == 0 else np.zeros(7)
    cone = split_cone(rows, right, np.arange(6))
    assert cone.steps is not None
    for point in product([0.0, 1.0], repeat=6):
        norm = np.linalg.norm(right[1:] - spread @ np.array(point))
        assert np.linalg.norm(cone.at(np.array(point))[1]) == pytest.approx(norm)
    for _ in range(20):
        point = rng.uniform(size=6)
        norm = np.linalg.norm(right[1:] - spread @ point)
        assert np.linalg.norm(cone.at(point)[1]) >= norm - 1e-9


@pytest.mark.parametrize("rank", [0, 2, 6])
def test_tangents_cut_off_the_point_and_no_binaries_inside(rank):
    rng = np.random.default_rng(rank)
    common = rng.normal(size=(6, rank))
    spread = np.linalg.cholesky(common @ common.T + np.eye(6)).T
    first = rng.normal(size=6)
    rows = sp.csr_array(np.vstack([first, spread]))
    cone = split_cone(rows, np.append(2.0, np.zeros(6)), np.arange(6))
    every = np.array(list(product([0.0, 1.0], repeat=6)))
    inside = np.linalg.norm(every @ spread.T, axis=1) <= 2.0 - every @ first
    assert 0 < inside.sum() < len(every)
    for _ in range(60):
        point = rng.uniform(size=6)
        excess, norm, row, lower = cone.tangent(point)
        assert lower - row @ point == pytest.approx(excess, abs=1e-12)
        assert norm >= np.linalg.norm(spread @ point) - 1e-9
        assert (every[inside] @ row >= lower - 1e-9).all()


def test_the_largest_diagonal_is_that_of_a_semidefinite_program():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(9, 5))
    square = table.T @ table
    size = np.sqrt(np.diag(square))
    square /= np.outer(size, size)
    taken = largest_diagonal(square)
    d = cp.Variable(5, nonneg=True)
    best = cp.Problem(cp.Maximize(cp.sum(d)), [square - cp.diag(d) >> 0])
    assert taken.sum() == pytest.approx(best.solve(solver=cp.CLARABEL), abs=1e-6)
    assert np.linalg.eigvalsh(square - np.diag(taken))[0] >= -1e-12


@pytest.mark.parametrize("calls", [1, 25])
def test_a_diagonal_is_taken_as_far_as_digits_go(calls, monkeypatch):
    """What is left may be singular to the last digit, which depends on the machine."""
    square, inverse, asked = np.eye(4) / 2 + 0.5, np.linalg.inv, []

    def gives_up(matrix):
        asked.append(matrix)
        if len(asked) > calls:
            raise np.linalg.LinAlgError("Singular matrix")
        return inverse(matrix)

    full = largest_diagonal(square)
    monkeypatch.setattr(np.linalg, "inv", gives_up)
    taken = largest_diagonal(square)
    assert len(asked) == calls + 1
    assert 0 < taken.sum() < full.sum()
    assert np.linalg.eigvalsh(square - np.diag(taken))[0] >= -1e-12


# -- SCIP -----------------------------------------------------------------------------


@pytest.mark.skipif(not HAS_SCIP, reason="pyscipopt is not installed")
@pytest.mark.parametrize("seed", range(2))
def test_scip_agrees(seed):
    for problem in (
        choosing(seed, "tilted")[0],
        knapsack(seed, 30)[0],
        random_model(seed)[0],
    ):
        ours, theirs = problem.solve(), problem.solve(solver="SCIP")
        assert theirs.status == "optimal"
        assert theirs.audit.passed
        assert ours.objective == pytest.approx(theirs.objective, rel=2e-6)
        assert theirs.bound >= theirs.objective - 1e-9
        assert theirs.gap <= 1e-5


@pytest.mark.skipif(not HAS_SCIP, reason="pyscipopt is not installed")
def test_limits_reach_scip():
    problem, best = choosing(1, "tilted")
    none = problem.solve(engine=Integers(time_limit=1e-9), solver="SCIP")
    assert none.status == "out_of_time"
    assert np.isnan(none.objective)
    assert not none.bound < best - 1e-6
    loose = problem.solve(engine=Integers(gap=0.2), solver="SCIP")
    assert loose.status == "optimal"
    assert loose.objective <= best + 1e-6 <= loose.bound + 2e-6
    assert 1e-6 < loose.gap <= 0.2


def test_limits_that_cannot_be_handed_over_are_refused():
    problem, *_ = knapsack(1, 8)
    with pytest.raises(InvalidParameter, match=r"time_limit=.*SCIPY"):
        problem.solve(engine=Integers(time_limit=5.0), solver="SCIPY")


def test_directions_of_cones_of_other_sizes_are_kept_side_by_side():
    memory = Memory()
    memory.keep_tangent(0, np.array([0.6, 0.8]))
    memory.keep_tangent(0, np.array([0.6, 0.0, 0.8]))
    memory.keep_tangent(0, np.array([0.6, 0.8]))
    assert [len(kept) for kept in memory.tangents[0]] == [2, 3]


# -- which road -----------------------------------------------------------------------


def test_cones_that_no_integer_moves_are_left_to_highs(monkeypatch):
    """Covering: the worst case is a number, however the integers are chosen."""

    def refuse(searched, most_nodes):
        raise AssertionError("a tree of ours has nothing to add here")

    monkeypatch.setattr(tree.Tree, "solve", refuse)
    rng = np.random.default_rng(3)
    on_duty = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1.0]])
    factor = rng.normal(size=(3, 3))
    region = sl.sets.Ellipsoid(np.full(3, 9.0), factor, 1.0)
    need, people = sl.Uncertain(3), cp.Variable(3, integer=True, nonneg=True)
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(people)), [on_duty @ people >= need], {need: region}
    )
    decision = problem.solve()
    worst = 9.0 + np.linalg.norm(factor, axis=1)
    best = min(
        sum(c)
        for c in product(range(16), repeat=3)
        if (on_duty @ np.array(c) >= worst - 1e-9).all()
    )
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(best)
