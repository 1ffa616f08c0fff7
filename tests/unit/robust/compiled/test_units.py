"""Contexts of very different size in one batch, in any order, in chunks of any size."""

import cvxpy as cp
import numpy as np
import pytest
from sublevel.robust.auditing.units import find_units

import sublevel as sl

from .given import Given, calibrated, contexts, portfolio

DIM = 4
SIZES = [1.0, 1e-8, 1e3, 1e-4, 1e8, 1e-2, 1e6, 1.0, 1e-6, 1e8]


def flow(sets):
    c, f = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    return sl.RobustProblem(
        cp.Minimize(c @ f), [f[0] + f[1] == 1, f[2] == f[0]], {c: sets}
    )


def pieces(sets):
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, bounds=[0.5, 2])
    goal = cp.Minimize(3 * cp.maximum(r @ x, 2 * (r[:2] @ x[1:3])))
    return sl.RobustProblem(goal, [], {r: sets})


def covering(sets):
    """The certain side has no unit but that of x: x shrinks as the outcomes grow."""
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    return sl.RobustProblem(cp.Minimize(x @ [1, 2, 1, 3]), [r @ x >= 1], {r: sets})


MODELS = [lambda sets: portfolio(sets, DIM)[2], flow, pieces, covering]


def reference(model, sets, x, size, power, degree):
    """The problem solved in units in which its numbers are near one."""
    region = sets.predict_set(x[None], budget=sets.budget_ / size**degree)[0]
    return model(region).solve().objective * size**power


@pytest.mark.parametrize(
    ("loss", "degree"), [("gaussian", 0), ("gamma", 0), ("absolute", 1), ("pinball", 1)]
)
@pytest.mark.parametrize("model", MODELS)
def test_sizes_sixteen_orders_apart(model, loss, degree):
    """With outcomes `size` times as large the loss is size**degree times as large."""
    rng = np.random.default_rng(41)
    sets, X = calibrated(loss, DIM, rng), contexts(len(SIZES), DIM, rng)
    power, sizes = (-1 if model is covering else 1), np.array(SIZES)
    if degree:
        # A budget of its own for each size, as it is that of the group.
        sizes = np.array([1.0, 0.8, 2.0, 1.0, 1e8, 1e2, 1e3, 1.0, 2.0, 1e5])
    given = zip(X, sizes, strict=True)
    expected = [reference(model, sets, x, s, power, degree) for x, s in given]
    policy = model(sets).compile()
    assert policy._prepared._compiled.units is not None
    found = policy.decide(X * sizes[:, None])
    assert (found.status == "optimal").all()
    np.testing.assert_allclose(found.objective, expected, rtol=1e-6)


def mixed(sets):
    """Constants fix the units: every order of magnitude has its own solver."""
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
    goal = cp.Maximize(r @ x - cp.sum_squares(x))
    return sl.RobustProblem(goal, [cp.sum(x) <= 2, r @ x >= -1], {r: sets})


def test_models_with_units_of_their_own():
    rng = np.random.default_rng(42)
    sets, X = calibrated("gaussian", DIM, rng), contexts(8, DIM, rng)
    sizes = np.array([1.0, 1e4, 1e-2, 1e8, 1e2, 1e4, 1e8, 1.0])
    problem, X = mixed(sets), X * sizes[:, None]
    policy = problem.compile()
    assert policy._prepared._compiled.units is None
    found = policy.decide(X)
    fresh = [problem.compile().decide(X[i : i + 1]).objective[0] for i in range(8)]
    assert (found.status == "optimal").all()
    np.testing.assert_allclose(found.objective, fresh, rtol=1e-6)
    # CVXPY's own form of the problem fails at the largest sizes.
    small = np.flatnonzero(sizes <= 1e4)
    alone = [problem.solve(X[i : i + 1]).objective for i in small]
    np.testing.assert_allclose(found.objective[small], alone, rtol=1e-6, atol=1e-7)


def test_order_and_chunks_do_not_matter():
    rng = np.random.default_rng(43)
    sets, X = calibrated("gaussian", DIM, rng), contexts(40, DIM, rng)
    X *= 10 ** rng.uniform(-4, 4, size=(40, 1))
    order = rng.permutation(40)
    for model in (portfolio(sets, DIM)[2], mixed(sets)):
        policy = model.compile()
        found = policy.decide(X)
        assert (found.status == "optimal").all()
        shuffled = policy.decide(X[order])
        np.testing.assert_allclose(
            shuffled.objective, found.objective[order], rtol=1e-6, atol=1e-7
        )
        for chunk in (1, 7, 40, 1000):
            again = policy.decide(X, chunk=chunk)
            np.testing.assert_allclose(
                again.objective, found.objective, rtol=1e-6, atol=1e-7
            )


def test_exponents_worked_by_hand():
    """Minimise location'w + t over |reach w| <= t: t is in the outcome's unit."""
    rng = np.random.default_rng(44)
    _, w, problem = portfolio(calibrated("gaussian", DIM, rng), DIM)
    program = problem.compile()._prepared._compiled.program
    units = find_units(program)
    assert units.goal == 1
    assert (units.columns[program.variables[w.id]] == 0).all()
    assert sorted(units.columns) == [0] * DIM + [1]
    cover = covering(calibrated("gaussian", DIM, rng)).compile()._prepared._compiled
    assert cover.units.goal == -1
    assert cover.units.scale(
        {"0.0.location": np.array([[3.9, -0.1], [0.0, 0.0]])}
    ).tolist() == [4.0, 1.0]


def test_no_units_where_the_model_compares_outcomes_with_constants():
    rng = np.random.default_rng(45)
    r, x = sl.Uncertain(DIM), cp.Variable(DIM, bounds=[0, 1])
    sets = calibrated("gaussian", DIM, rng, model=Given())
    for goal, limits in (
        (cp.Maximize(r @ x), [r @ x <= 5]),
        (cp.Maximize(r @ x + 1), []),
        (cp.Maximize(r @ x - cp.sum_squares(x)), []),
        (cp.Maximize(cp.minimum(r @ x, 4)), []),
    ):
        policy = sl.RobustProblem(goal, limits, {r: sets}).compile()
        assert policy._prepared._compiled.units is None
