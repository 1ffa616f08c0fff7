"""The support bound a solver sees is the support the set's own oracle finds."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.constraints import Equality, Inequality

import sublevel as sl
from sublevel import losses, sets
from sublevel.errors import NotRobustifiable, Unbounded
from sublevel.robust.solve.support_bound import support_bound
from sublevel.testing import example_prediction

RNG = np.random.default_rng(5)
DISC = sets.Ellipsoid([0.2, 0.1], radius=0.7)
SQUARE = sets.Box([-0.5, -0.5], [0.5, 0.6])
SETS = {
    "ellipsoid": sets.Ellipsoid([1.0, -1.0], [[1.0, 0.3], [0.0, 2.0]], 1.5),
    "l1-ball": sets.L1Ball([1.0, -1.0], [1.0, 2.0], 1.5),
    "box": SQUARE,
    "polytope": sets.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0]),
    "budget": sets.Budget([1.0, 2.0], [0.5, 1.0], 1.3),
    "kl-ball": sets.KLBall([0.4, 0.6], 0.1),
    "variation-ball": sets.VariationBall([0.4, 0.6], 0.3),
    "finite": sets.Finite([[0.0, 1.0], [1.0, 0.5]]),
    "labels": sets.LabelSet(([0.1, 0.9],), 1.0),
    "intersection": DISC & SQUARE,
    "intersection-with-orthant": DISC & sets.Box([0.0, 0.0], [np.inf, np.inf]),
    "product": sets.Product((sets.Box([0.0], [1.0]), sets.L1Ball([1.0], 2.0))),
    "affine-image": sets.AffineImage(DISC, [[1.0, 2.0], [0.0, 1.0]], [1.0, 0.0]),
    "union": DISC | sets.Box([1.0, 1.0], [2.0, 2.0]),
    "union-and-disc": (DISC | SQUARE) & sets.Ellipsoid([0.0, 0.0], radius=0.4),
}


def least(region, direction):
    bound = support_bound(region, cp.Constant(direction))
    problem = cp.Problem(cp.Minimize(bound.value), bound.constraints)
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("name", SETS)
def test_every_set(name):
    for direction in RNG.normal(size=(4, 2)):
        support = SETS[name].support(direction)
        assert least(SETS[name], direction) == pytest.approx(support, abs=1e-6)


@pytest.mark.parametrize("name", sorted(set(losses.NAMES) - {"mahalanobis"}))
def test_every_loss(name):
    loss = losses.get(name)
    said = example_prediction(loss.needs, RNG)
    value = sets.sublevel_set(loss, said, float(loss.floor(said)) + 0.9)
    for direction in RNG.normal(size=(3, value.dim)):
        support = value.support(direction)
        assert least(value, direction) == pytest.approx(support, rel=1e-6, abs=1e-6)


def test_directions_that_look_at_infinity_are_not_affordable():
    half = sets.Box([0.0, 0.0], [np.inf, 1.0])
    assert least(half, [-1.0, 1.0]) == pytest.approx(1.0)
    bound = support_bound(half, cp.Constant([1.0, 0.0]))
    problem = cp.Problem(cp.Minimize(bound.value), bound.constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.INFEASIBLE


def test_what_has_no_exact_dual_says_so():
    mixed = losses.Combined(["squared", "cross_entropy"], weights=(1.0, 1.0))
    said = example_prediction(mixed.needs, RNG)
    with pytest.raises(NotRobustifiable, match="cuts"):
        support_bound(sets.sublevel_set(mixed, said, 3.0), cp.Variable(8))
    with pytest.raises(Unbounded, match="inf"):
        support_bound(sets.Ellipsoid([0.0], radius=np.inf), cp.Variable(1))
    with pytest.raises(Unbounded, match="budget is inf"):
        support_bound(sets.Sublevel("squared", [0.0], np.inf), cp.Variable(1))


@pytest.mark.parametrize("engine", ["dual", "cuts"])
def test_an_outcome_with_a_coefficient_that_is_no_variable(engine):
    """x >= d for every d: the direction is a constant, whatever the set."""
    from sublevel.robust import RobustProblem, Uncertain

    x, d = cp.Variable(3, nonneg=True), Uncertain(3, name="d")
    region = sets.Budget([1.0, 1.0, 1.0], [1.0, 0.5, 1.0], 2)
    problem = RobustProblem(cp.Minimize(cp.sum(x)), [x >= d], {d: region})
    np.testing.assert_allclose(
        problem.solve(engine=engine).value(x), [2.0, 1.5, 2.0], atol=1e-6
    )


def test_opposite_inequalities_are_an_equality_and_keep_their_digits():
    """A point, and a simplex, written with inequalities that have no interior."""
    rng = np.random.default_rng(0)
    both = np.vstack([np.eye(3), -np.eye(3)])
    place = np.array([4.267, 4.224, 3.363])
    touching = rng.normal(size=(2, 3))
    point = sets.Polytope(
        np.vstack([both, touching]), np.concatenate([both @ place, touching @ place])
    )
    ones = np.ones((1, 3))
    flat = sets.Polytope(
        np.vstack([ones, -ones, -np.eye(3)]), [1.0, -1.0, 0.0, 0.0, 0.0]
    )
    kinds = [[type(c) for c in U.constraints(cp.Variable(3))] for U in (point, flat)]
    assert kinds == [[Equality], [Equality, Inequality]]
    for region, corners in ((point, place[None]), (flat, np.eye(3))):
        y, x = sl.Uncertain(3, name="y"), cp.Variable(3, bounds=[-1, 1])
        for _ in range(3):
            table, row = rng.normal(size=(3, 3)), rng.normal(size=3)
            goal = cp.Minimize(y @ (table @ x) + row @ x)
            problem = sl.RobustProblem(goal, [y @ x <= 2], {y: region})
            worst = cp.Variable()
            rows = [c @ (table @ x) + row @ x <= worst for c in corners]
            rows += [c @ x <= 2 for c in corners]
            best = cp.Problem(cp.Minimize(worst), rows).solve(solver=cp.HIGHS)
            for decision in (problem.solve(), problem.compile().decide()):
                assert np.ravel(decision.objective) == pytest.approx(best, rel=1e-6)
