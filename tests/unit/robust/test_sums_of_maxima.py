"""Sums of maxima against the same model written out at every corner of the set."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.sets import Box, Budget, Ellipsoid, Finite, L1Ball, Polytope

#: Stock, price and staff: what is decided, within these limits.
MOST = 6.0


def weights(rng, n):
    return rng.uniform(0.3, 3.0, n)


# Each form takes a generator and a dimension, and gives a convex cost of (y, x).


def newsvendor(rng, n):
    short, over = weights(rng, n), weights(rng, n)
    return lambda y, x: short @ cp.pos(y - x) + over @ cp.pos(x - y)


def backlog(rng, n):
    c, h = 0.3 * weights(rng, n), weights(rng, n)
    return lambda y, x: c @ x + h @ cp.pos(y - x)


def sum_of_hinges(rng, n):
    return lambda y, x: cp.sum(cp.pos(y - x)) + 0.4 * cp.sum(x)


def profit(rng, n):
    price, cost = 2 + weights(rng, n), weights(rng, n)
    return lambda y, x: (
        -cp.sum(cp.multiply(price, cp.minimum(y, x)) - cp.multiply(cost, x))
    )


def norm_1(rng, n):
    turned = rng.normal(size=(n, n))
    return lambda y, x: cp.norm1(turned @ y - x) + 0.1 * cp.sum_squares(x)


def largest(rng, n):
    k = max(1, n - 1)
    return lambda y, x: (
        (cp.sum_largest(cp.abs(y - x), k) if n > 1 else cp.sum_largest(y - x, 1))
        + 0.2 * cp.sum(x)
    )


def absolute_and_linear(rng, n):
    tilt = rng.normal(size=n)
    return lambda y, x: cp.abs(y[0] - x[0]) + tilt @ y + cp.square(x[0] - 1)


def affine_and_hinge(rng, n):
    return lambda y, x: y @ x - 2 * cp.sum(x) + cp.pos(y[0] * x[0] - 1)


def squares_beside(rng, n):
    h = weights(rng, n)
    return lambda y, x: h @ cp.pos(y - x) + cp.sum_squares(x - 1) + cp.norm(x)


def nested(rng, n):
    h = weights(rng, n)
    return lambda y, x: (
        cp.maximum(h @ cp.pos(y - x), 0.5 * cp.sum(x) + cp.max(y - x))
        + 0.3 * cp.sum(x)
        - 0.1 * cp.sum(y)
    )


def inventory(rng, n):
    """Stock runs through all periods: cumulative demand in every term."""
    return lambda y, x: cp.sum(2 * cp.pos(cp.cumsum(y - x)) + cp.pos(cp.cumsum(x - y)))


def range_and_mean(rng, n):
    return lambda y, x: cp.max(y - x) - cp.min(y - x) + 0.3 * cp.sum(x) + cp.mean(y)


FORMS = {
    f.__name__: f
    for f in (
        newsvendor,
        backlog,
        sum_of_hinges,
        profit,
        norm_1,
        largest,
        absolute_and_linear,
        affine_and_hinge,
        squares_beside,
        nested,
        inventory,
        range_and_mean,
    )
}


def interval(rng):
    low = rng.uniform(0, 3)
    region = Box([low], [low + rng.uniform(0.1, 3)])
    return region, np.array([region.lower, region.upper])


def box(rng):
    n = int(rng.integers(2, 4))
    low = rng.uniform(0, 2, n)
    high = low + rng.uniform(0.1, 2, n)
    ends = np.stack([low, high])
    corners = [[ends[s, k] for k, s in enumerate(c)] for c in product((0, 1), repeat=n)]
    return Box(low, high), np.array(corners)


def cross(rng):
    center, scale, radius = rng.uniform(1, 3, 2), rng.uniform(0.3, 1, 2), 1.2
    steps = radius * np.diag(scale)
    return L1Ball(center, scale, radius), np.concatenate(
        [center + steps, center - steps]
    )


def polygon(rng):
    low = rng.uniform(0, 1, 2)
    size = rng.uniform(0.5, 2, 2)
    A = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [1 / size[0], 1 / size[1]]])
    cut = 1.5 + low @ (1 / size)
    b = np.array([*(low + size), *-low, cut])
    corners = low + size * np.array([[0, 0], [1, 0], [0, 1], [1, 0.5], [0.5, 1]])
    return Polytope(A, b), corners


def budget(rng):
    """At most one entry of three moves all the way: corners of a cross."""
    center, reach = rng.uniform(1, 3, 3), rng.uniform(0.2, 1, 3)
    steps = np.diag(reach)
    return Budget(center, reach, 1), np.concatenate([center + steps, center - steps])


def scenarios(rng):
    points = rng.uniform(0, 4, (int(rng.integers(1, 6)), 2))
    return Finite(points), points


def pair(rng):
    """A box beside a cross: blocks of one entry and of two."""
    cross_region, corners = cross(rng)
    edge, ends = interval(rng)
    both = [np.append(end, corner) for end in ends for corner in corners]
    return sl.sets.Product([edge, cross_region]), np.array(both)


SETS = {f.__name__: f for f in (interval, box, cross, polygon, budget, scenarios, pair)}


def brute_force(cost, corners, n):
    x, t = cp.Variable(n), cp.Variable()
    rows = [cost(cp.Constant(y), x) <= t for y in corners]
    problem = cp.Problem(cp.Minimize(t), [*rows, x >= 0, x <= MOST])
    problem.solve(solver="CLARABEL")
    return float(problem.value)


def truly(cost, corners, values):
    return max(float(cost(cp.Constant(y), cp.Constant(values)).value) for y in corners)


def compare(form, region, seed, maximise=False):
    rng = np.random.default_rng(seed)
    U, corners = SETS[region](rng)
    n = U.dim
    cost = FORMS[form](rng, n)
    y, x = sl.Uncertain(n, name="y"), cp.Variable(n, name="x")
    goal = cp.Maximize(-cost(y, x)) if maximise else cp.Minimize(cost(y, x))
    problem = sl.RobustProblem(goal, [x >= 0, x <= MOST], {y: U})
    decision = problem.solve()
    sense = -1 if maximise else 1
    wanted = brute_force(cost, corners, n)
    size = max(1.0, abs(wanted))
    assert decision.status == "optimal"
    assert decision.audit.passed
    assert abs(sense * decision.objective - wanted) <= 2e-5 * size
    assert abs(
        sense * decision.objective - truly(cost, corners, decision.value(x))
    ) <= (1e-6 * size)
    # The judge finds the worst outcome of any decision, not just of the best one.
    other = rng.uniform(0, MOST, n)
    audited = problem.audit({"x": other})
    assert abs(sense * audited.objective - truly(cost, corners, other)) <= 1e-6 * size


CASES = [(form, region) for form in FORMS for region in SETS]
#: A few of each are enough from day to day.
EVERY_DAY = CASES[::4]


@pytest.mark.parametrize(("form", "region"), EVERY_DAY)
def test_the_worst_case_is_that_over_all_corners(form, region):
    seed = CASES.index((form, region))
    compare(form, region, seed, maximise=form == "profit" or seed % 2 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_worst_case_is_that_over_all_corners_on_500_models(form):
    names = list(SETS)
    for k in range(500):
        compare(form, names[k % len(names)], 1000 + k, maximise=k % 3 == 0)


# -- an ellipsoid has no corners ---------------------------------------------------


def on_the_edge(region, n=600):
    """Points all around an ellipse; between two of them it is flat to 2e-5."""
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    return region.center + region.radius * circle * region.scale


@pytest.mark.parametrize("form", ["newsvendor", "profit", "nested", "norm_1"])
def test_over_an_ellipse_no_outcome_on_its_edge_is_worse(form):
    rng = np.random.default_rng(7)
    U = Ellipsoid(rng.uniform(1, 3, 2), rng.uniform(0.3, 1, 2), 1.0)
    cost = FORMS[form](rng, 2)
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
    limits = [x >= 0, x <= MOST]
    problem = sl.RobustProblem(cp.Minimize(cost(y, x)), limits, {y: U})
    decision = problem.solve()
    edge, best = on_the_edge(U), decision.value(x)
    by_sampling = max(
        float(cost(cp.Constant(v), cp.Constant(best)).value) for v in edge
    )
    size = abs(by_sampling)
    assert decision.objective == pytest.approx(by_sampling, abs=1e-4 * size)
    # A coarse ring is a smaller set: its best cost is a little less, and no more.
    coarse = brute_force(cost, edge[::20], 2)
    assert -1e-6 * size <= decision.objective - coarse <= 0.02 * size


# -- more maxima than are written out -----------------------------------------------


def many_maxima(n):
    rng = np.random.default_rng(n)
    center, scale = rng.uniform(5, 10, n), rng.uniform(0.5, 2, n)
    h = weights(rng, n)
    y, x = sl.Uncertain(n, name="demand"), cp.Variable(n, name="x")
    goal = cp.Minimize(h @ cp.pos(y - x) + 0.3 * cp.sum(cp.pos(x - y)))

    def cost(outcome, values):
        short = np.maximum(outcome - values, 0)
        return short @ h + 0.3 * np.maximum(values - outcome, 0).sum(axis=-1)

    return y, x, goal, center, scale, cost


def test_many_maxima_over_a_cross_are_held_at_its_corners():
    """2 ** 12 combinations, and 24 corners."""
    y, x, goal, center, scale, cost = many_maxima(12)
    U = L1Ball(center, scale, 2.0)
    problem = sl.RobustProblem(goal, [x >= 0, x <= 20], {y: U})
    decision = problem.solve()
    steps = 2.0 * np.diag(scale)
    corners = np.concatenate([center + steps, center - steps])
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(
        cost(corners, decision.value(x)).max(), rel=1e-6
    )


def test_many_maxima_over_a_ball_are_searched_exactly():
    """Against all 2 ** 10 combinations, each with its support in closed form."""
    y, x, goal, center, scale, cost = many_maxima(10)
    U = Ellipsoid(center, scale, 1.0)
    problem = sl.RobustProblem(goal, [x >= 0, x <= 20], {y: U})
    assert problem.prepared().model.is_held
    assert "too many combinations" in str(problem.compile().one_by_one)
    values = center + np.random.default_rng(0).normal(size=10)
    picked = np.array(list(product((0, 1), repeat=10)))
    h = cost(np.eye(10), np.zeros(10))
    slopes = np.where(picked, h, -0.3)
    every = slopes @ (center - values) + np.linalg.norm(slopes * scale, axis=1)
    audited = problem.audit({"x": values})
    assert audited.objective == pytest.approx(every.max(), rel=1e-9)


def test_beyond_the_limit_the_refusal_writes_the_rewrite():
    y, x, goal, center, scale, _ = many_maxima(21)
    with pytest.raises(sl.errors.NotRobustifiable) as caught:
        sl.RobustProblem(goal, [x >= 0], {y: Ellipsoid(center, scale, 1.0)})
    words = str(caught.value)
    for part in (
        "1048576",
        "sl.sets.Box(*U.bounds())",
        "cp.maximum",
        "t = cp.Variable(42)",
        "t[0] >= ",
        "sl.affine_rule(demand, shape=42)",
    ):
        assert part in words
    # The looser set that it names is taken.
    loose = Box(*Ellipsoid(center, scale, 1.0).bounds())
    assert sl.RobustProblem(goal, [x >= 0, x <= 20], {y: loose}).solve().decided


# -- other forms that were refused ---------------------------------------------------

Y, X = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
FREE = cp.Variable(2, name="v", bounds=[0, 1])
SQUARE = Box([1.0, 1.0], [2.0, 2.0])


@pytest.mark.parametrize(
    ("goal", "limits", "region", "wanted"),
    [
        # ||(y @ x - 1, x0)|| <= 1 at the corners of the square, by hand: x0 = 0 and
        # x1 = 1, where y @ x - 1 is between 0 and 1.
        (
            cp.Maximize(cp.sum(X)),
            [cp.norm(cp.hstack([Y @ X - 1, X[0]])) <= 1],
            SQUARE,
            1.0,
        ),
        (
            cp.Maximize(X[0]),
            [cp.SOC(Y @ X + 1, 2 * X), X[1] == 0],
            SQUARE,
            1.0,
        ),
        (
            cp.Maximize(X[0]),
            [Y @ X == 1, cp.abs(X) <= 1],
            Box([1.0, 2.0], [1.0, 2.0]),
            1.0,
        ),
        (cp.Minimize(cp.log(Y) @ FREE), [cp.sum(FREE) == 1], SQUARE, np.log(2)),
        (
            cp.Maximize(cp.sum(X)),
            [cp.convolve(Y, X) <= 2, cp.abs(X) <= 1, X[0] == X[1]],
            SQUARE,
            1.0,
        ),
        (
            cp.Minimize(cp.sum(FREE)),
            [cp.quad_form(Y, np.eye(2)) * FREE[0] >= 1],
            SQUARE,
            0.5,
        ),
        (
            cp.Minimize(cp.sum(X)),
            [Y @ X >= 1, X >= 0],
            Box([1.0, 1.0], [np.inf, np.inf]),
            1.0,
        ),
        (
            cp.Minimize(cp.sum(X)),
            [cp.square(Y) @ X >= 1, X >= 0],
            Finite([[1.0, 2.0], [2.0, 1.0]]),
            0.4,
        ),
    ],
)
def test_what_can_be_said_in_plainer_words_is_not_refused(goal, limits, region, wanted):
    decision = sl.RobustProblem(goal, limits, {Y: region}).solve()
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(wanted, abs=1e-5)


def test_where_the_end_of_a_half_open_box_hurts_there_is_no_decision():
    open_box = Box([1.0, 1.0], [np.inf, np.inf])
    problem = sl.RobustProblem(cp.Minimize(Y @ X), [cp.sum(X) == 1], {Y: open_box})
    assert problem.solve().status == "infeasible"
    assert not problem.audit({"x": [2.0, -1.0]}).passed


# -- one maximum, whose pieces are sums of what is written ---------------------------

ALONE = {
    "sum of the largest": lambda z: cp.sum_largest(z, 2),
    "a sum within a maximum": lambda z: cp.maximum(cp.sum(cp.pos(z)), 0.5),
    "absolute values within": lambda z: cp.maximum(cp.norm1(z[:2]), z[2]),
    "a sum within an absolute value": lambda z: cp.abs(cp.sum(cp.pos(z))),
}


@pytest.mark.parametrize("form", ALONE)
def test_a_single_maximum_of_sums_is_judged_at_its_worst_outcome(form):
    """Its worst outcome answers to no entry of the ball alone, but to a sum of them."""
    function, entries = ALONE[form], 3.0 if "a sum within" in form else 2.0
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, name="x")
    ball = Ellipsoid(np.zeros(3), np.ones(3), 1.0)
    goal = cp.Minimize(function(y - x))
    solved = sl.RobustProblem(goal, [x == 0], {y: ball}).solve()
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(np.sqrt(entries), rel=1e-6)
    bounds = [function(y - x) <= 1.2, x >= -5]
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), bounds, {y: ball})
    (violation,) = problem.audit({"x": np.zeros(3)}).violations[:1]
    assert violation == pytest.approx(np.sqrt(entries) - 1.2, rel=1e-6)


def test_a_sum_beside_a_concave_function_is_judged_at_its_worst_outcome():
    """Both are worst at once, as their outcomes are in sets of their own."""
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
    e = sl.Uncertain(2, name="e", nonneg=True)
    sets = {y: Ellipsoid(np.zeros(2), np.ones(2), 1.0), e: Box([1.0, 0.0], [4.0, 2.0])}
    cost = cp.sqrt(e[0]) - e[1] * x[0] + cp.sum(cp.pos(y - x))
    solved = sl.RobustProblem(cp.Minimize(cost), [x == 0], sets).solve()
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(2 + np.sqrt(2), rel=1e-6)
    problem = sl.RobustProblem(cp.Minimize(cp.sum(x)), [cost <= 3.2, x >= -5], sets)
    (violation,) = problem.audit({"x": np.zeros(2)}).violations[:1]
    assert violation == pytest.approx(2 + np.sqrt(2) - 3.2, rel=1e-6)


def test_intervals_move_independently_however_many_there_are():
    """Quantile sets are boxes: 5 (upper - q) = q - lower, entry by entry."""
    n = 24
    lower = np.linspace(1.0, 4.0, n)
    upper = lower + np.linspace(0.5, 2.0, n)
    sets = sl.LossSet(lambda X: (X + lower, X + upper), loss="interval")
    rows = np.random.default_rng(0).normal(size=(40, 1))
    sets.calibrate(rows, rows + lower - 0.25 * np.abs(rows), alpha=0.2)
    y, x = sl.Uncertain(n, name="y"), cp.Variable(n, name="x")
    cost = cp.sum(5 * cp.pos(y - x) + cp.pos(x - y))
    problem = sl.RobustProblem(cp.Minimize(cost), [], {y: sets})
    X = np.array([[0.0], [3.0]])
    decisions = problem.compile().decide(X)
    assert (decisions.status == "optimal").all()
    wanted = 5 / 6 * np.sum(upper - lower + 2 * sets.budget_)
    assert decisions.objective == pytest.approx(np.full(2, wanted), rel=1e-6)


def test_entries_that_are_not_used_may_have_no_end():
    y, x, t = sl.Uncertain(3, name="y"), cp.Variable(nonneg=True), cp.Variable()
    cost = cp.pos(y[0] - x) + cp.pos(x - y[0]) + cp.abs(y[1] - x)
    U = sl.sets.Box([0.0, 1.0, -np.inf], [2.0, 3.0, np.inf])
    decision = sl.RobustProblem(cp.Minimize(t), [cost <= t], {y: U}).solve()
    assert decision.status == "optimal"
    # Two distances from x, to the farther end of [0, 2] and of [1, 3].
    grid = np.linspace(0, 3, 3001)
    worst = np.maximum(grid, np.abs(grid - 2)) + np.maximum(
        np.abs(grid - 1), np.abs(grid - 3)
    )
    assert decision.objective == pytest.approx(worst.min(), abs=1e-6)
