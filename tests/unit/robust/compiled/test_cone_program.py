"""Compiled data against CVXPY's own; solutions against the cones."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sublevel.robust.auditing.residuals import residuals
from sublevel.robust.compiled.live_clarabel import Live

from sublevel.conic.canonical import cone_program
from sublevel.conic.program import ConeProgram, Uncompilable, fill

DIM = 4


def parametrised():
    """Problems with two parameters in the objective, the matrix and the limits."""
    a, r = cp.Parameter(DIM, name="a"), cp.Parameter(DIM, nonneg=True, name="r")
    x = cp.Variable(DIM, nonneg=True)
    X = cp.Variable((2, 2))
    norm = cp.norm(cp.multiply(r, x))
    yield a, r, cp.Problem(cp.Minimize(a @ x + norm), [cp.sum(x) == 1])
    yield a, r, cp.Problem(cp.Maximize(a @ x - cp.sum_squares(x) + r[0]), [x <= r])
    yield a, r, cp.Problem(cp.Minimize(cp.sum(x)), [a @ x - norm / 9 >= a[1], x <= 5])
    yield (
        a,
        r,
        cp.Problem(
            cp.Minimize(cp.sum(cp.exp(x)) + r @ x),
            [cp.PowCone3D(x[0], x[1], a[2], 0.3)],
        ),
    )
    yield (
        a,
        r,
        cp.Problem(
            cp.Minimize(cp.trace(X) + a @ x), [X + r[0] * np.eye(2) >> np.ones((2, 2))]
        ),
    )


@pytest.mark.parametrize("number", range(5))
def test_data_are_those_of_cvxpy(number):
    rng = np.random.default_rng(51)
    a, r, problem = list(parametrised())[number]
    program = cone_program(problem, {a.id: "a", r.id: "r"})
    given = {"a": rng.normal(size=(3, DIM)), "r": rng.uniform(1, 2, (3, DIM))}
    used = {name: values for name, values in given.items() if name in program.slots}
    fixed = np.zeros(program.size)
    fixed[-1] = 1.0
    data = fill(program, fixed, used)
    for i in range(3):
        a.value, r.value = given["a"][i], given["r"][i]
        theirs = problem.get_problem_data(cp.CLARABEL)[0]
        A = program.matrix(data.A.row(i))
        np.testing.assert_allclose(A.toarray(), theirs["A"].toarray(), atol=1e-12)
        np.testing.assert_allclose(data.b.row(i), theirs["b"], atol=1e-12)
        np.testing.assert_allclose(data.q.row(i)[:-1], theirs["c"], atol=1e-12)
        if "P" in theirs:
            upper = np.triu(theirs["P"].toarray())
            np.testing.assert_allclose(data.P.toarray(), upper, atol=1e-12)


@pytest.mark.parametrize("number", range(5))
def test_a_solution_has_no_residual_and_the_value_of_cvxpy(number):
    rng = np.random.default_rng(52)
    a, r, problem = list(parametrised())[number]
    program = cone_program(problem, {a.id: "a", r.id: "r"})
    a.value, r.value = np.abs(rng.normal(size=DIM)), rng.uniform(1, 2, DIM)
    fixed = np.zeros(program.size)
    for name, parameter in (("a", a), ("r", r)):
        if name in program.slots:
            fixed[program.slots[name]] = parameter.value
    fixed[-1] = 1.0
    data = fill(program, fixed, {})
    status, x, value = Live(data, 0).solve()
    assert status == 0
    assert residuals(data, np.array([x]), 1e-5)[0] < 1e-7
    expected = problem.solve(solver=cp.CLARABEL)
    assert program.sign * (value + data.offsets) == pytest.approx(expected, abs=1e-6)


POINTS = {
    # Inside or on the boundary, and a move that leaves the cone by its length.
    "zero": ([0.0, 0.0], [0.0, 1.0]),
    "nonneg": ([0.0, 2.0], [-1.0, 0.0]),
    "soc": ([5.0, 3.0, 4.0], [-1.0, 0.0, 0.0]),
    "psd": ([1.0, np.sqrt(2), 1.0], [0.0, np.sqrt(2), 0.0]),
    "exp": ([1.0, 1.0, np.e], [0.0, 0.0, -1.0]),
    "power": ([4.0, 9.0, 4**0.3 * 9**0.7], [0.0, 0.0, 1.0]),
}
EXTENT = {"psd": 2, "power": 0.3}


def alone(kind, slack):
    """A program whose only cone has a given slack at x = 0."""
    n = len(slack)
    table = sp.csr_array(np.array(slack)[:, None])
    nothing = sp.csr_array((0, 1))
    indptr = np.zeros(2, dtype=int)
    zero = sp.csr_array((2, 1))
    cones = ((kind, EXTENT.get(kind, n)),)
    empty = np.zeros(0, dtype=int)
    return ConeProgram(
        cones, 1.0, empty, indptr, empty, nothing, zero, nothing, table, {}, {}
    )


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("step", [1e-4, 0.1])
def test_residuals_see_every_kind_of_cone(kind, step):
    point, move = (np.array(values) for values in POINTS[kind])
    x, fixed = np.zeros((1, 1)), np.ones(1)
    inside = residuals(fill(alone(kind, point), fixed, {}), x, 1e-5)[0]
    outside = residuals(fill(alone(kind, point + step * move), fixed, {}), x, 1e-5)[0]
    assert inside < 1e-12
    # The size of the slack it is relative to is below 10; moving another entry may
    # lead back to the cone on a shorter way.
    assert 0.02 * step < outside <= step
    nan = residuals(fill(alone(kind, point * np.nan), fixed, {}), x, 1e-5)[0]
    assert not nan <= 1e-5


@pytest.mark.parametrize(
    "slack", [[-1.0, 0.0, 1.0], [-5.0, 1e-9, 0.0], [-30.0, 1.0, 0.0]]
)
def test_the_face_of_the_exponential_cone_is_no_error(slack):
    found = residuals(fill(alone("exp", slack), np.ones(1), {}), np.zeros((1, 1)), 1e-5)
    assert found[0] < 1e-8


def test_the_tip_of_the_power_cone_is_no_error():
    """A rounding of 1e-10 in x looks like 1e-5 in z."""
    slack = [0.0, 1.0, 1e-6]
    found = residuals(
        fill(alone("power", slack), np.ones(1), {}), np.zeros((1, 1)), 1e-5
    )
    assert found[0] < 1e-8


def test_residuals_are_relative_to_the_terms_of_a_row():
    """x - y = 0 at 1e9: a difference of one is rounding."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[0] == x[1]])
    data = fill(cone_program(problem, {}), np.ones(1), {})
    point = np.array([[1e9, 1e9 + 1], [1.0, 2.0], [1e9, 1e9 + 1e6]])
    found = residuals(data.at(np.zeros(3, dtype=int)), point, 1e-5)
    assert found[0] < 1e-5 < found[2] < found[1]


def test_what_cannot_be_compiled():
    S = cp.Variable((2, 2), symmetric=True)
    with pytest.raises(Uncompilable, match="symmetric"):
        cone_program(cp.Problem(cp.Minimize(cp.trace(S)), [S >> np.eye(2)]), {})
    p, x = cp.Parameter(), cp.Variable()
    with pytest.raises(Uncompilable, match="DPP"):
        cone_program(cp.Problem(cp.Minimize(x), [p * p * x >= 1]), {p.id: "p"})
