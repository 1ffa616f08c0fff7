"""Rules against hand-written models, enumeration, and what they cannot do."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.errors import InvalidParameter, NotRobustifiable
from sublevel.robust import RobustProblem, Uncertain

RNG = np.random.default_rng(11)

# ---- lot sizing: order, then see demand, then order again ----------------------------

T, START, TOP = 3, 3.0, 9.0
PRICE, HOLD, SHORT = np.array([1.0, 2.0, 1.5]), 1.0, 4.0
MEAN, WIDTH = np.array([5.0, 4.0, 6.0]), np.array([2.0, 1.0, 2.5])


def lot_sizing(sees=None):
    d = Uncertain(T, name="demand")
    before = np.arange(T) if sees is None else sees
    order = sl.affine_rule(d, T, nonneg=True, sees=before, name="order")
    stock = sl.affine_rule(d, T, sees=np.arange(T) + 1, name="stock")
    cost = sl.affine_rule(d, T, sees=np.arange(T) + 1, name="cost")
    limits = [
        stock == START + cp.cumsum(order) - cp.cumsum(d),
        cost >= HOLD * stock,
        cost >= -SHORT * stock,
        order <= TOP,
    ]
    return d, order, stock, cp.Minimize(PRICE @ order + cp.sum(cost)), limits


def by_hand(least, mask=None):
    """The same without rules or equalities: every row written out.

    least(a, b) is the least value of a + b @ y over the set; mask is who sees what.
    """
    mask = np.tri(T, k=-1) if mask is None else mask
    a, B, c, C = (
        cp.Variable(T),
        cp.Variable((T, T)),
        cp.Variable(T),
        cp.Variable((T, T)),
    )
    goal, sums = cp.Variable(), np.tri(T)
    rows = [cp.multiply(B, 1 - mask) == 0, cp.multiply(C, 1 - sums) == 0]
    for t in range(T):
        stock, slope = START + sums[t] @ a, sums[t] @ B - sums[t]
        rows += [least(a[t], B[t]) >= 0, least(TOP - a[t], -B[t]) >= 0]
        rows += [least(c[t] - HOLD * stock, C[t] - HOLD * slope) >= 0]
        rows += [least(c[t] + SHORT * stock, C[t] + SHORT * slope) >= 0]
    rows += [least(goal - PRICE @ a - cp.sum(c), -PRICE @ B - cp.sum(C, axis=0)) >= 0]
    return cp.Problem(cp.Minimize(goal), rows).solve(solver=cp.CLARABEL)


def at_points(points):
    return lambda a, b: cp.min(a + np.asarray(points) @ b)


def in_ball(center, scale, radius):
    return lambda a, b: a + center @ b - radius * cp.norm(cp.multiply(scale, b))


LAW, SCENARIOS = np.array([0.4, 0.3, 0.2, 0.1]), RNG.uniform(3, 8, size=(T, 4))


def in_law(a, b):
    """Demand is the mean over scenarios, under any law near LAW."""
    p = cp.Variable(4)
    near = cp.suppfunc(p, [p >= 0, cp.sum(p) == 1, cp.sum(cp.rel_entr(p, LAW)) <= 0.2])
    return a - near(-SCENARIOS.T @ b)


SIGNS = np.array(list(product([-1, 1], repeat=T)))
# At most one entry and a half of three deviate.
FEW = np.array(list(product([-1, -0.5, 0, 0.5, 1], repeat=T)))
FEW = FEW[np.abs(FEW).sum(axis=1) <= 1.5]
CASES = {
    "box": (sl.sets.Box(MEAN - WIDTH, MEAN + WIDTH), at_points(MEAN + WIDTH * SIGNS)),
    "budget": (sl.sets.Budget(MEAN, WIDTH, gamma=1.5), at_points(MEAN + WIDTH * FEW)),
    "ellipsoid": (sl.sets.Ellipsoid(MEAN, WIDTH, 0.8), in_ball(MEAN, WIDTH, 0.8)),
    "law": (sl.sets.AffineImage(sl.sets.KLBall(LAW, 0.2), SCENARIOS), in_law),
}


@pytest.mark.parametrize("name", CASES)
def test_lot_sizing_by_dual_by_cuts_and_by_hand(name):
    region, least = CASES[name]
    d, order, stock, goal, limits = lot_sizing()
    robust = RobustProblem(goal, limits, {d: region})
    dual = robust.solve(engine="dual")
    cuts = robust.solve(engine="cuts", solver="HIGHS")
    value = by_hand(least)
    assert dual.objective == pytest.approx(value, rel=1e-6)
    assert cuts.objective == pytest.approx(value, rel=1e-6)
    for decision in (dual, cuts):
        assert decision.audit.passed
        assert len(decision.audit.violations) == 5  # four written, one declared sign
        directions = np.random.default_rng(0).normal(size=(50, T))
        demand = np.array([region.worst_case(v) for v in directions])
        orders, stocks = decision.value(order)(demand), decision.value(stock)(demand)
        balance = START + np.cumsum(orders - demand, axis=1)
        assert np.allclose(stocks, balance, atol=1e-6)
        assert orders.min() >= -1e-5
        assert decision.value(order).slopes[np.triu_indices(T)] == pytest.approx(0)


def test_lot_sizing_over_a_calibrated_loss_set():
    X = RNG.normal(size=(400, 2))
    Y = MEAN + X @ RNG.normal(size=(2, T)) / 4 + 0.3 * RNG.normal(size=(400, T))
    sets = sl.LossSet(LinearRegression()).fit(X[:200], Y[:200])
    sets.calibrate(X[200:], Y[200:], alpha=0.1)
    d, _, _, goal, limits = lot_sizing()
    robust = RobustProblem(goal, limits, {d: sets})
    for row in (X[:1], X[1:2]):
        center = sets.predict(row)[0]
        value = by_hand(in_ball(center, np.ones(T), sets.radius_))
        decision = robust.solve(row)
        assert decision.objective == pytest.approx(value, rel=1e-6)
        assert decision.audit.passed


def test_an_absorbed_equality_is_a_substitution():
    d, order, _, goal, limits = lot_sizing()
    region = CASES["budget"][0]
    kept = RobustProblem(goal, limits, {d: region}).solve().objective
    cost = sl.affine_rule(d, T, sees=np.arange(T) + 1)
    stock = START + cp.cumsum(order) - cp.cumsum(d)
    rows = [cost >= HOLD * stock, cost >= -SHORT * stock, order <= TOP]
    gone = RobustProblem(cp.Minimize(PRICE @ order + cp.sum(cost)), rows, {d: region})
    assert gone.solve().objective == pytest.approx(kept, rel=1e-6)


@pytest.mark.parametrize(
    "sees",
    [
        np.zeros(T, dtype=int),
        np.array([0, 1, 1]),
        np.array([0, 0, 2]),
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool),
        np.array([True, False, False]),
    ],
)
def test_who_sees_what(sees):
    region, least = CASES["box"]
    d, order, _, goal, limits = lot_sizing(sees)
    counts = sees.dtype != bool
    mask = np.arange(T) < sees[:, None] if counts else np.broadcast_to(sees, (T, T))
    decision = RobustProblem(goal, limits, {d: region}).solve()
    value = by_hand(least, mask.astype(float))
    assert decision.objective == pytest.approx(value, rel=1e-6)
    assert (decision.value(order).slopes[~mask] == 0).all()
    slopes = sum(v.size for v in order.variables()) - T
    assert slopes == mask.sum()


def test_seeing_more_never_costs_more():
    values = []
    for sees in (0, [0, 1, 1], [0, 1, 2], [1, 2, 3], 3):
        d, _, _, goal, limits = lot_sizing(np.broadcast_to(sees, T))
        values.append(RobustProblem(goal, limits, {d: CASES["box"][0]}).solve())
    values = [decision.objective for decision in values]
    assert (np.diff(values) <= 1e-5).all()
    assert values[0] > values[1] + 0.1 > values[2] + 0.2


# ---- two stages: fixed, affine, and any reaction -------------------------------------

SHIP = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 1.5]])
BUILD = np.array([1.0, 1.2])


def transport(region, sees=None):
    d, x = Uncertain(3, name="demand"), cp.Variable(2, nonneg=True)
    ship = sl.affine_rule(d, (2, 3), nonneg=True, sees=sees, name="ship")
    rows = [cp.sum(ship, axis=0) >= d, cp.sum(ship, axis=1) <= x]
    goal = cp.Minimize(BUILD @ x + cp.sum(cp.multiply(SHIP, ship)))
    return d, ship, RobustProblem(goal, rows, {d: region})


def any_reaction(points):
    """Fixed recourse and a polytope: a reaction is free at each vertex."""
    x, goal, rows = cp.Variable(2, nonneg=True), cp.Variable(), []
    for point in points:
        ship = cp.Variable((2, 3), nonneg=True)
        rows += [cp.sum(ship, axis=0) >= point, cp.sum(ship, axis=1) <= x]
        rows += [BUILD @ x + cp.sum(cp.multiply(SHIP, ship)) <= goal]
    return cp.Problem(cp.Minimize(goal), rows).solve(solver=cp.CLARABEL)


def test_fixed_then_affine_then_any_reaction():
    region = sl.sets.L1Ball([3.0, 4.0, 2.0], radius=2.0)
    points = region.center + 2 * np.vstack([np.eye(3), -np.eye(3)])
    fixed = transport(region, sees=0)[2].solve().objective
    affine = transport(region)[2].solve().objective
    best = any_reaction(points)
    assert fixed > affine + 5
    assert affine >= best - 1e-5


def test_three_different_values_by_hand():
    """Pay |y1| + |y2| and two opposite needs 5 + y1, 5 - y1, where |y1| + |y2| <= 1.

    Fixed: 2 for the sizes, 6 + 6 for the needs. Affine: the needs follow y1 and cost
    10, but a plane above |y1| is no less than 1 at 0. Any reaction: 1 + 10.
    """
    costs = []
    for sees in (0, 2):
        y = Uncertain(2, name="y")
        size, need = [sl.affine_rule(y, 2, sees=sees, name=n) for n in ("size", "need")]
        rows = [size >= y, size >= -y, need >= 5 + cp.hstack([y[0], -y[0]])]
        goal = cp.Minimize(cp.sum(size) + cp.sum(need))
        costs.append(
            RobustProblem(goal, rows, {y: sl.sets.L1Ball(np.zeros(2))}).solve()
        )
    assert [cost.objective for cost in costs] == pytest.approx([14.0, 12.0], abs=1e-5)
    points = np.vstack([np.eye(2), -np.eye(2)])
    reactions = np.abs(points).sum(axis=1) + 10
    assert costs[1].objective > reactions.max() + 0.9


def test_over_a_simplex_no_reaction_is_better_than_an_affine_one():
    """Four affinely independent vertices: an affine rule takes any values there."""
    points = np.vstack([np.ones(3), 1 + 5 * np.eye(3)])
    region = sl.sets.Polytope(np.vstack([-np.eye(3), np.ones(3)]), [-1.0, -1, -1, 8])
    _, ship, robust = transport(region)
    decision = robust.solve()
    assert decision.objective == pytest.approx(any_reaction(points), rel=1e-6)
    assert decision.value(ship)(points).shape == (4, 2, 3)
    assert (decision.value(ship)(points).sum(axis=1) >= points - 1e-5).all()


def test_newsvendor_with_late_purchase():
    """Order at 1, later at 3, holding at 0.5, demand in [2, 10].

    The worst case max(x + 3 (10 - x), x + 0.5 (x - 2)) is least where the two meet.
    """
    d, x = Uncertain(name="demand"), cp.Variable(nonneg=True)
    late = sl.affine_rule(d, nonneg=True, name="late")
    kept = sl.affine_rule(d, nonneg=True, name="kept")
    goal = cp.Minimize(x + 3 * late + 0.5 * kept)
    robust = RobustProblem(goal, [x + late - d == kept], {d: sl.sets.Box([2], [10])})
    decision = robust.solve()
    best = 31 / 3.5
    assert decision.value(x) == pytest.approx(best, abs=1e-5)
    assert decision.objective == pytest.approx(best + 3 * (10 - best), abs=1e-5)
    assert decision.value(late)(10.0) == pytest.approx(10 - best, abs=1e-5)
    assert decision.value(kept)([[2.0], [10.0]]) == pytest.approx(
        [best - 2, 0], abs=1e-5
    )


def test_integer_decisions_first_and_rules_after():
    """Which warehouses to open, then ship: every choice enumerated."""
    region = CASES["budget"][0]

    def model(opened):
        d = Uncertain(3, name="demand")
        ship = sl.affine_rule(d, (2, 3), nonneg=True, name="ship")
        rows = [cp.sum(ship, axis=0) == d, cp.sum(ship, axis=1) <= 14 * opened]
        cost = 9 * cp.sum(opened) + cp.sum(cp.multiply(SHIP, ship))
        return RobustProblem(cp.Minimize(cost), rows, {d: region})

    choices = [model(np.array(c)).solve() for c in product([0.0, 1.0], repeat=2)]
    best = min(c.objective for c in choices if c.status == "optimal")
    decision = model(cp.Variable(2, boolean=True)).solve()
    assert decision.objective == pytest.approx(best, rel=1e-6)
    assert decision.status == "optimal"


# ---- what is refused -----------------------------------------------------------------

R = Uncertain(3, name="r")
Q = sl.affine_rule(R, 3, name="q")
X = cp.Variable(3)
REFUSED = {
    "outcome-times-rule": (lambda: R @ Q <= 1, "not with an affine rule"),
    "rule-times-outcome": (lambda: cp.sum(cp.multiply(Q, R)) <= 1, "affine rule"),
    "rule-times-variable": (lambda: X @ Q <= 1, "DCP"),
    "equality-without-rule": (lambda: R @ X == 1, "sl.affine_rule"),
    "one-row-without-rule": (
        lambda: cp.hstack([Q[0] - R[0], R @ X]) == 0,
        "sl.affine_rule",
    ),
    "norm-of-rule": (lambda: cp.norm(Q) <= 1, "cannot be made robust"),
    "sum-of-squared-hinges": (
        lambda: cp.sum(cp.square(cp.pos(Q))) <= 1,
        "cannot be made robust",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_rule_cannot_do(name):
    make, message = REFUSED[name]
    region = sl.sets.Ellipsoid(np.full(3, 0.5), radius=0.5)
    with pytest.raises(NotRobustifiable, match=message):
        RobustProblem(cp.Minimize(cp.sum(X)), [make(), X >= 0], {R: region})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sl.affine_rule(cp.Parameter(2)), "sl.Uncertain or several"),
        (lambda: sl.affine_rule([]), "at least one"),
        (lambda: sl.affine_rule([R, R]), "each Uncertain once"),
        (lambda: sl.affine_rule(R, (2, 2, 2)), r"\(k,\) or \(k, l\)"),
        (lambda: sl.affine_rule(R, 0), "positive integers"),
        (lambda: sl.affine_rule(R, 2, sees=4), "from 0 to 3 leading entries"),
        (lambda: sl.affine_rule(R, 2, sees=[0, 1, 2]), r"integers of shape \(2,\)"),
        (lambda: sl.affine_rule(R, 2, sees=[0.5, 1.0]), r"got \[0.5, 1.0\]"),
        (lambda: sl.affine_rule(R, 2, sees=[True, False]), r"shape \(2, 3\)"),
    ],
)
def test_wrong_turns(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_a_rule_of_another_model_has_no_value():
    d, _, _, goal, limits = lot_sizing()
    decision = RobustProblem(goal, limits, {d: CASES["box"][0]}).solve()
    with pytest.raises(InvalidParameter, match="no value for the variable 'q"):
        decision.value(Q)
