"""Curved functions of uncertain quantities: exact against every vertex, or refused.

Each accepted form is convex in the outcome for every decision (or concave, where the
outcome is wanted small), so over a box its worst case is at a vertex: the robust
problem is the ordinary one with the constraint written out at every vertex.
"""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sublevel import LossSet
from sublevel.errors import NotRobustifiable
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model import rewriting
from sublevel.sets import Box, Ellipsoid

W, Z = cp.Variable(2, nonneg=True, name="w"), cp.Variable(2, name="z")
T = cp.Variable(name="t")
R, Q = Uncertain(2, name="r"), Uncertain(2, name="q")
P = Uncertain(2, name="p", nonneg=True)
M = Uncertain((2, 2), name="m")
K = cp.Parameter(nonneg=True, value=0.7)
REGIONS = {
    R: Box([0.3, -0.2], [0.9, 0.6]),
    Q: Box([-0.5, 0.2], [0.2, 0.5]),
    P: Box([0.1, 0.2], [0.5, 0.6]),
    M: Box(np.full(4, -0.3), np.linspace(0.1, 0.9, 4)),
}
LIMITS = [cp.abs(Z) <= 3, W <= 3, cp.abs(T) <= 50]
GOAL = cp.Minimize(-cp.sum(W) - cp.sum(Z) + 0.1 * T + 0.01 * cp.sum_squares(W))

# A form with an exact counterpart, and a neighbour without.
FORMS = {
    "exponential": (lambda: cp.exp(R @ W) <= 3, lambda: cp.exp(R @ W) + R @ Z <= 3),
    "elementwise": (
        lambda: cp.exp(M @ Z) <= np.array([2.0, 3.0]),
        lambda: cp.sum(cp.exp(M @ Z)) <= 3,
    ),
    "square-of-hinge": (
        lambda: cp.square(cp.pos(R @ Z - 1)) <= 2,
        lambda: cp.square(cp.pos(R @ Z - 1)) + cp.pos(R @ W) <= 2,
    ),
    "square": (lambda: cp.square(R @ Z - 1) <= 2, lambda: cp.sum_squares(R - Z) <= 2),
    "fourth-power": (
        lambda: cp.power(R @ W, 4) <= 1,
        lambda: cp.norm(cp.multiply(R, W), 4) <= 1,
    ),
    "cube-on-its-domain": (
        lambda: cp.power(R @ Z + 1, 3) <= 4,
        lambda: cp.power(cp.maximum(R @ Z, -1), 3) <= 4,
    ),
    "product-with-exponential": (
        lambda: cp.xexp(P @ W) <= 1,
        lambda: cp.xexp(P @ W) + P @ W <= 1,
    ),
    "norm-of-one-entry": (
        lambda: cp.norm(R @ Z - 0.5) <= 1,
        lambda: cp.norm(cp.hstack([R @ Z, Q @ Z])) <= 1,
    ),
    "norm-of-one-uncertain-entry": (
        lambda: cp.norm(cp.hstack([P @ W, W])) <= 2,
        lambda: cp.norm(cp.hstack([R @ Z, Z])) <= 2,
    ),
    "huber": (
        lambda: cp.huber(R @ Z - 1, 0.5) <= 1.5,
        lambda: cp.sum(cp.huber(R - Z)) <= 1.5,
    ),
    "logistic": (
        lambda: cp.logistic(-(R @ W)) + cp.sum(W) <= 4,
        lambda: cp.logistic(-(R @ W)) + R @ W <= 4,
    ),
    "logistic-of-maximum": (
        lambda: cp.logistic(cp.maximum(R @ Z, R @ W)) <= 2,
        lambda: cp.logistic(R @ Z + cp.pos(R @ W)) <= 2,
    ),
    "square-over-linear": (
        lambda: cp.quad_over_lin(R @ Z - 1, cp.sum(W) + 1) <= 1,
        lambda: cp.quad_over_lin(cp.multiply(R, Z), cp.sum(W) + 1) <= 1,
    ),
    "square-over-uncertain": (
        lambda: cp.quad_over_lin(R @ Z, P @ W + 1) <= 1,
        lambda: cp.quad_over_lin(R @ Z, R @ W + 1) <= 1,
    ),
    "one-entry-of-log-sum-exp": (
        lambda: cp.log_sum_exp(cp.hstack([R @ Z, cp.sum(W) - 2])) <= 1,
        lambda: cp.log_sum_exp(cp.hstack([R @ Z, R @ W])) <= 1,
    ),
    "independent-entries": (
        lambda: cp.log_sum_exp(cp.hstack([R @ Z, Q @ W])) <= 1,
        lambda: cp.log_sum_exp(cp.multiply(R, W)) <= 1,
    ),
    "independent-curves": (
        lambda: cp.exp(R @ Z) + cp.square(Q @ W) <= 4,
        lambda: cp.exp(R @ Z) + cp.square(R @ W) <= 4,
    ),
    "curve-and-independent-row": (
        lambda: cp.exp(R @ Z) + Q @ W <= 4,
        lambda: cp.exp(R @ Z + Q @ W) + Q @ W <= 4,
    ),
    "log": (
        lambda: cp.log(2 + R @ Z - cp.sum(W)) >= 0,
        lambda: cp.log(2 + R @ Z) + R @ W >= 0,
    ),
    "root": (
        lambda: cp.sqrt(3 + R @ Z - cp.sum(W)) >= 1,
        lambda: cp.geo_mean(cp.multiply(P, W)) >= 1,
    ),
    "inverse": (
        lambda: cp.inv_pos(4 + R @ Z - cp.sum(W)) <= 0.7,
        lambda: cp.inv_pos(2 + R @ Z) + cp.inv_pos(2 + R @ W) <= 0.7,
    ),
    "log-of-minimum": (
        lambda: cp.log(cp.minimum(R @ Z + 4, Q @ W + 2)) >= 0.5,
        lambda: cp.log(cp.minimum(R @ Z, 0) + R @ W + 4) >= 0.5,
    ),
    "certain-square": (
        lambda: cp.square(W[0]) + R @ W <= 1,
        lambda: cp.square(R[0] * Z[0]) + R @ W <= 1,
    ),
    "certain-norm": (
        lambda: cp.norm(Z) + R @ W <= 1,
        lambda: cp.norm(cp.multiply(R, Z)) + cp.sum(W) <= 1,
    ),
    "certain-root": (
        lambda: R @ W - cp.sum(cp.sqrt(W)) <= 0.2,
        lambda: R @ W - cp.sqrt(R @ W) <= 0.2,
    ),
    "certain-utility": (
        lambda: R @ Z + cp.sum(cp.log(4 - W)) >= 1,
        lambda: cp.sum(cp.log(1 + cp.multiply(P, W))) >= 0.5,
    ),
    "certain-curve-beside": (
        lambda: cp.exp(R @ Z) + cp.sum_squares(W) <= 4,
        lambda: cp.exp(R @ Z) + cp.abs(R @ W) <= 4,
    ),
    "certain-curve-inside": (
        lambda: cp.exp(R @ Z + cp.square(W[0])) <= 4,
        lambda: cp.exp(R @ Z + cp.square(R @ W)) <= 4,
    ),
    "parameter-times-curve": (
        lambda: K * cp.exp(R @ Z) + Q @ W <= 3,
        lambda: K * cp.exp(R @ Z) + R @ W <= 3,
    ),
    "parameter-times-maximum": (
        lambda: K * cp.max(cp.multiply(R, Z)) <= 0.5,
        lambda: K * cp.max(cp.multiply(R, Z)) + R @ W <= 0.5,
    ),
    "exponential-of-outcome": (
        lambda: cp.exp(R[0]) + cp.sum(Z) <= 4,
        lambda: cp.sum(cp.exp(R)) + cp.sum(Z) <= 4,
    ),
    "largest-outcome": (
        lambda: cp.max(R) + cp.sum(Z) <= 4,
        lambda: cp.max(R) + R @ Z <= 4,
    ),
    "infinity-norm": (
        lambda: cp.norm(M @ Z, "inf") <= 1,
        lambda: cp.norm(M @ Z, 1) <= 1,
    ),
    "running-maximum": (
        lambda: cp.cummax(cp.multiply(R, Z)) <= np.array([1.0, 1.5]),
        lambda: cp.sum(cp.cummax(cp.multiply(R, Z))) <= 1,
    ),
    "side-by-side": (
        lambda: cp.hstack([cp.exp(R @ Z), cp.square(R @ W)]) <= 3,
        lambda: cp.sum(cp.hstack([cp.exp(R @ Z), cp.square(R @ W)])) <= 3,
    ),
    "on-both-sides": (
        lambda: cp.square(R @ Z) <= cp.sqrt(Q @ W + 2),
        lambda: cp.square(R @ Z) <= cp.sqrt(R @ W + 2),
    ),
    "costs-times-curve": (
        lambda: P @ cp.square(Z - 1) + R @ W <= 4,
        lambda: P @ cp.square(cp.multiply(R, Z)) <= 4,
    ),
    "curve-of-costs": (
        lambda: cp.exp(0.3 * P @ cp.square(Z)) <= 3,
        lambda: cp.exp(0.3 * P @ cp.pos(cp.multiply(P, Z))) <= 3,
    ),
    "cone-of-its-own": (
        lambda: cp.NonNeg(3 - cp.exp(R @ Z)),
        lambda: cp.ExpCone(R @ Z, cp.Constant(1.0), T),
    ),
}

OBJECTIVES = {
    "log-utility": cp.Maximize(cp.log(1 + R @ W) - 0.1 * cp.sum_squares(W)),
    "root-utility": cp.Maximize(cp.sqrt(1 + R @ W) - 0.1 * cp.sum_squares(W)),
    "power-utility": cp.Maximize(-cp.inv_pos(1 + R @ W) - 0.01 * cp.sum_squares(W)),
    "capped-utility": cp.Maximize(cp.minimum(cp.log(1 + R @ W), 0.05 + 0 * T)),
    "shortfall": cp.Minimize(cp.square(cp.pos(2 - R @ W)) + 0.3 * cp.sum(W)),
    "tracking": cp.Minimize(cp.square(R @ Z - 1) + 0.01 * cp.sum_squares(Z)),
    "mean-variance": cp.Maximize(R @ W - cp.quad_form(W, np.eye(2) + 0.2)),
    "two-markets": cp.Maximize(cp.log(1 + R @ W) + cp.sqrt(3 + Q @ Z)),
}


def at_vertices(written):
    """The same constraint or expression at every combination of vertices."""
    used = [p for p in written.parameters() if isinstance(p, Uncertain)]
    ends = [(REGIONS[p].lower, REGIONS[p].upper) for p in used]
    corners = [list(product(*zip(*pair, strict=True))) for pair in ends]
    return [
        written.tree_copy(
            id_objects={
                id(p): cp.Constant(np.reshape(flat, p.shape, order="F"))
                for p, flat in zip(used, choice, strict=True)
            }
        )
        for choice in product(*corners)
    ]


def solved(objective, constraints):
    problem = cp.Problem(objective, constraints)
    # Clarabel gets stuck on some of these with its usual steps.
    return problem.solve(solver=cp.CLARABEL, max_step_fraction=0.9)


@pytest.mark.parametrize("name", FORMS)
def test_constraints_equal_their_vertices_written_out(name):
    constraint = FORMS[name][0]()
    robust = RobustProblem(GOAL, [constraint, *LIMITS], REGIONS)
    decision = robust.solve(engine="dual")
    best = solved(GOAL, [*at_vertices(constraint), *LIMITS])
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    # The constraint matters: without it the decision would be another one.
    assert solved(GOAL, LIMITS) < best - 1e-3


#: Sums of maxima are exact over any set; two more are refused over boxes as well, and
#: one has no decision.
SUMS = ("parameter-times-maximum", "largest-outcome", "infinity-norm")
NORMS = ("norm-of-one-entry", "norm-of-one-uncertain-entry")
HARD = ("costs-times-curve", "curve-of-costs", "cone-of-its-own", "root")
#: The ellipsoids within the boxes, whose entries move together.
BALLS = {
    p: Ellipsoid((U.lower + U.upper) / 2, (U.upper - U.lower) / 2, 1.0)
    for p, U in REGIONS.items()
}


@pytest.mark.parametrize(
    "name", [name for name in FORMS if name not in (*SUMS, *NORMS)]
)
def test_their_neighbours_are_refused_where_entries_move_together(name):
    constraint = FORMS[name][1]()
    with pytest.raises(NotRobustifiable, match="cannot be made robust") as caught:
        RobustProblem(GOAL, [constraint, *LIMITS], BALLS)
    assert str(constraint) in str(caught.value)


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_what_moves_apart_are_those_of_the_largest_sizes(name):
    """The size of R @ Z is at most |middle @ Z| plus the norm of half the widths."""
    sizes = []
    for p in (R, Q):
        lower, upper = REGIONS[p].bounds()
        size = cp.abs(Z @ (lower + upper) / 2)
        sizes.append(size + cp.norm(cp.multiply((upper - lower) / 2, Z)))
    limit = FORMS[name][1]()
    entries = sizes if name == NORMS[0] else [sizes[0], cp.abs(Z[0]), cp.abs(Z[1])]
    bounds = cp.Variable(len(entries))
    rows = [size <= bound for size, bound in zip(entries, bounds, strict=True)]
    decision = RobustProblem(GOAL, [limit, *LIMITS], BALLS).solve()
    assert decision.status == "optimal"
    best = solved(GOAL, [cp.norm(bounds) <= limit.args[1], *rows, *LIMITS])
    assert decision.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in FORMS if name not in HARD])
def test_over_boxes_the_neighbours_equal_their_vertices_written_out(name):
    constraint = FORMS[name][1]()
    decision = RobustProblem(GOAL, [constraint, *LIMITS], REGIONS).solve()
    best = solved(GOAL, [*at_vertices(constraint), *LIMITS])
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_equal_their_vertices_written_out(name):
    objective, limits = OBJECTIVES[name], [cp.sum(W) <= 2, *LIMITS]
    robust = RobustProblem(objective, limits, REGIONS)
    worst, values = cp.Variable(), at_vertices(objective.args[0])
    small = isinstance(objective, cp.Minimize)
    bounds = [v <= worst if small else v >= worst for v in values]
    best = solved(type(objective)(worst), [*bounds, *limits])
    for engine in ("dual", "cuts"):
        decision = robust.solve(engine=engine)
        assert decision.status == "optimal"
        assert decision.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_log_utility_over_an_ellipsoid_is_the_log_of_the_robust_return():
    """min over r of log(1 + r @ w) is log(1 + min r @ w), so the same w is best."""
    region = Ellipsoid([0.3, 0.2], [0.2, 0.1], 1.0)
    limits = [cp.sum(W) == 1]
    linear = RobustProblem(cp.Maximize(R @ W), limits, {R: region}).solve()
    log = RobustProblem(cp.Maximize(cp.log(1 + R @ W)), limits, {R: region}).solve()
    assert log.objective == pytest.approx(np.log1p(linear.objective), abs=1e-7)
    assert log.worst_case(R) == pytest.approx(linear.worst_case(R), abs=1e-3)


def test_outcomes_in_one_set_are_not_independent():
    shared = {(R, Q): Ellipsoid([0.6, 0.2, -0.1, 0.3], radius=0.2)}
    both = cp.exp(R @ Z) + cp.square(Q @ W) <= 4
    with pytest.raises(NotRobustifiable, match="nature could not all make worst"):
        RobustProblem(GOAL, [both, *LIMITS], shared)


POLICIES = {
    "log": cp.Maximize(cp.log(R @ W)),
    "capped": cp.Maximize(cp.minimum(R @ W, 0.1)),
    "capped-log": cp.Maximize(cp.minimum(cp.log(R @ W), 0.1)),
    "shortfall": cp.Minimize(cp.square(cp.pos(4 - R @ W))),
    "tracking": cp.Minimize(cp.abs(R @ Z - 1) + cp.sum_squares(Z)),
    "budget": cp.Maximize(cp.sum(W) - cp.exp(R @ W)),
}


@pytest.mark.parametrize("name", POLICIES)
def test_curved_models_are_compiled_once_for_all_contexts(name):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 2))
    y = 3 + x @ rng.normal(size=(2, 2)) / 6 + 0.1 * rng.normal(size=(300, 2))
    sets = LossSet(LinearRegression()).fit(x[:150], y[:150])
    sets.calibrate(x[150:], y[150:], alpha=0.1)
    robust = RobustProblem(POLICIES[name], [cp.sum(W) <= 1, *LIMITS], {R: sets})
    policy = robust.compile()
    found = policy.decide(x[:4])
    alone = [robust.solve(x[i : i + 1]).objective for i in range(4)]
    assert policy.one_by_one is None
    assert (found.status == "optimal").all()
    assert found.objective == pytest.approx(alone, rel=1e-6, abs=1e-6)


def _upside_down(bounded):
    return lambda self, expression, sense: bounded(self, expression, -sense)


def _one_end(bounded):
    return lambda self, expression, sense: bounded(self, expression, 1)


@pytest.mark.parametrize(
    ("mutation", "name"), [(_upside_down, "exponential"), (_one_end, "square")]
)
def test_a_bound_on_the_wrong_side_is_caught(mutation, name, monkeypatch):
    broken = mutation(rewriting._Rewriter._bounded)
    monkeypatch.setattr(rewriting._Rewriter, "_bounded", broken)
    constraint = FORMS[name][0]()
    # Make the wrong side matter: square(r @ z - 1) is largest at its lower end.
    goal = cp.Minimize(-cp.sum(W) + cp.sum(Z))
    decision = RobustProblem(goal, [constraint, *LIMITS], REGIONS).solve()
    best = solved(goal, [*at_vertices(constraint), *LIMITS])
    assert abs(decision.objective - best) > 1e-2
    assert decision.status == "audit_failed"


@pytest.mark.parametrize(
    "write",
    [
        lambda: cp.huber(T, P[0]) <= 1,
        lambda: cp.abs(R[0] * cp.Variable(complex=True)) <= 1,
    ],
)
def test_what_the_rules_do_not_speak_of_is_refused(write):
    with pytest.raises(NotRobustifiable, match="cannot be made robust"):
        RobustProblem(GOAL, [write(), *LIMITS], REGIONS)


@pytest.mark.parametrize("engine", ["dual", "cuts"])
def test_the_real_part_of_what_is_real_is_itself(engine):
    def least(part):
        r, w = Uncertain(2), cp.Variable(2, nonneg=True)
        U = Ellipsoid([1.0, 2.0], radius=0.5)
        problem = RobustProblem(cp.Minimize(cp.sum(w)), [part(r @ w) >= 1], {r: U})
        return problem.solve(engine=engine).objective

    assert least(cp.real) == pytest.approx(least(lambda part: part), rel=1e-6)
