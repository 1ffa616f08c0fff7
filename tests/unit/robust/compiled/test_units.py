"""Contexts of very different size in one batch, in any order, in chunks of any size."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.canonical import cone_program
from sublevel.conic.ordinary import extraordinary
from sublevel.conic.program import fill
from sublevel.conic.scaling import scale
from sublevel.robust.solve.slot_values import slot_values

from .given import calibrated, compiled_of, contexts, portfolio

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


def test_the_units_a_solver_sees():
    """Outcomes a million times as large: one more power of two for each doubling."""
    rng = np.random.default_rng(44)
    sets, X = calibrated("gaussian", DIM, rng), contexts(3, DIM, rng)
    program = compiled_of(portfolio(sets, DIM)[2].compile()).program
    slots = np.zeros(program.size)
    slots[-1] = 1.0

    def numbers(size):
        batch = sets.predict_set(X * size)
        return fill(program, slots, slot_values(0, batch.parts), len(X))

    assert not extraordinary(numbers(1.0)).any()
    assert extraordinary(numbers(1e6)).all()
    small, large = scale(numbers(1.0)), scale(numbers(2.0**20))
    scaled = [units.apply(numbers(s)) for units, s in ((small, 1.0), (large, 2.0**20))]
    for one, other in zip(scaled[0].A.rows(), scaled[1].A.rows(), strict=True):
        sizes = np.abs(other[other != 0])
        assert sizes.max() < 1e3
        assert sizes.min() > 1e-3
        # Powers of two round nothing.
        exponents = np.log2(np.abs(other[one != 0] / one[one != 0]))
        np.testing.assert_allclose(exponents, np.round(exponents), atol=1e-9)


def test_rounding_in_a_matrix_has_no_unit():
    """What is left of terms that cancelled is as small as it likes."""
    x = cp.Variable(4)
    factor = np.array(
        [[-1, 1e-16, 1e-16, 3e-17], [1.1, -1.5, 5e-18, 2e-16], [36, 38, -69, 3e-15]]
    )
    bound = cp.norm(cp.hstack([factor @ x, 47 * x[0] - 67 * x[3]])) <= 1
    problem = cp.Problem(cp.Maximize(x[3]), [bound, x >= -3])
    program = cone_program(problem, {})
    units = scale(fill(program, np.ones(1), {}))
    assert np.abs(units.columns).max() < 12


@pytest.mark.parametrize("engine", ["dual", "cuts"])
@pytest.mark.parametrize("power", [-8, -4, 4, 8])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_a_certain_square_is_measured_too(engine, power, unit):
    """Its numbers are in P, not in the costs: an objective of 1e-8 was off by a tenth,
    and called optimal."""
    rng = np.random.default_rng(11)
    root = rng.normal(size=(DIM, DIM))
    region = sl.sets.Ellipsoid(np.linspace(0.5, 2, DIM), np.eye(DIM), 0.5)

    def least(size, unit):
        r, w = sl.Uncertain(DIM), cp.Variable(DIM, nonneg=True)
        risk = cp.quad_form(w, size / unit**2 * (root @ root.T + np.eye(DIM)))
        kept = [cp.sum(w) == unit, r @ w >= 0.4 * unit]
        problem = sl.RobustProblem(cp.Minimize(risk), kept, {r: region})
        decision = problem.solve(engine=engine)
        assert decision.status == "optimal"
        return decision.objective / size

    assert least(10.0**power, unit) == pytest.approx(least(1.0, 1.0), rel=1e-6)
