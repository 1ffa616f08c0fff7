"""Curved functions of the outcome: exact where they are, and else the rewrite."""

import re
from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model.as_python import as_python
from sublevel.sets import Box, Ellipsoid, L1Ball, Union

CENTER = np.array([1.0, 2.0, 3.0])
FACTOR = np.array([[1.0, 0.2, 0.1], [0.0, 0.8, 0.3], [0.0, 0.0, 0.5]])
BALL = Ellipsoid(CENTER, FACTOR, 1.0)

Y = Uncertain(3, name="y")
Q = cp.Variable(3, name="q", bounds=[-4, 4])
P = np.diag([1.0, 2.0, 3.0])

#: What nature cannot make worst at once, in every entry of an ellipsoid.
CURVES = {
    "huber": lambda y, q: cp.sum(cp.huber(y - q)) + cp.sum(q),
    "sum-of-squares": lambda y, q: cp.sum_squares(y - q) + cp.sum(q),
    "squares": lambda y, q: cp.sum(cp.square(y - q)) - y @ q,
    "norm": lambda y, q: cp.norm(y - q) + y @ q,
    "norm-3": lambda y, q: cp.norm(y - q, 3) + q[0],
    "exp": lambda y, q: cp.sum(cp.exp(y - q)) + cp.sum(q),
    "log-sum-exp": lambda y, q: cp.log_sum_exp(y - q) + cp.sum(q),
    "logistic": lambda y, q: cp.sum(cp.logistic(y - q)) + cp.sum(q),
    "over-linear": lambda y, q: cp.quad_over_lin(y - q, 5 + q[0]) + cp.sum(q),
    "of-maxima": lambda y, q: cp.sum(cp.square(cp.pos(y - q))) + cp.sum(q),
    "power": lambda y, q: cp.sum(cp.power(y - q, 4)) + q[0],
}


def refused(goal, region):
    with pytest.raises(sl.errors.NotRobustifiable) as caught:
        RobustProblem(goal, [], {Y: region})
    return str(caught.value)


@pytest.mark.parametrize("name", CURVES)
def test_what_a_refusal_writes_is_accepted_and_safe(name):
    """Typed in as it stands in the message; each bound is that of the box around."""
    cost = CURVES[name](Y, Q)
    words = refused(cp.Minimize(cost), BALL)
    line = r"exact: (t = .*), the constraint (.*), and (.*) in place of (.*); or"
    declared, row, by, old = re.search(line, words).groups()
    typed = {"cp": cp, "np": np, "y": Y, "q": Q}
    exec(declared, typed)
    rest = as_python(cost)
    assert old in rest
    goal = eval(rest.replace(old, by), typed)
    decision = RobustProblem(cp.Minimize(goal), [eval(row, typed)], {Y: BALL}).solve()
    assert decision.status == "optimal"
    outcomes = BALL.sample(60, random_state=0)
    at = cp.Constant(decision.value(Q))
    costs = [float(CURVES[name](outcome, at).value) for outcome in outcomes]
    assert max(costs) <= decision.objective + 1e-6
    if "y" not in rest.replace(old, by):
        box = Box(*BALL.bounds())
        exact = RobustProblem(cp.Minimize(cost), [], {Y: box}).solve()
        assert decision.objective == pytest.approx(exact.objective, abs=1e-5)
    assert "sl.sets.Box(*U.bounds())" in words


def test_several_curves_have_a_variable_each_that_no_other_is_called():
    taken = cp.Variable(name="t")
    cost = cp.square(Y[0] - Q[0]) + cp.sum(cp.exp(Y - Q)) + taken
    words = refused(cp.Minimize(cost), BALL)
    assert "t1 = cp.Variable(nonneg=True), t2 = cp.Variable(3, nonneg=True)" in words
    assert "cp.square(y[0] - q[0]) <= t1, cp.exp(y - q) <= t2" in words


def test_a_quadratic_form_is_written_by_its_root():
    words = refused(cp.Minimize(cp.quad_form(Y - Q, P)), BALL)
    assert "cp.abs(sqrtm(P) @ (y - q)) <= t" in words


def test_concave_gains_are_bounded_from_below():
    gain = cp.sum(cp.sqrt(Y + Q + 5))
    words = refused(cp.Maximize(gain), BALL)
    assert "t = cp.Variable(3), the constraint t <= cp.sqrt(y + q + 5)" in words


def test_a_box_is_not_advised_where_it_is_refused_too():
    """Nine entries that every square sees: 512 choices of ends."""
    mixed = np.random.default_rng(0).normal(size=(9, 9))
    y, q = Uncertain(9, name="y"), cp.Variable(9)
    goal = cp.Minimize(cp.sum_squares(mixed @ y - q))
    for region in (
        Ellipsoid(np.zeros(9), np.ones(9), 1.0),
        Box(-np.ones(9), np.ones(9)),
    ):
        with pytest.raises(sl.errors.NotRobustifiable) as caught:
            RobustProblem(goal, [], {y: region})
        assert "sl.sets.Finite" in str(caught.value)
        assert "sl.sets.Box" not in str(caught.value)


def test_no_rewrite_is_written_that_is_refused_itself():
    """A bound times a decision would be a product of two variables."""
    words = refused(cp.Minimize(cp.square(Y) @ cp.Variable(3, nonneg=True)), BALL)
    assert "in place of" not in words
    assert "in a convex way" in words


#: Of entries that move independently; with terms that see the same ones.
APART = {
    "sum-of-squares": lambda y, q: cp.sum_squares(y - q) + cp.sum(q),
    "beside-maxima": lambda y, q: cp.sum_squares(y - q) + 3 * cp.sum(cp.pos(y - q)),
    "beside-a-product": lambda y, q: cp.sum_squares(y - 2 * q) / 3 + y @ q,
    "norm": lambda y, q: cp.norm(y - q) + cp.sum(q),
    "norm-3": lambda y, q: cp.norm(y - q, 3) + cp.sum(q) / 3,
    "form": lambda y, q: cp.quad_form(y - q, np.diag(np.arange(1.0, 8.0))) + q[0],
    "over-linear": lambda y, q: cp.quad_over_lin(y - q, 5 + q[0]) + q[1],
    "over-linear-and-maxima": lambda y, q: (
        cp.quad_over_lin(y - q, 5 + q[0]) + cp.sum(cp.abs(y - q)) + y @ q
    ),
    "shifted": lambda y, q: cp.norm(cp.multiply(q, y) + 1) - cp.sum(q),
}


@pytest.mark.parametrize("name", APART)
def test_lengths_and_squares_of_many_independent_entries_are_exact(name):
    """Seven entries, 128 corners: more than are written out, all of them here."""
    rng = np.random.default_rng(len(name))
    lower = rng.normal(size=7)
    upper = lower + rng.uniform(0.2, 2.0, 7)
    y, q = Uncertain(7, name="y"), cp.Variable(7, bounds=[-3, 3])
    decision = RobustProblem(
        cp.Minimize(APART[name](y, q)), [], {y: Box(lower, upper)}
    ).solve()
    worst = cp.Variable()
    corners = product(*zip(lower, upper, strict=True))
    rows = [APART[name](np.array(corner), q) <= worst for corner in corners]
    best = cp.Problem(cp.Minimize(worst), rows).solve(solver=cp.CLARABEL)
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(best, abs=2e-5)


#: Several curves of one entry, whatever it moves with.
ALONE = {
    "square-and-maximum": lambda y, q: cp.square(y - q) + 5 * cp.pos(y - q) + q,
    "huber-and-product": lambda y, q: cp.huber(y - q) + 3 * cp.pos(q - y) + y * q,
    "two-exponentials": lambda y, q: cp.exp(y - q) + cp.exp(q - y),
}
TOGETHER = {
    "ellipsoid": BALL,
    "cut": BALL & Box([0.5, 1.5, 2.0], [9.0, 9.0, 9.0]),
    "manhattan": L1Ball(CENTER, np.array([1.0, 0.5, 0.2]), 1.0),
    "union": Union([BALL, Ellipsoid(CENTER + 1, FACTOR, 0.2)]),
}


@pytest.mark.parametrize("region", TOGETHER)
@pytest.mark.parametrize("name", ALONE)
def test_curves_of_a_single_entry_are_worst_at_its_ends(name, region):
    q = cp.Variable(bounds=[-3, 5])
    goal = cp.Minimize(ALONE[name](Y[1], q))
    decision = RobustProblem(goal, [], {Y: TOGETHER[region]}).solve()
    points = TOGETHER[region].sample(60, random_state=1)[:, 1]
    ends = [
        sign * TOGETHER[region].support(sign * np.eye(3)[1]) for sign in (1.0, -1.0)
    ]
    worst = cp.Variable()
    rows = [ALONE[name](value, q) <= worst for value in ends]
    best = cp.Problem(cp.Minimize(worst), rows).solve(solver=cp.CLARABEL)
    assert decision.objective == pytest.approx(best, abs=1e-6)
    at = cp.Constant(decision.value(q))
    assert max(ALONE[name](v, at).value for v in points) <= decision.objective + 1e-6
    assert min(ends) <= points.min() <= points.max() <= max(ends)


def test_expressions_are_written_as_they_are_typed():
    A = cp.Variable((2, 3), name="A")
    typed = (
        "cp.norm(A @ y - 1)",
        "cp.sum(cp.multiply(y, q)[1:3])",
        "cp.sum_largest(cp.abs(y - q), 2) * 3",
        "cp.norm(A, axis=1)[0] / 2",
        "cp.max(cp.maximum(y, 2 * q))",
        "-(q[0] - y[1]) * (2 + q[2])",
        "cp.huber(y[[0, 2]] - 1, 2)[0]",
        "cp.sum(cp.hstack([cp.exp(y[0]), cp.log(5 + y[1])]))",
        "cp.inv_pos(9 + q[0]) + cp.power(q[1], 4) - cp.norm1(y) - cp.norm_inf(q)",
        "np.array([1.0, 2.0, 4.0]) @ (y - q)",
        "A[0, 0:2] @ (A[1, 1:3] + 1)",
    )
    rng = np.random.default_rng(0)
    names = {"cp": cp, "np": np, "A": A, "q": Q, "y": Y}
    for leaf in (A, Q, Y):
        leaf.value = rng.uniform(-2, 2, leaf.shape)
    try:
        for text in typed:
            given = eval(text, names)
            again = eval(as_python(given), names)
            assert again.value == pytest.approx(given.value, rel=1e-5)
    finally:
        for leaf in (A, Q, Y):
            leaf.value = None
