"""Another solver in the place of Clarabel, good or bad."""

import numpy as np
import pytest

import sublevel as sl
from sublevel.conic import by_name
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


@pytest.mark.parametrize("solver", ["SCS", "HIGHS"])
def test_named_solvers_share_the_program_and_say_what_they_cost(solver):
    """An LP for HiGHS; what SCS has too few digits of is solved again by Clarabel."""
    rng = np.random.default_rng(92)
    problem = portfolio(calibrated("absolute", DIM, rng), DIM)[2]
    X = contexts(3, DIM, rng)
    expected = problem.compile().decide(X)
    with pytest.warns(sl.errors.OneByOne, match=f"solver='{solver}'.*one by one"):
        policy = problem.compile(solver=solver)
    assert policy.one_by_one is None
    decisions = policy.decide(X)
    assert (decisions.status == "optimal").all()
    np.testing.assert_allclose(decisions.objective, expected.objective, rtol=1e-4)


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
