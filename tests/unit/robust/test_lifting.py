"""Concave functions of the outcome: exact against other roads, or refused."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import NotRobustifiable
from sublevel.losses import LabelLoss
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model.rows import take_apart
from sublevel.testing import example_prediction

RNG = np.random.default_rng(11)
Y = Uncertain(name="y")
X = cp.Variable(2, nonneg=True, name="x")
LOWER, UPPER = 0.4, 2.4
GRID = np.linspace(LOWER, UPPER, 4001)

# CVXPY's function of the outcome, and the same in NumPy.
CONCAVE = {
    "log": (cp.log, np.log),
    "root": (cp.sqrt, np.sqrt),
    "minus-square": (lambda y: -cp.square(y - 1), lambda y: -((y - 1) ** 2)),
    "entropy": (cp.entr, lambda y: -y * np.log(y)),
    "capped": (lambda y: cp.minimum(y, 1.2), lambda y: np.minimum(y, 1.2)),
    "minus-exponential": (lambda y: -cp.exp(y - 1), lambda y: -np.exp(y - 1)),
    "minus-distance": (lambda y: -cp.abs(y - 1), lambda y: -np.abs(y - 1)),
    "minus-inverse": (lambda y: -cp.inv_pos(y), lambda y: -1 / y),
    "minus-cube": (lambda y: -cp.power(y, 3), lambda y: -(y**3)),
    "sum": (lambda y: cp.log(y) - y / 2, lambda y: np.log(y) - y / 2),
    "of-linear": (lambda y: cp.log(3 - y), lambda y: np.log(3 - y)),
}


@pytest.mark.parametrize("name", CONCAVE)
def test_one_outcome_equals_a_dense_grid(name):
    """The largest of  (f(y) - 0.3) x0 + (1 - y) x1  over y, made small."""
    curve, numbers = CONCAVE[name]
    cost = (curve(Y) - 0.3) * X[0] + (1 - Y) * X[1] - 0.9 * cp.sum(X)
    limits = [cp.sum_squares(X) <= 4]
    region = sl.sets.Box([LOWER], [UPPER])
    decision = RobustProblem(cp.Minimize(cost), limits, {Y: region}).solve()
    table = np.column_stack([numbers(GRID) - 1.2, 0.1 - GRID])
    t = cp.Variable()
    hand = cp.Problem(cp.Minimize(t), [table @ X <= t, *limits])
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(
        hand.solve(solver=cp.CLARABEL), rel=1e-6, abs=1e-6
    )
    worst, x = float(decision.worst_case(Y)), decision.value(X)
    said = (numbers(worst) - 1.2) * x[0] + (0.1 - worst) * x[1]
    assert said == pytest.approx((table @ x).max(), abs=1e-6)
    assert x[0] > 0.1


def by_hand(region, curve, slope, goal, limits):
    """The same through CVXPY's own support function of { (y, z) : z <= f(y) }."""
    m, x = region.dim, cp.Variable(region.dim, nonneg=True)
    point, t = cp.Variable(2 * m), cp.Variable()
    inside = [*region.constraints(point[:m]), point[m:] <= curve(point[:m])]
    worst = cp.suppfunc(point, inside)(cp.hstack([slope @ x, x]))
    problem = cp.Problem(cp.Minimize(t + goal @ x), [worst <= t, *limits(x)])
    return problem.solve(solver=cp.CLARABEL)


NUMERIC = [k for k, v in sl.losses.NAMES.items() if not issubclass(v, LabelLoss)]


@pytest.mark.parametrize("name", sorted(set(NUMERIC) - {"mahalanobis"}))
def test_every_loss_dual_equals_cuts_equals_cvxpys_support(name):
    loss = sl.losses.get(name)
    said = example_prediction(loss.needs, RNG)
    region = sl.sets.sublevel_set(loss, said, float(loss.floor(said)) + 0.6)
    m = region.dim
    lower, upper = region.bounds()
    middle = (lower + upper) / 2

    def curve(y):
        return -cp.square(y - middle)

    def limits(x):
        return [cp.sum(x) == 2, x <= 1.5]

    slope, goal = RNG.normal(size=(m, m)) / 4, RNG.normal(size=m)
    y, x = Uncertain(m, name="y"), cp.Variable(m, nonneg=True)
    cost = curve(y) @ x + (slope.T @ y) @ x + goal @ x
    robust = RobustProblem(cp.Minimize(cost), limits(x), {y: region})
    best = by_hand(region, curve, slope, goal, limits)
    for engine in ("dual", "cuts"):
        decision = robust.solve(engine=engine)
        assert decision.status == "optimal"
        assert decision.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


LISTED = {
    "finite": sl.sets.Finite(RNG.uniform(0.5, 2.5, size=(9, 2))),
    "labels": sl.sets.LabelSet(([0.1, 0.9],), 1.0),
}


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("engine", ["dual", "cuts"])
def test_listed_outcomes_are_not_filled_in_between(name, engine):
    """Over the hull the worst case would be larger: f is concave."""
    region = LISTED[name]
    outcomes = region.listed()
    y, t = Uncertain(2, name="y"), cp.Variable()
    goal = cp.Minimize(t + 0.2 * cp.sum(X))
    limits = [cp.sum(X) >= 1, X <= 2]
    cost = -cp.square(y - 1.2) @ X + 0.1 * cp.sum(y)
    robust = RobustProblem(goal, [cost <= t, *limits], {y: region})
    table = -((outcomes - 1.2) ** 2) @ X + 0.1 * outcomes.sum(axis=1)
    best = cp.Problem(goal, [table <= t, *limits]).solve(solver=cp.CLARABEL)
    assert robust.solve(engine=engine).objective == pytest.approx(best, abs=1e-6)


def test_unions_are_as_bad_as_their_worst_part():
    parts = sl.sets.Box([0.5, 0.5], [0.9, 0.9]), sl.sets.Box([1.5, 2.0], [2.0, 2.5])
    y = Uncertain(2, name="y")
    goal = cp.Minimize(cp.log(y) @ X - cp.sum(cp.multiply([0.3, 0.9], X)))
    limits = [X[0] <= 1, X[1] <= 2]
    worst = [np.log([0.9, 0.9]), np.log([2.0, 2.5])]
    t = cp.Variable()
    hand = [(row - [0.3, 0.9]) @ X <= t for row in worst]
    best = cp.Problem(cp.Minimize(t), [*hand, *limits]).solve(solver=cp.CLARABEL)
    for engine in ("dual", "cuts"):
        robust = RobustProblem(goal, limits, {y: parts[0] | parts[1]})
        assert robust.solve(engine=engine).objective == pytest.approx(best, abs=1e-6)


def test_integer_decisions_equal_brute_force():
    """sum of sqrt(y_i) over the chosen, y in an ellipsoid: cuts stay linear."""
    region, value = sl.sets.Ellipsoid([1.5, 1.0, 2.0, 1.7], 0.4, 1.0), [3.0, 2, 4, 3]
    y, b = Uncertain(4, name="y"), cp.Variable(4, boolean=True)
    robust = RobustProblem(cp.Maximize(value @ b), [cp.sqrt(y) @ b <= 3.0], {y: region})
    decision = robust.solve()

    def worst(choice):
        v = cp.Variable(4)
        top = cp.Maximize(np.array(choice) @ cp.sqrt(v))
        return cp.Problem(top, region.constraints(v)).solve(solver=cp.CLARABEL)

    fits = [c for c in product([0, 1], repeat=4) if worst(c) <= 3.0]
    best = max(float(np.dot(value, c)) for c in fits)
    assert decision.objective == pytest.approx(best, abs=1e-6)
    assert best < sum(value)


V = Uncertain(2, name="v", nonneg=True)
BOX = sl.sets.Box([0.5, 0.6], [1.5, 1.4])
BALL = sl.sets.Ellipsoid((BOX.lower + BOX.upper) / 2, (BOX.upper - BOX.lower) / 2, 1.0)
Z, T = cp.Variable(2, name="z"), cp.Variable(name="t")
Q = Uncertain(2, name="q")
K = cp.Parameter(nonneg=True, value=1.0)

# Convex times nonpositive, several entries in one function, functions inside curves,
# signs that only the declaration of the outcome shows; with the same of numbers.
ACCEPTED = {
    "convex-times-nonpositive": (
        cp.exp(V) @ (-X) <= T,
        lambda v: np.exp(v) @ (-X) <= T,
    ),
    "small-convex": (
        cp.square(V) @ X >= 1 - T,
        lambda v: np.square(v) @ X >= 1 - T,
    ),
    "norm": (
        -cp.norm(V - 1) * X[0] + V @ X <= T,
        lambda v: -np.linalg.norm(v - 1, axis=1) * X[0] + v @ X <= T,
    ),
    "geometric-mean": (
        cp.geo_mean(V) * X[0] - V @ X <= T,
        lambda v: np.sqrt(v.prod(axis=1)) * X[0] - v @ X <= T,
    ),
    "two-functions": (
        cp.log(V) @ X - cp.square(V[0]) * X[1] <= T,
        lambda v: np.log(v) @ X - v[:, 0] ** 2 * X[1] <= T,
    ),
    "inside-a-curve": (
        cp.exp(cp.log(V) @ X - V[0]) <= 1 + T,
        lambda v: np.log(v) @ X - v[:, 0] <= cp.log(1 + T),
    ),
    "inside-a-maximum": (
        cp.maximum(cp.log(V) @ X, 1 - V @ X) <= T,
        lambda v: cp.maximum(np.log(v) @ X, 1 - v @ X) <= T,
    ),
    "times-a-curve": (
        cp.sqrt(V) @ cp.square(Z - 2) - V @ X <= T,
        lambda v: np.sqrt(v) @ cp.square(Z - 2) - v @ X <= T,
    ),
    "nonpositive-times-a-concave-curve": (
        (-cp.square(V)) @ cp.sqrt(X) + V @ X <= T,
        lambda v: (-np.square(v)) @ cp.sqrt(X) + v @ X <= T,
    ),
    "beside-a-certain-curve": (
        cp.log(V) @ X + cp.square(X[0]) <= T + 1,
        lambda v: np.log(v) @ X + cp.square(X[0]) <= T + 1,
    ),
    "alone": (
        cp.sum(cp.log(V)) + X[0] - V @ X <= T,
        lambda v: np.log(v).sum(axis=1) + X[0] - v @ X <= T,
    ),
    "matrix-outcome": (
        cp.sum(cp.multiply(cp.reshape(cp.log(V), (1, 2), order="F"), X[None, :])) <= T,
        lambda v: np.log(v) @ X <= T,
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_more_forms_equal_a_grid_of_outcomes(name):
    """The grid has an error of a few 1e-6, and only misses outcomes: a lower bound."""
    written, at = ACCEPTED[name]
    axes = [np.linspace(*ends, 81) for ends in zip(*BOX.bounds(), strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    limits = [cp.sum(X) >= 1, X <= 2, cp.abs(Z) <= 3, cp.abs(T) <= 9]
    goal = cp.Minimize(T + cp.sum_squares(X - 0.4) + 0.3 * cp.sum(Z))
    decision = RobustProblem(goal, [written, *limits], {V: BOX}).solve()
    best = cp.Problem(goal, [at(grid), *limits]).solve(solver=cp.CLARABEL)
    loose = cp.Problem(goal, limits).solve(solver=cp.CLARABEL)
    assert decision.status == "optimal"
    assert best - 1e-6 <= decision.objective <= best + 2e-4
    assert best > loose + 1e-2


REFUSED = {
    "minimum-of-concave": (cp.log(V) @ X >= 1, "depends on the outcome in a convex"),
    "maximum-of-convex": (cp.square(V) @ X <= 1, "depends on the outcome in a convex"),
    "negative-times-concave": (cp.log(V) @ (-X) <= 1, "in a convex way"),
    "sign-not-known": (cp.log(V) @ Z <= 1, "nonneg=True"),
    "sign-of-sum-not-known": (cp.log(V) @ (X - 1) <= 1, "nonneg=True"),
    "both-ends": (cp.abs(cp.log(V) @ X) <= 1, "nonneg=True"),
    "equality": (cp.log(V) @ X == 1, "linearly"),
    "neither-concave-nor-convex": ((V[0] * V[1]) * X[0] <= 1, "linearly"),
    "concave-minus-concave": ((cp.log(V) - cp.sqrt(V)) @ X <= 1, "convex way"),
    "outcome-times-function": (cp.multiply(V, cp.log(V)) @ X <= 1, "linearly"),
    "curve-of-a-product": (cp.log(V[0] * V[1]) * X[0] <= 1, "concave where"),
    "curve-of-a-product-of-any-sign": (
        cp.log(V[0] * V[1]) * Z[0] <= 1,
        "concave where",
    ),
    "product-inside-a-square": (cp.square(cp.log(V[0] * V[1]) + T) <= 1, "concave"),
    "two-sets": (cp.log(V + Q) @ X <= 1, r"\{\(v, q\): ...\}"),
    "sum-with-a-curve": (cp.log(V) @ X + cp.exp(V @ X) <= 1, "nature could not"),
    "sum-with-a-convex-one": (cp.log(V[0]) + cp.exp(V[1]) + T <= 1, "nature could not"),
    "curved-domain": (cp.log(4 - cp.square(V)) @ X <= 1, "curved conditions"),
    "threshold-of-huber": (-cp.huber(V[0], V[1]) * X[0] <= 1, "no argument"),
    "semidefinite": (cp.diag(X) >> cp.diag(cp.log(V)), "linearly"),
    "denominator": (-X[0] / V[0] <= 1, "inv_pos"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_with_the_constraint_and_the_way_out(name):
    constraint, way_out = REFUSED[name]
    with pytest.raises(NotRobustifiable, match=way_out) as caught:
        RobustProblem(cp.Minimize(cp.sum(X) + T), [constraint], {V: BALL, Q: BALL})
    assert str(constraint) in str(caught.value)


def test_an_ordinary_parameter_inside_is_taken_at_its_value():
    """log(k + v) @ x is largest at the upper end, whatever k is."""
    goal = cp.Minimize(cp.log(K + V) @ X)
    robust = RobustProblem(goal, [cp.sum(X) == 1], {V: BOX})
    for value in (1.0, 3.0):
        K.value = value
        best = np.log(value + BOX.upper).min()
        assert robust.solve().objective == pytest.approx(best, abs=1e-6)
    K.value = 1.0
    with pytest.raises(NotRobustifiable, match="constant value"):
        take_apart(cp.log(K + V) @ X <= 1, ((V,),))


def test_objectives_that_ask_for_the_least_of_a_concave_function_are_refused():
    with pytest.raises(NotRobustifiable, match="in a convex way"):
        RobustProblem(cp.Maximize(cp.log(V) @ X), [cp.sum(X) == 1], {V: BALL})
