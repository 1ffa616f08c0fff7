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
    return lambda y, x: -cp.sum(
        cp.multiply(price, cp.minimum(y, x)) - cp.multiply(cost, x)
    )


def norm_1(rng, n):
    turned = rng.normal(size=(n, n))
    return lambda y, x: cp.norm1(turned @ y - x) + 0.1 * cp.sum_squares(x)


def largest(rng, n):
    k = max(1, n - 1)
    return lambda y, x: (
        cp.sum_largest(cp.abs(y - x), k) if n > 1 else cp.sum_largest(y - x, 1)
    ) + 0.2 * cp.sum(x)


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
    return lambda y, x: cp.sum(
        2 * cp.pos(cp.cumsum(y - x)) + cp.pos(cp.cumsum(x - y))
    )


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
    return L1Ball(center, scale, radius), np.concatenate([center + steps, center - steps])


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
    assert decision.status == "optimal" and decision.audit.passed
    assert abs(sense * decision.objective - wanted) <= 2e-5 * size
    assert abs(sense * decision.objective - truly(cost, corners, decision.value(x))) <= (
        1e-6 * size
    )
    # The judge finds the worst outcome of any decision, not just of the best one.
    other = rng.uniform(0, MOST, n)
    audited = problem.audit({"x": other})
    assert abs(sense * audited.objective - truly(cost, corners, other)) <= 1e-6 * size


CASES = [(form, region) for form in FORMS for region in SETS]


@pytest.mark.parametrize(("form", "region"), CASES)
def test_the_worst_case_is_that_over_all_corners(form, region):
    seed = CASES.index((form, region))
    compare(form, region, seed, maximise=form == "profit" or seed % 2 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_worst_case_is_that_over_all_corners_on_500_models(form):
    names = list(SETS)
    for k in range(500):
        compare(form, names[k % len(names)], 1000 + k, maximise=k % 3 == 0)
