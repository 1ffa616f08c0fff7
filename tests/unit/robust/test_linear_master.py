"""The linear master is the master CVXPY would have solved."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, SolverFailed
from sublevel.robust import Cuts, RobustProblem, Uncertain
from sublevel.robust.solve.cuts.cvxpy_master import CvxpyMaster
from sublevel.robust.solve.cuts.linear_master import LinearMaster
from sublevel.robust.solve.cuts.loop import Loop


def production(kind, seed):
    """Random plans with all that a linear model may have."""
    rng = np.random.default_rng(seed)
    n, k = 3, 2
    integer = {"integer": True} if kind == "integer" else {}
    x = cp.Variable((n, 2), bounds=[-1, np.full((n, 2), 4.0)], **integer)
    part = cp.Variable(3, boolean=[(0, 2)]) if kind == "partly" else cp.Variable(3)
    z = cp.Variable(nonpos=True)
    price = cp.Parameter(n, value=rng.uniform(0.5, 1.5, size=n))
    a, b = Uncertain((n, k), name="a"), Uncertain(n, name="b")
    limits = [
        a.T @ x[:, 0] + cp.sum(part) <= rng.uniform(3, 6, size=k),
        cp.max(cp.multiply(b, x[:, 1])) - 0.1 * z <= 2 + part[0],
        price @ x[:, 1] - b @ x[:, 0] >= -6,
        cp.sum(x[:, 1]) == cp.sum(x[:, 0]),
        cp.norm1(part) <= 2,
        part >= -1,
        z >= -3,
    ]
    sets = {
        a: sl.sets.Ellipsoid(rng.uniform(0, 1, size=n * k), radius=0.4),
        b: sl.sets.Box(rng.uniform(-0.5, 0, size=n), rng.uniform(0.5, 1, size=n)),
    }
    gain = rng.uniform(0, 1, size=(n, 2))
    value = cp.sum(cp.multiply(gain, x)) + z + 0.3 * cp.sum(part) - cp.max(x[:, 0])
    return RobustProblem(cp.Maximize(value), limits, sets), price


def by_cvxpy(robust, solver):
    model = robust.prepared().model
    sets = {key.parameters: key.source for key in robust.keys}
    goal, certain = model.bounded_goal(), model.all_certain(sets)
    master = CvxpyMaster(goal, certain, model.rows, solver)
    loop = Loop(master, model.rows, sets, -1.0, len(model.rows), model.variables)
    return loop.run(1e-7, 500, None), master


@pytest.mark.parametrize("kind", ["continuous", "integer", "partly"])
@pytest.mark.parametrize("seed", range(2))
def test_the_linear_master_agrees_with_cvxpy(kind, seed):
    robust, price = production(kind, seed)
    solver = "CLARABEL" if kind == "continuous" else "HIGHS"
    for factor in (1.0, 1.4):
        price.value = factor * price.value
        decision = robust.solve(engine="cuts")
        assert robust.prepared().linear is not None
        assert decision.status == "optimal"
        found, master = by_cvxpy(robust, solver)
        assert found.status == "optimal"
        # CVXPY leaves HiGHS a relative gap of 1e-4.
        close = 1e-6 if kind == "continuous" else 2e-4
        assert decision.objective == pytest.approx(master.value, rel=close)
        assert decision.objective >= master.value - 1e-5
        assert np.isnan(found.bound) == (kind != "continuous")


def test_structured_and_curved_models_are_left_to_cvxpy():
    r = Uncertain(2, name="r")
    region = sl.sets.Box([0.5, 0.5], [1.0, 1.5])
    x, S = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    cases = [
        ([r @ x <= 1, cp.norm(x) <= 9], cp.sum(x)),
        ([r @ cp.diag(S) <= 1, S <= 2, S >= -2], cp.trace(S)),
        ([r @ x <= 1, x <= 3, x >= -3], cp.sum(x) - cp.sum_squares(x)),
    ]
    for constraints, value in cases:
        robust = RobustProblem(cp.Maximize(value), constraints, {r: region})
        assert robust.prepared().linear is None
        dual, cuts = robust.solve(engine="dual"), robust.solve(engine="cuts")
        assert cuts.objective == pytest.approx(dual.objective, abs=1e-5)


def test_a_parameter_without_a_value_is_named():
    r, x, p = Uncertain(2, name="r"), cp.Variable(2), cp.Parameter(2, name="price")
    region = sl.sets.Box([0.0, 0.0], [1.0, 1.0])
    for constraint in ([r @ x + p @ x <= 1], [r @ x <= 1, p @ x <= 1]):
        robust = RobustProblem(cp.Maximize(cp.sum(x)), constraint, {r: region})
        with pytest.raises(InvalidParameter, match="'price' must have a value"):
            robust.solve(engine="cuts")


def test_a_solver_at_its_limit_is_a_failure():
    robust, _ = production("continuous", 0)
    master = LinearMaster(robust.prepared().linear, 1e-7)
    master.solve()
    master._program._highs.clearSolver()
    master._program._highs.setOptionValue("simplex_iteration_limit", 1)
    master._program._highs.setOptionValue("presolve", "off")
    with pytest.raises(SolverFailed, match="'Iteration limit reached'"):
        master.solve()


def test_scenarios_of_several_parameters_and_rows():
    robust, _ = production("continuous", 1)
    first = robust.solve(engine="cuts")
    again = robust.solve(engine=Cuts(scenarios=first.scenarios))
    assert again.objective == pytest.approx(first.objective, abs=1e-6)
    assert again.rounds < first.rounds
    shapes = {p.name(): found.shape for p, found in first.scenarios.items()}
    assert shapes["a"][0] == shapes["b"][0]
    assert (shapes["a"][1], shapes["b"][1]) == (6, 3)
