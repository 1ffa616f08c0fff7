"""More digits: who is asked, what is believed, and what is not taken for better."""

import numpy as np
import pytest

from sublevel.conic import optimality
from sublevel.conic import solver as by_clarabel
from sublevel.conic.solver import FAILED, INFEASIBLE, OPTIMAL, Clarabel, Solutions

pytest.importorskip("numba")

from sublevel.conic.batched import iterate
from sublevel.conic.batched.careful import CarefulBatched
from sublevel.conic.batched.solver import Batched
from sublevel.conic.forms import ClosedForm, CompiledForm, form_of
from sublevel.robust.solve import chunk

from .programs import data_of, feasible

CONES = [("zero", 1), ("nonneg", 4), ("soc", 4)]


def programs(n=24, seed=0):
    return feasible(CONES, 6, n, np.random.default_rng(seed))


# -- who is asked ----------------------------------------------------------------------


def test_each_solver_takes_more_trouble_than_the_one_before():
    after = [
        (type(s).__name__, getattr(s, "effort", None)) for s in chunk._again(Batched())
    ]
    assert after == [("CarefulBatched", None), ("Clarabel", 1), ("Clarabel", 2)]
    assert [s.effort for s in chunk._again(Clarabel())] == [1, 2]


def test_what_is_left_open_goes_to_a_careful_clarabel(monkeypatch):
    asked, honest = [], Clarabel.solve

    def solve(self, data):
        asked.append((self.effort, len(data)))
        return honest(self, data)

    monkeypatch.setattr(Clarabel, "solve", solve)
    first, attempt = Batched(), Batched.attempt

    def gives_up(self, data, close=1e-8):
        solved = attempt(self, data, close)
        solved.status[:], solved.status[:3] = OPTIMAL, FAILED
        return solved

    monkeypatch.setattr(Batched, "attempt", gives_up)
    solved = CarefulBatched(first).solve(programs())
    assert asked == [(1, 3)]
    assert (solved.status == OPTIMAL).all()


def test_what_clarabel_tells_apart_counts_for_its_own_contexts_only():
    """A resolution forgives gaps: nobody gets one that is another's."""
    data, first = programs(), Batched()

    class Careful:
        def solve(self, data):
            solved = Clarabel(effort=1).solve(data)
            return Solutions(
                solved.status,
                solved.x,
                solved.objective,
                solved.bound,
                np.full(len(data), 0.5),
                np.ones(len(data), dtype=bool),
            )

    attempt = first.attempt(data, 1e-11)
    attempt.status[5:7] = FAILED
    own = attempt.status == FAILED
    assert own.sum() < 12
    solved = first.completed(data, attempt, Careful())
    np.testing.assert_array_equal(solved.resolution, np.where(own, 0.5, 0.0))
    np.testing.assert_array_equal(solved.proved, own)
    assert (solved.status == OPTIMAL).all()


@pytest.mark.parametrize("solver", [Clarabel(1), CarefulBatched(Batched())])
def test_proofs_and_resolutions_of_our_own_are_believed(solver):
    A, b = np.zeros((8, 2, 1)), np.tile([-1.0, 2.0], (8, 1))
    A[:, 0], A[:, 1] = -1.0, 1.0
    b[:4, 1] = 0.5  # x >= 1 and x <= .5
    data = data_of([("nonneg", 2)], np.zeros((8, 1, 1)), np.ones((8, 1)), A, b)
    solved = chunk._solutions(solver, data)
    nothing = np.arange(8) < 4
    np.testing.assert_array_equal(solved.status == INFEASIBLE, nothing)
    np.testing.assert_array_equal(solved.proved, nothing)
    told = solver.solve(data).resolution
    np.testing.assert_array_equal(solved.resolution is None, told is None)


# -- how many digits -------------------------------------------------------------------


def test_as_many_digits_as_are_asked_for():
    """Gap and both residuals, each of them, of contexts that say they are solved."""
    data = programs(200)
    plan = Batched().plan(data.program)
    worst = {}
    for close in (1e-4, 1e-8, 1e-11):
        codes, x, z = iterate.run(plan, data, close)
        solved = codes == iterate.SOLVED
        assert solved.mean() > 0.2
        worst[close] = [part[solved].max() for part in left_open(data, x, z)]
        assert max(worst[close]) <= 20 * close
    # It is the demand that makes them small.
    assert (np.array(worst[1e-4]) > 1e3 * np.array(worst[1e-11])).all()


def left_open(data, x, z):
    """The gap and the largest residual of the rows and the columns, (n,) each."""
    gap, rows, columns = [], [], []
    for i in range(len(data)):
        _, q, A, b = data.matrices(i)
        A = A.toarray()
        gap.append(abs(q @ x[i] + b @ z[i]) / max(abs(q @ x[i]), 1.0))
        slack = b - A @ x[i]
        outside = [*np.abs(slack[:1]), *np.maximum(-slack[1:5], 0)]
        outside.append(max(np.linalg.norm(slack[6:]) - slack[5], 0.0))
        rows.append(max(outside) / max(1.0, np.abs(b).max()))
        columns.append(np.abs(q + A.T @ z[i]).max() / max(1.0, np.abs(q).max()))
    return np.array(gap), np.array(rows), np.array(columns)


# -- what is believed ------------------------------------------------------------------


def no_inside(rng, n=40):
    """Rows that are an equality written as a cone: hardly any point is inside.

    min x' P x / 2 + q' x  over  |(0.4 - x0, x0 + x1 - 0.4)| <= 0.4 - x0, whose best is
    that of one variable; a slack of 1e-9 is worth 1e-4 there.
    """
    A, b = np.zeros((n, 6, 2)), np.tile([0.4, 0.6, 3.8, 0.4, 0.4, -0.4], (n, 1))
    A[:, 2, 1] = A[:, 3, 0] = A[:, 4, 0] = 1.0
    A[:, 5] = -1.0
    root = rng.normal(size=(n, 2, 2))
    P = root @ root.transpose(0, 2, 1) + 0.05 * np.eye(2)
    q = rng.normal(size=(n, 2))
    # x1 = 0.4 - x0 leaves  a x0^2 / 2 + c x0 + constant, for x0 from -3.4 to 0.4.
    a = P[:, 0, 0] - 2 * P[:, 0, 1] + P[:, 1, 1]
    c = 0.4 * (P[:, 0, 1] - P[:, 1, 1]) + q[:, 0] - q[:, 1]
    x0 = np.clip(-c / a, -3.4, 0.4)
    x = np.column_stack([x0, 0.4 - x0])
    best = np.einsum("ni,nij,nj->n", x, P, x) / 2 + np.sum(q * x, axis=1)
    return data_of([("nonneg", 3), ("soc", 3)], P, q, A, b), best


def test_errors_are_small_beside_the_objective_itself(monkeypatch):
    data, best = no_inside(np.random.default_rng(0))

    def errors():
        solved = Batched().attempt(data)
        off = np.abs(solved.objective - best) / np.maximum(np.abs(best), 1e-2)
        return off[solved.status == OPTIMAL]

    assert (errors() <= 1e-5).all()
    # The twin: beside all that huge multipliers pay, which cancels, much more passes.
    monkeypatch.setattr(optimality, "NEAR", np.inf)
    assert (errors() > 1e-5).any()


@pytest.mark.parametrize("form", [ClosedForm, CompiledForm])
def test_multipliers_beyond_all_numbers_prove_nothing(form):
    """min 2c x0 + c x1  with  s (x0 + x1) = w: a price c / s that is infinite."""
    A = np.tile([[1e-150, 1e-150], [-1.0, 0.0], [0.0, -1.0]], (2, 1, 1))
    b, q = np.tile([1e-160, 0.0, 0.0], (2, 1)), np.tile([2e200, 1e200], (2, 1))
    data = data_of([("zero", 1), ("nonneg", 2)], np.zeros((2, 2, 2)), q, A, b)
    assert not isinstance(form_of(data.program), str)
    solved = form().solve(data)
    wrong = np.abs(solved.objective / 1e190 - 1) > 1e-6
    assert not (wrong & (solved.status == OPTIMAL)).any()


def test_more_trouble_never_ends_in_something_worse(monkeypatch):
    """Large in a direction that hardly matters: units that it suggests are bad ones."""
    A = np.zeros((1, 2, 9))
    A[0, 0, 4], A[0, 1, 0], A[0, 1, 2] = 6.294446697e-07, -15280.026865, 1305.770042
    b = np.array([[0.145813410, -0.096685319]])
    q = np.zeros((1, 9))
    q[0, [0, 2, 4]] = -39589.604567, 3383.169419, -2.275257265e-06
    q[0, 0] = q[0, 2] * A[0, 1, 0] / A[0, 1, 2]
    data = data_of([("soc", 2)], np.zeros((1, 9, 9)), q, A, b)
    # Multipliers (z0, z1) are what they are by the columns.
    price = -q[0, 4] / A[0, 0, 4], -q[0, 0] / A[0, 1, 0]
    assert abs(price[1]) < price[0]
    best = -b[0] @ price
    for effort in (0, 1, 2):
        solved = Clarabel(effort).solve(data)
        assert solved.status == [OPTIMAL]
        np.testing.assert_allclose(solved.objective, best, rtol=1e-5)
    monkeypatch.setattr(by_clarabel, "_is_worse", lambda *_: np.zeros(1, dtype=bool))
    assert abs(Clarabel(2).solve(data).objective[0] / best - 1) > 1e-2


@pytest.mark.parametrize(
    ("moved", "apart", "worse"), [(0.0, 0.0, False), (0.3, 0.0, True), (0.0, 0.1, True)]
)
def test_worse_is_open_wider_or_missing_a_row_by_more(moved, apart, worse):
    data = programs(1)
    found = Clarabel(1).solve(data)
    other = Solutions(
        found.status.copy(),
        found.x + moved,
        found.objective,
        found.bound - apart * np.abs(found.bound),
    )
    is_worse = by_clarabel._is_worse(data, found, np.array([0]), other)
    np.testing.assert_array_equal(is_worse, [worse])
    # Anything is better than nothing.
    found.status[:] = FAILED
    assert not by_clarabel._is_worse(data, found, np.array([0]), other).any()
