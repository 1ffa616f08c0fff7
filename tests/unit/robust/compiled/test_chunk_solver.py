"""Another solver in the place of Clarabel, good or bad."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic import by_name
from sublevel.conic.by_cvxpy import CvxpySolver
from sublevel.conic.canonical import cone_program
from sublevel.conic.highs import Highs
from sublevel.conic.program import fill
from sublevel.conic.solver import Clarabel, Solutions

from .given import Given, calibrated, contexts, portfolio

DIM = 3


@pytest.fixture
def batch():
    rng = np.random.default_rng(91)
    problem = portfolio(calibrated("gaussian", DIM, rng), DIM)[2]
    X = contexts(6, DIM, rng)
    return problem, X, problem.compile().decide(X)


class Own:
    """Counts its contexts, and answers with what a function makes of the truth."""

    def __init__(self, change=lambda found: found):
        self.change = change
        self.seen = 0

    def solve(self, data):
        self.seen += len(data)
        return self.change(Clarabel().solve(data))


def test_a_solver_of_ones_own_is_asked_first(batch):
    problem, X, expected = batch
    own = Own()
    policy = problem.compile(solver=own)
    assert policy.one_by_one is None
    found = policy.decide(X, chunk=4)
    assert own.seen == 6
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-6)


def test_a_solver_of_our_own_is_had_by_name(batch, monkeypatch):
    """One line in the registry: no warning, no detour through CVXPY."""
    problem, X, expected = batch
    own = Own()
    monkeypatch.setitem(by_name.SOLVERS, "OWN", lambda: own)
    found = problem.compile(solver="OWN").decide(X)
    assert own.seen == 6
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-6)


def give_up(found):
    status = found.status.copy()
    status[::2] = 3
    return Solutions(status, np.full_like(found.x, np.nan), found.objective)


def claim_infeasible(found):
    return Solutions(np.full_like(found.status, 1), found.x * np.nan, found.objective)


def wrong_point(found):
    x = found.x.copy()
    x[1] += 0.01
    return Solutions(found.status, x, found.objective)


def wrong_value(found):
    return Solutions(found.status, found.x, found.objective + 0.001)


def not_a_number(found):
    return Solutions(found.status, found.x * np.nan, found.objective)


def unknown_status(found):
    return Solutions(np.full_like(found.status, 17), found.x, found.objective)


def wrong_shape(found):
    return Solutions(found.status, found.x[:, 1:], found.objective)


def raises(found):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "change",
    [
        give_up,
        claim_infeasible,
        wrong_point,
        wrong_value,
        not_a_number,
        unknown_status,
        wrong_shape,
        raises,
    ],
)
def test_what_is_not_certified_goes_to_clarabel(batch, change):
    problem, X, expected = batch
    found = problem.compile(solver=Own(change)).decide(X)
    assert (found.status == "optimal").all()
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-6)
    np.testing.assert_allclose(found.value("w"), expected.value("w"), atol=1e-4)


def test_it_is_left_out_where_contexts_go_one_by_one(batch):
    problem, X, expected = batch
    own = Own()
    found = problem.compile(engine="cuts", solver=own).decide(X[:2])
    assert own.seen == 0
    np.testing.assert_allclose(found.objective, expected.objective[:2], rtol=1e-5)


def test_named_solvers_share_the_program_and_say_what_they_cost():
    """What SCS has too few digits of is solved again by Clarabel."""
    rng = np.random.default_rng(92)
    problem = portfolio(calibrated("absolute", DIM, rng), DIM)[2]
    X = contexts(3, DIM, rng)
    expected = problem.compile().decide(X)
    with pytest.warns(sl.errors.OneByOne, match="solver='SCS'.*one by one"):
        policy = problem.compile(solver="SCS")
    assert policy.one_by_one is None
    decisions = policy.decide(X)
    assert (decisions.status == "optimal").all()
    np.testing.assert_allclose(decisions.objective, expected.objective, rtol=1e-4)


def test_live_highs_as_posed_anew():
    """Costs, entries and right-hand sides that change; some contexts have no best."""
    rng = np.random.default_rng(94)
    n, m = 4, 40
    cost, row, top = cp.Parameter(n), cp.Parameter(n), cp.Parameter()
    x = cp.Variable(n)
    rows = [x >= 0, row @ x <= top, x[0] - x[1] == 1, x[1] + x[2] <= 3]
    program = cone_program(
        cp.Problem(cp.Minimize(cost @ x), rows),
        {cost.id: "cost", row.id: "row", top.id: "top"},
    )
    slots = {
        "cost": rng.normal(size=(m, n)),
        "row": rng.uniform(0.1, 1, (m, n)),
        "top": np.full((m, 1), 2.0),
    }
    slots["top"][::5] = -1.0  # infeasible
    slots["row"][1::5, 3], slots["cost"][1::5, 3] = 0.0, -1.0  # unbounded
    slots["cost"][2::5] = np.round(slots["cost"][2::5])  # ties
    slots["cost"][3::5, :] = np.nan
    for moving in (("cost", "row", "top"), ("cost", "top")):
        fixed = np.zeros(program.size)
        fixed[program.slots["row"]], fixed[-1] = 0.5, 1.0
        data = fill(program, fixed, {name: slots[name] for name in moving})
        ours, theirs = Highs().solve(data), CvxpySolver("HIGHS").solve(data)
        np.testing.assert_array_equal(ours.status, theirs.status)
        assert (ours.status[::5] == 1).all()
        assert (ours.status[3::5] == 3).all()
        best = ours.status == 0
        assert best.sum() >= 16
        np.testing.assert_allclose(
            ours.objective[best], theirs.objective[best], rtol=1e-7, atol=1e-9
        )


def test_live_highs_decides_without_a_warning():
    rng = np.random.default_rng(92)
    problem = portfolio(calibrated("absolute", DIM, rng), DIM)[2]
    X = contexts(9, DIM, rng)
    policy = problem.compile(solver="HIGHS")
    assert policy.choice.name == "HIGHS"
    decisions, expected = policy.decide(X), problem.compile(solver="CLARABEL").decide(X)
    assert (decisions.status == "optimal").all()
    np.testing.assert_allclose(decisions.objective, expected.objective, rtol=1e-6)


def test_one_context_comes_without_that_warning():
    rng = np.random.default_rng(92)
    problem = portfolio(calibrated("absolute", DIM, rng), DIM)[2]
    X = contexts(1, DIM, rng)
    decision = problem.solve(X, solver="HIGHS")
    assert decision.objective == pytest.approx(problem.solve(X).objective, rel=1e-6)


def test_a_solver_that_cannot_take_the_cones_is_refused_at_compile_time():
    """HiGHS has no second-order cones."""
    rng = np.random.default_rng(93)
    problem = portfolio(calibrated("gaussian", DIM, rng), DIM)[2]
    with pytest.raises(sl.errors.InvalidParameter, match="must take the cones"):
        problem.compile(solver="HIGHS")


def test_an_unknown_solver_fails_at_compile_time():
    rng = np.random.default_rng(94)
    problem = portfolio(calibrated("gaussian", DIM, rng, model=Given()), DIM)[2]
    for unknown, way in (
        ("CLARABELL", "CLARABEL.*"),
        ("clarabel", "CLARABEL.*"),
        (3, ""),
    ):
        with pytest.raises(sl.errors.InvalidParameter, match=f"solver=.*{way}got"):
            problem.compile(solver=unknown)


def test_a_solver_that_is_not_installed_is_told_from_one_that_is_unknown(monkeypatch):
    rng = np.random.default_rng(94)
    problem = portfolio(calibrated("gaussian", DIM, rng, model=Given()), DIM)[2]
    monkeypatch.setattr(cp, "installed_solvers", lambda: ["CLARABEL"])
    for name, way in (("SCIP", r"sublevel\[scip\]"), ("GUROBI", "its own package")):
        with pytest.raises(sl.errors.MissingExtra, match=f"solver='{name}'.*{way}"):
            problem.compile(solver=name)
