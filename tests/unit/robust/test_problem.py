"""Robust problems against hand-written counterparts and brute force."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import EmptySet, InvalidParameter, Unbounded
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model.rows import UncertainRow
from sublevel.robust.solve.slots import FixedSet

RNG = np.random.default_rng(3)


def portfolio(region):
    r, w = Uncertain(region.dim, name="returns"), cp.Variable(region.dim, nonneg=True)
    return r, w, RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: region})


def test_portfolio_equals_the_hand_written_counterpart():
    mean, spread = RNG.normal(size=5), RNG.uniform(0.5, 1.5, size=5)
    r, w, robust = portfolio(sl.sets.Ellipsoid(mean, spread, 1.3))
    decision = robust.solve()
    x = cp.Variable(5, nonneg=True)
    worst = mean @ x - 1.3 * cp.norm(cp.multiply(spread, x))
    value = cp.Problem(cp.Maximize(worst), [cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
    assert decision.objective == pytest.approx(value, abs=1e-6)
    assert decision.worst_case(r) @ decision.value(w) == pytest.approx(value, abs=1e-6)
    assert decision.audit.gap < 1e-6
    assert r.value is None


def test_newsvendor_over_a_kl_ball_equals_a_grid_search():
    demand, region = np.array([1.0, 5.0, 10.0]), sl.sets.KLBall([0.3, 0.4, 0.3], 0.1)
    p, x = Uncertain(3, name="p", nonneg=True), cp.Variable(nonneg=True)
    cost = x + 6 * cp.pos(demand - x) + 4 * cp.pos(x - demand)
    decision = RobustProblem(cp.Minimize(p @ cost), [], {p: region}).solve()
    grid = np.linspace(0, 12, 2401)[:, None]
    costs = grid + 6 * np.maximum(demand - grid, 0) + 4 * np.maximum(grid - demand, 0)
    assert decision.objective == pytest.approx(
        min(region.support(row) for row in costs), abs=1e-5
    )


def test_newsvendor_over_labels_is_the_fully_robust_value():
    """c=1, b=6, h=2, demands 1 and 10: x = 7.75 and value 21.25."""
    demand = np.array([1.0, 10.0])
    p, x = Uncertain(2, name="p", nonneg=True), cp.Variable(nonneg=True)
    cost = x + 6 * cp.pos(demand - x) + 2 * cp.pos(x - demand)
    both = sl.sets.LabelSet(([0.1, 0.2],), budget=1.0)
    decision = RobustProblem(cp.Minimize(p @ cost), [], {p: both}).solve()
    assert decision.objective == pytest.approx(21.25, abs=1e-5)
    assert decision.value(x) == pytest.approx(7.75, abs=1e-5)


def test_production_with_fifty_uncertain_rows():
    """Each row has its own ellipsoid: one Uncertain, a product of sets."""
    rows, n = 50, 8
    means = RNG.uniform(0.5, 1.5, size=(rows, n))
    region = sl.sets.Product([sl.sets.Ellipsoid(mean, 0.1, 1.0) for mean in means])
    a = Uncertain((n, rows), name="a")
    x, profit = cp.Variable(n, nonneg=True), RNG.uniform(1, 2, size=n)
    robust = RobustProblem(cp.Maximize(profit @ x), [a.T @ x <= 10], {a: region})
    decision = robust.solve()
    z = cp.Variable(n, nonneg=True)
    hand = [mean @ z + 0.1 * cp.norm(z) <= 10 for mean in means]
    value = cp.Problem(cp.Maximize(profit @ z), hand).solve(solver=cp.CLARABEL)
    assert decision.objective == pytest.approx(value, rel=1e-6)
    assert max(decision.audit.violations) < 1e-6


def test_several_parameters_with_own_and_with_shared_sets():
    a, b = Uncertain(2, name="a"), Uncertain(2, name="b")
    x = cp.Variable(2, nonneg=True)
    one, two = sl.sets.Ellipsoid([1.0, 1.0], radius=0.3), sl.sets.Box([0, 0], [1, 2])
    apart = RobustProblem(
        cp.Maximize(cp.sum(x)), [a @ x + b @ x <= 1], {a: one, b: two}
    )
    z = cp.Variable(2, nonneg=True)
    hand = cp.sum(z) + 0.3 * cp.norm(z) + np.array([1.0, 2.0]) @ z <= 1
    value = cp.Problem(cp.Maximize(cp.sum(z)), [hand]).solve(solver=cp.CLARABEL)
    assert apart.solve().objective == pytest.approx(value, rel=1e-6)
    joint = sl.sets.Ellipsoid([1.0, 1.0, 0.5, 1.0], radius=0.3)
    shared = RobustProblem(
        cp.Maximize(cp.sum(x)), [a @ x + b @ x <= 1], {(a, b): joint}
    )
    both = cp.hstack([z, z])
    hand = np.array([1, 1, 0.5, 1]) @ both + 0.3 * cp.norm(both) <= 1
    value = cp.Problem(cp.Maximize(cp.sum(z)), [hand]).solve(solver=cp.CLARABEL)
    assert shared.solve().objective == pytest.approx(value, rel=1e-6)


def test_integer_knapsack_over_a_budget_set():
    weight = RNG.uniform(1, 3, size=6)
    value = RNG.uniform(1, 3, size=6)
    region = sl.sets.Budget(weight, 0.3 * weight, gamma=2)
    a, x = Uncertain(6, name="weight"), cp.Variable(6, boolean=True)
    robust = RobustProblem(cp.Maximize(value @ x), [a @ x <= 6], {a: region})
    decision = robust.solve(solver="HIGHS")
    choices = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    fits = [choice for choice in choices if region.support(choice) <= 6 + 1e-9]
    assert decision.objective == pytest.approx(max(value @ c for c in fits), abs=1e-6)


def test_a_declared_sign_tightens_the_set():
    region = sl.sets.Ellipsoid([0.1, 0.1], radius=1.0)
    free, signed = Uncertain(2, name="free"), Uncertain(2, name="signed", nonneg=True)
    w = cp.Variable(2)
    box = [cp.abs(w) <= 1]
    worst = {
        y: RobustProblem(cp.Maximize(y @ w + cp.sum(w)), box, {y: region}).solve()
        for y in (free, signed)
    }
    assert worst[signed].objective > worst[free].objective + 0.1


def test_ordinary_parameters_stay_parameters():
    r, w = Uncertain(2, name="r"), cp.Variable(2, nonneg=True)
    price = cp.Parameter(2, nonneg=True)
    region = sl.sets.Box([1.0, 1.0], [2.0, 3.0])
    robust = RobustProblem(
        cp.Maximize(cp.sum(w)), [r @ w + price @ w <= 1], {r: region}
    )
    for prices in ([0.0, 0.0], [1.0, 5.0]):
        price.value = np.array(prices)
        best = 1 / min(2 + prices[0], 3 + prices[1])
        assert robust.solve().objective == pytest.approx(best, abs=1e-6)


def test_a_calibrated_loss_set_decides_at_a_context():
    x = RNG.normal(size=(400, 3))
    y = x @ RNG.normal(size=(3, 4)) + 0.2 * RNG.normal(size=(400, 4))
    sets = sl.LossSet(LinearRegression()).fit(x[:200], y[:200])
    sets.calibrate(x[200:], y[200:], alpha=0.1)
    r, w = Uncertain(4, name="returns"), cp.Variable(4, nonneg=True)
    robust = RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    decision = robust.solve(x[:1])
    region = sets.predict_set(x[:1])[0]
    assert decision.objective == pytest.approx(-region.support(-decision.value(w)))
    assert decision.certificate is sets.certificate_
    with pytest.raises(InvalidParameter, match="one context, got 2"):
        robust.solve(x[:2])
    with pytest.raises(InvalidParameter, match="needs the covariates"):
        robust.solve()


def test_infeasible_and_unbounded_are_statuses():
    r, w = Uncertain(2, name="r"), cp.Variable(2, nonneg=True)
    region = sl.sets.Box([1.0, 1.0], [2.0, 2.0])
    tight = RobustProblem(cp.Minimize(cp.sum(w)), [r @ w <= -1], {r: region}).solve()
    assert tight.status == "infeasible"
    assert np.isnan(tight.objective)
    with pytest.raises(InvalidParameter, match="no value"):
        tight.value(w)
    loose = RobustProblem(cp.Maximize(cp.sum(w)), [r @ w >= 0], {r: region}).solve()
    assert loose.status == "unbounded"


def test_a_solver_that_cannot_see_the_cone_never_answers():
    """An LP solver must not return the nominal value of a conic counterpart."""
    _, _, robust = portfolio(sl.sets.Ellipsoid([1.0, 2.0], radius=1.0))
    with pytest.raises(InvalidParameter, match=r"'HIGHS'.* must take the cones"):
        robust.solve(solver="HIGHS")
    with pytest.raises(InvalidParameter, match="must be one of"):
        robust.solve(solver="NOPE")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda r: {}, InvalidParameter, "must give a set for 'r'"),
        (lambda r: {r: 3}, InvalidParameter, "LossSet or a set value"),
        (lambda r: {cp.Parameter(2): 3}, InvalidParameter, "sl.Uncertain"),
        (lambda r: {r: sl.sets.Box([0], [1])}, InvalidParameter, "dimension 2, got 1"),
        (
            lambda r: {r: sl.sets.Ellipsoid([0.0, 0.0], radius=np.inf)},
            Unbounded,
            "unbounded, so no worst case",
        ),
        (
            lambda r: {r: sl.sets.Sublevel("squared", [0.0, 0.0], np.inf)},
            Unbounded,
            "calibrate with more data",
        ),
    ],
)
def test_wrong_turns(make, error, message):
    r, w = Uncertain(2, name="r"), cp.Variable(2)
    with pytest.raises(error, match=message):
        RobustProblem(cp.Maximize(r @ w), [cp.norm(w) <= 1], make(r)).solve()


@pytest.mark.parametrize("mutation", ["sign", "centre", "wide", "nominal"])
def test_a_broken_counterpart_fails_the_audit(mutation, monkeypatch):
    mean = np.ones(3)
    region = sl.sets.Ellipsoid(mean, radius=0.5)

    def broken(_, slope, active):
        from sublevel.epigraph import Epigraph

        reach = {
            "sign": -mean @ slope + 0.5 * cp.norm(slope),
            "centre": 0.5 * cp.norm(slope),
            "wide": mean @ slope + 0.8 * cp.norm(slope),
            "nominal": mean @ slope,
        }
        return Epigraph(reach[mutation])

    _, _, robust = portfolio(region)
    assert robust.solve(engine="dual").status == "optimal"
    monkeypatch.setattr(FixedSet, "bound", broken)
    _, _, mutant = portfolio(region)
    assert mutant.solve(engine="dual").status == "audit_failed"
    # By itself the library goes on to cutting planes, which need no counterpart.
    rescued = mutant.solve()
    assert rescued.status == "optimal"
    assert rescued.objective == pytest.approx(robust.solve().objective, rel=1e-6)


def test_rows_add_up_the_supports_of_independent_sets():
    from sublevel.epigraph import Epigraph

    a, b = Uncertain(1, name="a"), Uncertain(1, name="b")
    slopes = {(a,): cp.Constant([1.0]), (b,): cp.Constant([2.0])}
    entries = {(a,): np.arange(1), (b,): np.arange(1)}
    row = UncertainRow(None, 0, cp.Constant(5.0), slopes, entries)
    (condition,) = row.counterpart(lambda key, slope, on: Epigraph(3 * cp.sum(slope)))
    assert condition.violation() == pytest.approx(4.0)


def test_rows_of_one_constraint_may_see_different_parameters():
    a, b = Uncertain(2, name="a"), Uncertain((2, 1), name="b")
    x = cp.Variable(2, nonneg=True)
    stacked = cp.hstack([a @ x, b[:, 0] @ x]) <= np.array([1.0, 2.0])
    regions = {a: sl.sets.Box([0, 0], [1, 2]), b: sl.sets.Box([0, 0], [2, 1])}
    for engine in ("dual", "cuts"):
        goal = cp.Maximize(cp.sum(x))
        decision = RobustProblem(goal, [stacked, x <= 9], regions).solve(engine=engine)
        # max x0 + x1 with x0 + 2 x1 <= 1 and 2 x0 + x1 <= 2.
        assert decision.objective == pytest.approx(1.0, abs=1e-6)
        assert decision.worst_case(b).shape == (2, 1)


def test_the_audit_looks_at_every_row_of_every_constraint():
    """An inner maximum off the active branch must not hide the worst outcome."""
    r, s = Uncertain(2, name="r"), Uncertain(2, name="s")
    i, b = cp.Variable(2, integer=True), cp.Variable(2, boolean=True)
    region = sl.sets.Box([0.5, -1.0], [1.5, 1.0])
    goal = cp.maximum(2 * cp.maximum(r @ i, 0), 10 + s @ b)
    robust = RobustProblem(cp.Minimize(goal), [i == 1, b == 1], {r: region, s: region})
    decision = robust.solve()
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(12.5, abs=1e-6)


def test_an_outcome_that_is_mentioned_but_does_not_matter():
    r, y = Uncertain(2, name="r"), cp.Variable()
    x = cp.Variable(2)
    region = sl.sets.Box([-1.0, -1.0], [1.0, 1.0])
    idle = cp.hstack([r @ x, y])[1] <= 1
    robust = RobustProblem(cp.Maximize(y), [idle, cp.abs(x) <= 1], {r: region})
    for engine in ("dual", "cuts"):
        assert robust.solve(engine=engine).objective == pytest.approx(1.0, abs=1e-6)


def test_a_declared_sign_that_empties_the_set():
    p, x = Uncertain(2, name="p", nonneg=True), cp.Variable(2, nonneg=True)
    below = sl.sets.Box([-2.0, -2.0], [-1.0, -1.0])
    with pytest.raises(EmptySet, match="'p' has no outcome that is nonneg"):
        RobustProblem(cp.Minimize(p @ x), [x <= 1], {p: below}).solve()


def test_violations_are_relative_to_their_constraint():
    """A large objective must not excuse a violated constraint."""
    r, x = Uncertain(1, name="r"), cp.Variable(1)
    region = sl.sets.Box([1.0], [2.0])
    robust = RobustProblem(cp.Maximize(1e6 * cp.sum(x)), [r @ x <= 3], {r: region})
    assert robust.solve().audit.passed
    audit = robust.audit({x: [1.51]})
    assert not audit.passed
    assert audit.violations == pytest.approx((0.02,))
