"""Policies whose contexts are solved together."""

from contextlib import contextmanager

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.conic.batched import choice
from sublevel.conic.batched.choice import Automatic
from sublevel.conic.solver import INFEASIBLE, Clarabel, Solutions
from sublevel.robust.solve import chunk

from .given import calibrated, compiled_of, contexts, portfolio

pytest.importorskip("numba")

DIM = 3


@pytest.fixture(scope="module")
def problem():
    """A second row couples the variables, so that there is no closed form."""
    r, w = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, nonneg=True, name="w")
    sets = calibrated("gaussian", DIM, np.random.default_rng(0))
    rows = [cp.sum(w) == 1, w[0] + w[1] <= 0.7]
    return sl.RobustProblem(cp.Maximize(r @ w), rows, {r: sets})


def test_decisions_are_those_of_clarabel_and_of_any_chunk(problem):
    X = contexts(500, DIM, np.random.default_rng(1))
    alone = problem.compile(solver="CLARABEL").decide(X)
    policy = problem.compile(solver="BATCHED")
    together = policy.decide(X)
    assert together.audit.passed.all()
    np.testing.assert_array_equal(together.status, alone.status)
    np.testing.assert_allclose(together.objective, alone.objective, rtol=1e-6)
    by_default = problem.compile()
    for policy_, rows, n_jobs in ((policy, 7, None), (by_default, 90, 2)):
        again = policy_.decide(X, chunk=rows, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.value("w"), together.value("w"))
        np.testing.assert_array_equal(again.objective, together.objective)


def test_few_contexts_go_to_clarabel(problem):
    program = compiled_of(problem.compile()).program
    least = choice.least_contexts(program)
    assert isinstance(Automatic().chosen(program, least - 1), Clarabel)
    assert isinstance(Automatic().chosen(program, least), sl.robust.Batched)
    assert f"from {least} contexts" in str(problem.compile().explain())


def test_without_numba_nothing_changes(problem, monkeypatch):
    monkeypatch.setattr(choice, "is_installed", lambda: False)
    policy = problem.compile()
    assert "numba" in str(policy.explain())
    program = compiled_of(policy).program
    assert isinstance(Automatic().chosen(program, 10**6), Clarabel)
    with pytest.raises(sl.errors.MissingExtra, match=r"sublevel\[fast\]"):
        problem.compile(solver="BATCHED")


def test_explain_says_what_was_asked_for_and_what_stands_in_the_way(problem):
    asked = problem.compile(solver="CLARABEL")
    assert "Solver: CLARABEL: as asked for" in str(asked.explain())
    matrix = cp.Variable((2, 2), PSD=True)
    r, w = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True, name="w")
    sets = calibrated("gaussian", 2, np.random.default_rng(2))
    rows = [cp.sum(w) == 1, matrix[0, 1] == w[0], cp.trace(matrix) <= 1]
    other = sl.RobustProblem(cp.Maximize(r @ w), rows, {r: sets})
    assert "cones of kind psd" in str(other.compile().explain())


@pytest.mark.parametrize("loss", ["poisson", "gamma", "log_cosh"])
def test_losses_with_exponential_cones(loss):
    """As by Clarabel, in any chunk, and none of them asked for there."""
    rng = np.random.default_rng(3)
    problem = portfolio(calibrated(loss, DIM, rng), DIM)[2]
    policy = problem.compile(solver="BATCHED")
    kinds = {kind for kind, _ in compiled_of(policy).program.cones}
    assert "exp" in kinds
    X = contexts(100, DIM, rng)
    together = assert_as_by_clarabel(problem, policy, X)
    by_default = problem.compile()
    again = by_default.decide(X, chunk=33)
    np.testing.assert_array_equal(again.value("w"), together.value("w"))
    assert "Solver: contexts together" in str(by_default.explain())


def test_a_cost_with_power_cones():
    rng = np.random.default_rng(6)
    r, w = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, nonneg=True, name="w")
    sets = calibrated("gaussian", DIM, rng)
    gain = r @ w - cp.sum(cp.power(w, 1.5, approx=False))
    problem = sl.RobustProblem(cp.Maximize(gain), [cp.sum(w) <= 4], {r: sets})
    policy = problem.compile(solver="BATCHED")
    assert "power" in {kind for kind, _ in compiled_of(policy).program.cones}
    assert_as_by_clarabel(problem, policy, contexts(100, DIM, rng))


def test_a_corrupted_point_of_curved_cones_is_decided_by_clarabel(monkeypatch):
    """Compiled code that lies: nothing of it is certified, and all decisions stand."""
    from sublevel.conic.batched import iterate

    rng = np.random.default_rng(7)
    problem = portfolio(calibrated("poisson", DIM, rng), DIM)[2]
    X = contexts(24, DIM, rng)
    alone = problem.compile(solver="CLARABEL").decide(X)
    honest = iterate.run

    def spoiled(plan, data, close):
        codes, x, z = honest(plan, data, close)
        return codes, x * (1 + 1e-4), z

    monkeypatch.setattr(iterate, "run", spoiled)
    with counting() as asked:
        together = problem.compile(solver="BATCHED").decide(X)
    assert sum(asked) >= len(X)
    np.testing.assert_array_equal(together.objective, alone.objective)


def assert_as_by_clarabel(problem, policy, X):
    """Decisions of a policy that leaves next to nothing to Clarabel, as its own."""
    with counting() as asked:
        together = policy.decide(X)
    assert sum(asked) <= 2
    assert together.audit.passed.all()
    alone = problem.compile(solver="CLARABEL").decide(X)
    np.testing.assert_array_equal(together.status, alone.status)
    np.testing.assert_allclose(together.objective, alone.objective, rtol=1e-6)
    return together


@contextmanager
def counting():
    """How many contexts go to Clarabel, call by call."""
    asked, honest = [], Clarabel.solve

    def solve(own, data):
        asked.append(len(data))
        return honest(own, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clarabel, "solve", solve)
        yield asked


def test_a_quadratic_objective_and_contexts_without_a_decision():
    """A demand that at some contexts cannot be met in the worst case."""
    rng = np.random.default_rng(4)
    sets = calibrated("gaussian", 2, rng)
    demand, stock = sl.Uncertain(2, name="d"), cp.Variable(2, name="stock")
    cost = cp.sum_squares(stock) + cp.sum(stock)
    problem = sl.RobustProblem(
        cp.Minimize(cost), [stock >= demand, stock <= 4.2], {demand: sets}
    )
    X = contexts(60, 2, rng)
    alone = problem.compile(solver="CLARABEL").decide(X)
    together = problem.compile(solver="BATCHED").decide(X)
    assert set(np.unique(alone.status)) == {"optimal", "infeasible"}
    np.testing.assert_array_equal(together.status, alone.status)
    best = alone.status == "optimal"
    np.testing.assert_allclose(
        together.objective[best], alone.objective[best], rtol=1e-6
    )


@pytest.mark.parametrize("solver", ["CLARABEL", "BATCHED"])
def test_a_proved_infeasibility_is_not_asked_for_again(solver, monkeypatch):
    """No context is solved twice where a ray proves that there is no decision."""
    rng = np.random.default_rng(5)
    sets = calibrated("gaussian", 2, rng)
    demand, stock = sl.Uncertain(2, name="d"), cp.Variable(2, name="stock")
    problem = sl.RobustProblem(
        cp.Minimize(cp.sum(stock)), [stock >= demand, stock <= 0.01], {demand: sets}
    )
    asked = []

    class Recorder:
        def solve(self, data):
            asked.append(len(data))
            return Clarabel(effort=1).solve(data)

    monkeypatch.setattr(chunk, "_again", lambda first: (Recorder(),))
    decisions = problem.compile(solver=solver).decide(contexts(40, 2, rng))
    assert (decisions.status == "infeasible").all()
    assert sum(asked) <= 2
    # A solver of somebody else's may not say that it has proved something.
    policy = problem.compile(solver=Liar())
    assert (policy.decide(contexts(8, 2, rng)).status == "infeasible").all()
    assert sum(asked) >= 8


class Liar:
    """Says of every context that it is proved to be infeasible."""

    def solve(self, data):
        n = len(data)
        nan = np.full(n, np.nan)
        x, proved = np.full((n, data.program.width), np.nan), np.ones(n, dtype=bool)
        return Solutions(np.full(n, INFEASIBLE), x, nan, nan, proved=proved)


def idle_battery(rng, hours=12):
    """A store that is best left alone: an objective of next to no size."""
    X = rng.normal(size=(80, 2))
    Y = 3 + 0.3 * X @ rng.normal(size=(2, hours)) + 0.2 * rng.normal(size=(80, hours))
    sets = sl.LossSet(LinearRegression()).fit(X[:40], Y[:40])
    price = sl.Uncertain(hours, name="price")
    into, out = (cp.Variable(hours, nonneg=True, name=name) for name in ("in", "out"))
    state = cp.Variable(hours + 1, name="state")
    wear = 1e-3 * sum(map(cp.sum_squares, (into, out, state - 0.5)))
    limits = [state[1:] == state[:-1] + 0.9 * into - out, state[[0, hours]] == 0.5]
    limits += [state >= 0, state <= 1, into <= 0.5, out <= 0.5]
    cost = cp.Minimize(price @ (into - out) + wear)
    return sl.RobustProblem(cost, limits, {price: sets}), X[40:]


def test_what_lacks_digits_is_solved_together_again(monkeypatch):
    """Clarabel is not asked, and whoever says otherwise is found out."""
    problem, X = idle_battery(np.random.default_rng(0))
    alone = problem.compile(solver="CLARABEL").at(1.5).decide(X)
    asked = []
    attempt, honest = sl.robust.Batched.attempt, Clarabel.solve

    def counted(self, data):
        asked.append(len(data))
        return honest(self, data)

    monkeypatch.setattr(Clarabel, "solve", counted)
    policy = problem.compile(solver="BATCHED").at(1.5)
    together = policy.decide(X)
    assert together.audit.passed.all()
    assert not asked
    np.testing.assert_allclose(together.objective, alone.objective, atol=1e-8)
    # The twin: an attempt for more digits that makes no more of them.
    monkeypatch.setattr(
        sl.robust.Batched, "attempt", lambda self, data, close=0.0: attempt(self, data)
    )
    again = policy.decide(X)
    assert again.audit.passed.all()
    assert sum(asked)


def far_bounds(seed, size, far):
    """min c @ w over w >= y * x, shares of at least a fifth; and the best by hand."""
    rng = np.random.default_rng(seed)
    cost, high = rng.uniform(1, 5, 3).round(1), 1 + rng.uniform(0.1, 1, 3).round(1)
    x, w, t = cp.Variable(3), cp.Variable(3), cp.Variable()
    y = sl.Uncertain(3)
    limits = [cp.multiply(y, x) <= w, x >= 0.2 * size, cp.sum(x) == size]
    limits += [cost @ w <= t, x <= far, w <= far, t <= far]
    box = {y: sl.sets.Box(np.ones(3), high)}
    price = cost * high
    best = 0.2 * size * price.sum() + 0.4 * size * price.min()
    return sl.RobustProblem(cp.Minimize(t), limits, box), best


@pytest.mark.parametrize(("size", "far"), [(0.01, 1e9), (1.0, 1e12)])
def test_an_objective_next_to_nothing_beside_bounds_is_an_objective(
    size, far, monkeypatch
):
    def worst(solver):
        off = []
        for seed in range(4):
            problem, best = far_bounds(seed, size, far)
            off.append(abs(problem.solve(solver=solver).objective / best - 1))
        return max(off)

    assert max(worst("BATCHED"), worst("CLARABEL")) < 2e-6
    # The twin: what is left open in a solver's units is next to nothing as well.
    monkeypatch.setattr("sublevel.conic.batched.solver.NEAR", np.inf)
    assert worst("BATCHED") > 1e-4
