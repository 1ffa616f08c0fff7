"""Compiled data against CVXPY's own; solutions against the cones."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.conic.canonical import affine_form, cone_form, cone_program
from sublevel.conic.program import Uncompilable, fill
from sublevel.conic.solver import OPTIMAL, Clarabel

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
        P, q, A, b = data.matrices(i)
        np.testing.assert_allclose(A.toarray(), theirs["A"].toarray(), atol=1e-12)
        np.testing.assert_allclose(b, theirs["b"], atol=1e-12)
        np.testing.assert_allclose(q, theirs["c"], atol=1e-12)
        np.testing.assert_array_equal(A.data, data.A.row(i))
        if "P" in theirs:
            upper = np.triu(theirs["P"].toarray())
            np.testing.assert_allclose(P.toarray(), upper, atol=1e-12)


@pytest.mark.parametrize("number", range(5))
def test_a_solution_keeps_the_constraints_and_has_the_value_of_cvxpy(number):
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
    for effort in range(3):
        solved = Clarabel(effort).solve(data)
        assert solved.status[0] == OPTIMAL
        for variable in problem.variables():
            entries = program.variables[variable.id] @ solved.x[0]
            variable.save_value(entries.reshape(variable.shape, order="F"))
        assert max(c.violation().max() for c in problem.constraints) < 1e-6
        assert solved.objective[0] == pytest.approx(problem.objective.value, rel=1e-6)
        expected = problem.solve(solver=cp.CLARABEL)
        assert solved.objective[0] == pytest.approx(expected, abs=1e-6)
        assert solved.bound[0] == pytest.approx(expected, abs=1e-6)


def test_what_cannot_be_compiled():
    p, x = cp.Parameter(), cp.Variable()
    with pytest.raises(Uncompilable, match="DPP"):
        cone_program(cp.Problem(cp.Minimize(x), [p * p * x >= 1]), {p.id: "p"})


def expressions():
    """Affine in variables and in parameters; the last one in neither."""
    a, B = cp.Parameter(DIM), cp.Parameter((2, DIM))
    x, S = cp.Variable(DIM, nonneg=True), cp.Variable((2, 2), symmetric=True)
    z = cp.Variable(40)
    many = cp.Parameter((2, 40))
    yield a @ x - 3 * x[1] + 2
    yield B @ x + cp.diag(S) - a[:2]
    yield cp.multiply(a, x) + cp.hstack([S[0], S[1]])
    yield cp.sum(a) + np.arange(3.0)
    yield many @ z + x[0]
    yield a @ x - cp.square(x)


@pytest.mark.parametrize("number", range(6))
def test_what_is_read_at_once_is_what_its_cone_form_says(number):
    expression = list(expressions())[number]
    straight, around = affine_form(expression), cone_form(cp.NonNeg(expression))
    assert bool(straight.auxiliary) == (number == 5)
    mine, theirs = ([(v.shape, s) for v, s in f.columns] for f in (straight, around))
    assert mine == theirs
    difference = straight.constant != around.constant
    assert straight.constant.shape == around.constant.shape
    assert difference.nnz == 0
    assert list(straight.parameters) == list(around.parameters)
    for parameter, terms in straight.parameters.items():
        for one, other in zip(
            vars(terms).values(),
            vars(around.parameters[parameter]).values(),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
