"""What can be made robust exactly is; what cannot is refused, never answered."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import NotRobustifiable
from sublevel.robust import RobustProblem, Uncertain
from sublevel.sets import Box, Ellipsoid

W, Z = cp.Variable(3, nonneg=True), cp.Variable(3)
T = cp.Variable()
R = Uncertain(3, name="r")
P = Uncertain(3, name="p", nonneg=True)
M = Uncertain((2, 3), name="m")
K = cp.Parameter(nonneg=True, value=2.0)
S = cp.Variable((3, 3), PSD=True)

EXACT = {
    "linear": lambda: R @ W <= 1,
    "linear-and-norm": lambda: R @ W + cp.norm(Z) <= 1,
    "maximum": lambda: cp.max(cp.multiply(R, W)) <= 1,
    "nested-maximum": lambda: (
        cp.max(cp.hstack([cp.max(cp.multiply(R, W)), R @ Z])) <= 1
    ),
    "two-sided": lambda: cp.abs(R @ Z) <= 1,
    "minimum": lambda: cp.min(cp.multiply(R, W)) >= -5,
    "hinge": lambda: cp.pos(R @ Z - 1) <= 2,
    "costs-times-convex": lambda: P @ (W + 2 * cp.pos(Z - W)) <= 9,
    "matrix": lambda: M @ Z <= 3,
    "parameter-beside": lambda: R @ W + K * cp.sum(W) <= 5,
    "parameter-times-outcome": lambda: (K * R) @ W <= 1,
    "affine-in-both": lambda: R @ W + cp.sum(R) <= 9,
    "certain-sum-of-maxima": lambda: R @ W + cp.max(W) + cp.sum_largest(Z, 2) <= 4,
    "square-of-hinge": lambda: cp.square(cp.pos(R @ Z)) <= 4,
    "exponential": lambda: cp.exp(R @ W) <= 3,
    "power": lambda: cp.power(R @ W, 4) <= 1,
    "concave-beside": lambda: R @ W - cp.sum(cp.sqrt(W)) <= 1,
    "norm-1": lambda: cp.norm1(cp.multiply(R, W)) <= 1,
    "sum-of-maxima": lambda: cp.max(cp.multiply(R, W)) + cp.max(cp.multiply(R, Z)) <= 1,
    "linear-plus-maximum": lambda: R @ W + cp.max(cp.multiply(R, Z)) <= 1,
    "sum-of-hinges": lambda: cp.sum(cp.pos(R - Z)) <= 1,
    "sum-largest": lambda: cp.sum_largest(cp.multiply(R, W), 2) <= 1,
    "parameter-times-maximum-plus": lambda: K * cp.max(cp.multiply(R, Z)) + R @ W <= 4,
    "total-variation": lambda: cp.tv(cp.multiply(R, Z)) <= 1,
    "range": lambda: cp.ptp(cp.multiply(R, Z)) <= 1,
    "conditional-value-at-risk": lambda: cp.cvar(cp.multiply(R, Z), 0.5) <= 1,
    "two-sides-of-a-maximum": lambda: cp.max(cp.multiply(R, Z)) <= R @ W + 1,
    "log-determinant": lambda: cp.log_det(S + cp.diag(cp.multiply(P, W))) >= -3,
    "inverse-of-product": lambda: cp.inv_prod(cp.multiply(P, W)) <= 300,
    "harmonic-mean": lambda: cp.harmonic_mean(cp.multiply(P, W)) >= 0.1,
    "geometric-mean": lambda: cp.geo_mean(cp.multiply(P, W)) >= 0.1,
    "independent-sets": lambda: cp.exp(R @ Z) + P @ W <= 4,
}

# Twenty and more ways to ask for what has no exact counterpart.


def mentioned():
    """The rows below the first do not depend on the outcome, but mention it."""
    stacked = cp.bmat([[cp.reshape(R, (1, 3), order="F")], [np.eye(3)]]) @ Z
    return cp.hstack([cp.norm(stacked[1:]) + stacked[0], R @ W]) <= 3


REFUSED = {
    "cube-of-hinge-plus": lambda: cp.power(cp.pos(R @ Z), 3) + R @ W <= 4,
    "logistic-of-maximum": lambda: cp.logistic(cp.maximum(R @ Z, 0)) + R @ W <= 4,
    "huber-of-hinge": lambda: cp.huber(cp.pos(R @ Z)) + R @ W <= 4,
    "log-of-minimum": lambda: R @ W + cp.log(1 + cp.minimum(R @ Z, 5)) >= 0,
    "root-of-minimum": lambda: cp.sqrt(cp.minimum(R @ Z, 5)) + R @ W >= 0,
    "norm": lambda: cp.norm(cp.multiply(R, W)) <= 1,
    "equality": lambda: R @ W == 1,
    "log-sum-exp": lambda: cp.log_sum_exp(cp.multiply(R, W)) <= 1,
    "quadratic": lambda: cp.sum_squares(cp.multiply(R, W)) <= 1,
    "quadratic-over-linear": lambda: cp.quad_over_lin(R @ W, 1) + R @ Z <= 1,
    "huber": lambda: cp.sum(cp.huber(R - Z)) <= 1,
    "semidefinite": lambda: S >> cp.diag(cp.multiply(R, W)),
    "second-order": lambda: cp.SOC(T, cp.multiply(R, W)),
    "square-of-outcome": lambda: cp.square(R) @ W <= 1,
    "product-of-outcomes": lambda: (R[0] * R[1]) * W[0] <= 1,
    "outcome-in-denominator": lambda: W[0] / P[0] <= 1,
    "exponential-of-outcome": lambda: cp.exp(R) @ W <= 1,
    "outcome-times-uncertain-hinge": lambda: P @ cp.pos(cp.multiply(R, Z)) <= 1,
    "standard-deviation": lambda: cp.std(cp.multiply(R, Z)) <= 1,
    "largest-eigenvalue": lambda: cp.lambda_max(cp.diag(cp.multiply(R, Z))) <= 1,
    "entropy-of-two": lambda: cp.kl_div(R @ W + 1, P @ W + 1) <= 3,
    "power-cone": lambda: cp.PowCone3D(P @ W, W[0], T, 0.5),
}
UNCERTAINTY = {
    R: Ellipsoid([0.5, 0.2, 0.1], radius=0.2),
    P: Box([0.1, 0.2, 0.1], [0.5, 0.6, 0.9]),
    M: Box(np.full(6, -0.5), np.full(6, 1.0)),
}


def build(constraint):
    bounded = [cp.abs(Z) <= 3, W <= 3, cp.abs(T) <= 3, cp.trace(S) <= 5]
    goal = cp.Minimize(-cp.sum(W) - cp.sum(Z))
    return RobustProblem(goal, [constraint, *bounded], UNCERTAINTY)


@pytest.mark.parametrize("name", EXACT)
def test_exact_constraints_hold_at_every_sampled_outcome_and_bind_at_one(name):
    constraint = EXACT[name]()
    decision = build(constraint).solve()
    assert decision.status == "optimal"
    rng = np.random.default_rng(0)
    used = [p for p in constraint.parameters() if isinstance(p, Uncertain)]
    worst = -np.inf
    for _ in range(300):
        for parameter in used:
            drawn = UNCERTAINTY[parameter].sample(1, rng)[0]
            parameter.value = drawn.reshape(parameter.shape, order="F")
        worst = max(worst, float(np.max(constraint.violation())))
    assert worst <= 1e-6
    assert decision.audit.passed
    assert decision.audit.violations[0] <= 1e-6


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_with_the_constraint_and_a_reason(name):
    with pytest.raises(NotRobustifiable, match="cannot be made robust") as caught:
        build(REFUSED[name]())
    assert str(REFUSED[name]())[:12].split("(")[0].split(" ")[0] in str(caught.value)


def test_rows_that_mention_an_outcome_without_depending_on_it_are_certain():
    goal, limits = cp.Minimize(-cp.sum(W + Z)), [W <= 3]
    plain = [cp.norm(Z) + R @ Z <= 3, R @ W <= 3]
    ours, same = (
        RobustProblem(goal, [*rows, *limits], {R: UNCERTAINTY[R]}).solve()
        for rows in ([mentioned()], plain)
    )
    assert ours.status == "optimal"
    assert ours.objective == pytest.approx(same.objective, abs=1e-6)


def test_a_certain_curve_needs_no_variable_of_its_own():
    """R @ W - sum(sqrt(W)) <= 1 binds where the support does, less the roots."""
    limit = R @ W - cp.sum(cp.sqrt(W)) <= 1
    decision = RobustProblem(cp.Maximize(cp.sum(W)), [limit], UNCERTAINTY).solve()
    region, x = UNCERTAINTY[R], decision.value(W)
    assert region.support(x) - np.sqrt(x).sum() == pytest.approx(1, abs=1e-5)


def test_cones_that_the_cone_form_does_not_cover_are_refused():
    finite = cp.FiniteSet(R @ W, np.array([1.0, 2.0]))
    with pytest.raises(NotRobustifiable, match="cannot be made robust"):
        build(finite)
