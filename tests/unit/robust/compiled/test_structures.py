"""Compiled decisions against problems solved one by one, for many kinds of models."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import sublevel as sl

from .given import Given, assert_as_solved, calibrated, contexts, portfolio


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def test_several_keys_of_different_shapes_and_a_shared_set(rng):
    a, b, c = sl.Uncertain(2, name="a"), sl.Uncertain(3, name="b"), sl.Uncertain()
    x, y = cp.Variable(2, nonneg=True), cp.Variable(3, nonneg=True)
    sets = calibrated("gaussian", 2, rng, model=Given(0, 2))
    shared = calibrated("absolute", 4, rng, model=Given(-4, None))
    goal = cp.Maximize(a @ x + b @ y - cp.sum_squares(x))
    limits = [cp.sum(x) + cp.sum(y) <= 1, c * cp.sum(x) <= 2]
    problem = sl.RobustProblem(goal, limits, {a: sets, (b, c): shared})
    found = assert_as_solved(problem, contexts(4, 6, rng))
    assert found.worst_case(b).shape == (4, 3)
    assert found.worst_case(c).shape == (4,)


def test_set_values_beside_loss_sets(rng):
    r, cost = sl.Uncertain(3, name="r"), sl.Uncertain(3, name="cost", nonneg=True)
    w = cp.Variable(3, nonneg=True)
    sets = calibrated("huber", 3, rng)
    box = sl.sets.Box([-0.5, 0.1, 0.2], [0.4, 0.3, 0.5])
    goal = cp.Maximize(r @ w - cost @ w)
    problem = sl.RobustProblem(goal, [cp.sum(w) == 1], {r: sets, cost: box})
    assert_as_solved(problem, contexts(4, 3, rng))


def test_set_values_alone(rng):
    r, w = sl.Uncertain(3), cp.Variable(3, nonneg=True)
    for region in (
        sl.sets.Ellipsoid([1.0, 2.0, 3.0], radius=1.5),
        sl.sets.Ellipsoid([1.0, 2.0, 3.0]) & sl.sets.Box([0.5] * 3, [2.5] * 3),
        sl.sets.Ellipsoid([1.0, 2.0, 3.0]) | sl.sets.Box([0.5] * 3, [2.5] * 3),
        sl.sets.Finite(rng.normal(size=(4, 3))),
    ):
        problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: region})
        assert_as_solved(problem, None)
        many = problem.compile().decide(np.zeros((3, 1)))
        np.testing.assert_allclose(many.objective, problem.solve().objective, atol=1e-6)


def test_matrices_are_read_column_by_column(rng):
    A, x = sl.Uncertain((2, 3), name="A"), cp.Variable((3, 2), name="x", nonneg=True)
    sets = calibrated("gaussian", 6, rng)
    problem = sl.RobustProblem(
        cp.Maximize(cp.sum(x) + x[0, 1]),
        [A @ x <= np.array([[5, 6], [7, 8.0]])],
        {A: sets},
    )
    found = assert_as_solved(problem, contexts(3, 6, rng))
    worst, value = found.worst_case(A), found.value(x)
    assert worst.shape == (3, 2, 3)
    assert value.shape == (3, 3, 2)
    assert (worst @ value <= np.array([[5, 6], [7, 8]]) + 1e-5).all()
    table = found.to_pandas()
    np.testing.assert_array_equal(table["x[2,0]"], value[:, 2, 0])
    np.testing.assert_array_equal(table["worst A[0,2]"], worst[:, 0, 2])


def test_ordinary_parameters_change_between_calls(rng):
    r, w = sl.Uncertain(3), cp.Variable(3, nonneg=True)
    price, limit = cp.Parameter(3, name="price"), cp.Parameter(nonneg=True)
    lam = cp.Parameter(nonneg=True)
    problem = sl.RobustProblem(
        cp.Maximize(r @ w - price @ w - lam * cp.sum_squares(w)),
        [cp.sum(w) <= limit, r @ w + price @ w <= 4 * limit],
        {r: calibrated("gaussian", 3, rng)},
    )
    policy, X = problem.compile(), contexts(3, 3, rng)
    with pytest.raises(sl.errors.InvalidParameter, match="'price' must have a value"):
        policy.decide(X)
    for values in ([0.1, 0.2, 0.3], [0.5, 0.0, -0.5]):
        price.value, limit.value = np.array(values), 1.0 + values[0]
        lam.value = values[2] + 0.5
        found = policy.decide(X)
        alone = [problem.solve(X[i : i + 1]).objective for i in range(3)]
        np.testing.assert_allclose(found.objective, alone, rtol=1e-6)


def test_quadratic_and_conic_certain_parts(rng):
    """The quadratic goes to the solver as such; exp, power and PSD cones too."""
    a, x = sl.Uncertain(3), cp.Variable(3)
    sets, X = calibrated("gaussian", 3, rng), contexts(3, 3, rng)
    P = np.array([[2.0, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 3]])
    uncertain = [a @ x >= 1]
    goal = cp.Minimize(cp.quad_form(x, P) + cp.sum(x))
    for certain in (
        [],
        [cp.sum(cp.exp(x)) <= 6, cp.log_sum_exp(-x) <= 3],
        [cp.PowCone3D(x[0] + 1, x[1] + 1, x[2] + 0.9, 0.3)],
        [cp.bmat([[1, x[0]], [x[0], 1]]) >> 0, x[0] >= 0.2],
    ):
        problem = sl.RobustProblem(goal, [*uncertain, *certain], {a: sets})
        found = assert_as_solved(problem, X)
        assert (found.status == "optimal").all()


@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
def test_objectives_of_several_pieces(rng, sense):
    r, x = sl.Uncertain(3), cp.Variable(3, bounds=[-1, 2])
    sign = 1.0 if sense is cp.Minimize else -1.0
    sets, X = calibrated("gaussian", 3, rng), contexts(4, 3, rng)
    for floor in (-100.0, 2.0, 100.0):
        # A certain piece that never, sometimes, always decides.
        worst = cp.maximum(r @ x + x[0], 2 * (r[:2] @ x[1:]) - 1, floor)
        goal = sense(sign * (3 * worst + cp.norm(x - 1) + cp.sum(x)))
        found = assert_as_solved(sl.RobustProblem(goal, [], {r: sets}), X)
        assert (found.status == "optimal").all()
        assert found.audit.gap.max() < 1e-6


def test_pieces_in_constraints_tell_the_slack_of_what_was_written(rng):
    """The auxiliary variable of the maximum floats; the audit sets it."""
    r, x = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True)
    sets, X = calibrated("gaussian", 2, rng), contexts(3, 2, rng)
    loose, tight = cp.maximum(r @ x, 1) <= 1000, cp.maximum(r[0] * x[0], -5) <= 4
    problem = sl.RobustProblem(
        cp.Maximize(cp.sum(x)), [loose, x[1] <= 3, tight], {r: sets}
    )
    found = assert_as_solved(problem, X)
    assert (found.audit.binding == 1).all()
    worst = found.worst_case(r)[:, 0] * found.value(x)[:, 0]
    np.testing.assert_allclose(worst, 4, atol=1e-5)


def test_uncertain_constraints_alone_in_both_senses(rng):
    a, x = sl.Uncertain(3), cp.Variable(3, nonneg=True)
    sets, X = calibrated("pinball", 3, rng), contexts(4, 3, rng)
    most = sl.RobustProblem(cp.Maximize(cp.sum(x)), [a @ x <= 5, x <= 2], {a: sets})
    least = sl.RobustProblem(cp.Minimize(cp.sum(x)), [a @ x >= 5], {a: sets})
    for problem in (most, least):
        found = assert_as_solved(problem, X)
        assert found.audit.violations.shape == (4, 1)
        assert found.audit.violations.max() < 1e-5


def test_rows_that_see_one_entry_each(rng):
    demand, stock = sl.Uncertain(30), cp.Variable(30)
    sets, X = calibrated("nll", 30, rng), contexts(2, 30, rng)
    goal = cp.Minimize(cp.sum(stock))
    problem = sl.RobustProblem(goal, [stock >= demand], {demand: sets})
    found = assert_as_solved(problem, X)
    upper = sets.predict_set(X).bounds()[1]
    np.testing.assert_allclose(found.value(stock), upper, rtol=1e-6)


def test_structured_variables(rng):
    r, S = sl.Uncertain(2), cp.Variable((2, 2), PSD=True)
    sets, X = calibrated("gaussian", 2, rng), contexts(2, 2, rng)
    goal = cp.Maximize(r @ cp.diag(S))
    problem = sl.RobustProblem(goal, [cp.trace(S) <= 1, S[0, 1] >= 0.1], {r: sets})
    found = assert_as_solved(problem, X)
    assert found.value(S).shape == (2, 2, 2)
    assert (np.linalg.eigvalsh(found.value(S)) >= -1e-7).all()


def test_structured_parameters_go_one_by_one(rng):
    r, w = sl.Uncertain(2), cp.Variable(2, nonneg=True)
    K = cp.Parameter((2, 2), symmetric=True, value=np.eye(2))
    p, q = cp.Parameter(nonneg=True, value=1.5), cp.Parameter(nonneg=True, value=2.0)
    sets, X = calibrated("gaussian", 2, rng), contexts(2, 2, rng)
    goal = cp.Maximize(r @ w)
    for limit, why in (
        (cp.sum(K @ w) <= 1, "symmetric"),
        (p * q * cp.sum(w) <= 1, "DPP"),
    ):
        problem = sl.RobustProblem(goal, [limit], {r: sets})
        assert_as_solved(problem, X, compiled=False)
        assert why in problem.compile().one_by_one


def test_integer_models_and_cuts_go_one_by_one(rng):
    a, x = sl.Uncertain(3), cp.Variable(3, boolean=True)
    sets, X = calibrated("gaussian", 3, rng), contexts(3, 3, rng)
    problem = sl.RobustProblem(cp.Maximize(x @ [3, 2, 1]), [a @ x <= 8], {a: sets})
    found = assert_as_solved(problem, X, compiled=False)
    np.testing.assert_allclose(found.value(x), found.value(x).round(), atol=1e-6)
    plain = portfolio(sets, 3)[2]
    assert_as_solved(plain, X, compiled=False, engine="cuts")
    assert_as_solved(plain, X, engine="dual")


def test_labels_and_own_losses_go_one_by_one(rng):
    X = rng.normal(size=(90, 2))
    labels = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(X[:30], labels[:30])
    sets.calibrate(X[30:], labels[30:], alpha=0.1)
    p, x = sl.Uncertain(2, nonneg=True), cp.Variable(nonneg=True)
    cost = x + 6 * cp.pos(np.array([1.0, 10.0]) - x)
    problem = sl.RobustProblem(cp.Minimize(p @ cost), [], {p: sets})
    assert_as_solved(problem, X[:6], compiled=False)
    own = calibrated(lambda y, location: cp.norm(y - location, 3), 2, rng)
    problem = portfolio(own, 2)[2]
    assert_as_solved(problem, contexts(2, 2, rng), compiled=False)


def test_affine_rules_are_told_context_by_context(rng):
    demand, stock = sl.Uncertain(2, name="demand"), cp.Variable(2, nonneg=True)
    late = sl.affine_rule(demand, 2, nonneg=True, name="late")
    sets, X = calibrated("absolute", 2, rng), contexts(3, 2, rng)
    cost = cp.sum(stock) + 3 * cp.sum(late)
    problem = sl.RobustProblem(
        cp.Minimize(cost), [stock + late >= demand], {demand: sets}
    )
    found = assert_as_solved(problem, X)
    rules = found.value(late)
    for i in range(3):
        region = sets.predict_set(X[i : i + 1])[0]
        for outcome in region.sample(20, random_state=0):
            have = found.value(stock)[i] + rules[i](outcome)
            assert (have >= outcome - 1e-5).all()
            assert rules[i](outcome).min() >= -1e-5


def test_equalities_that_a_rule_answers_to(rng):
    demand, make = sl.Uncertain(2, name="demand"), cp.Variable(2, nonneg=True)
    rest = sl.affine_rule(demand, 2, name="rest")
    sets, X = calibrated("gaussian", 2, rng), contexts(3, 2, rng)
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(make) + 4 * cp.sum(rest)),
        [make + rest == demand, rest >= -1],
        {demand: sets},
    )
    found = assert_as_solved(problem, X)
    for i, rule in enumerate(found.value(rest)):
        outcome = sets.predict_set(X[i : i + 1])[0].worst_case([1.0, -2.0])
        np.testing.assert_allclose(
            found.value(make)[i] + rule(outcome), outcome, atol=1e-5
        )
