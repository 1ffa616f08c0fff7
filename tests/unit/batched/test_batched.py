"""Contexts solved together: the same answers as Clarabel's, or none."""

import numpy as np
import pytest

from sublevel.conic import rays
from sublevel.conic.ordinary import extraordinary
from sublevel.conic.program import ProgramData, whole
from sublevel.conic.solver import FAILED, INFEASIBLE, OPTIMAL, UNBOUNDED, Clarabel

pytest.importorskip("numba")

from sublevel.conic.batched import iterate
from sublevel.conic.batched.solver import Batched

from .programs import data_of, feasible

SHAPES = {
    "linear": ([("zero", 2), ("nonneg", 9)], 6, False),
    "small cones": ([("nonneg", 4), ("soc", 3), ("soc", 4), ("soc", 1)], 6, False),
    "large cones": ([("zero", 1), ("nonneg", 3), ("soc", 7), ("soc", 5)], 8, False),
    "quadratic": ([("zero", 2), ("nonneg", 6), ("soc", 6)], 7, True),
    "only equalities": ([("zero", 3)], 5, True),
}


def agree(data, least=1.0):
    """Solve together and by Clarabel; the share that is certified, seen to be right."""
    together, alone = Batched().attempt(data), Clarabel(effort=1).solve(data)
    sure = together.status != FAILED
    np.testing.assert_array_equal(together.status[sure], alone.status[sure])
    best = together.status == OPTIMAL
    gap = np.abs(together.objective - alone.objective)[best]
    assert np.all(gap <= 1e-6 * (1 + np.abs(alone.objective[best])))
    # What is said to be the bound is one, and near.
    below = (together.objective - together.bound)[best]
    assert np.all(np.abs(below) <= 1e-6 * (1 + np.abs(alone.objective[best])))
    assert sure.mean() >= least
    return together


@pytest.mark.parametrize("name", SHAPES)
def test_random_programs_as_by_clarabel(name):
    cones, width, curved = SHAPES[name]
    rng = np.random.default_rng(1)
    agree(feasible(cones, width, 40, rng, curved), least=0.95)


@pytest.mark.parametrize("name", ["linear", "large cones", "quadratic"])
def test_an_answer_depends_on_its_context_alone(name):
    """Bit for bit the same, whatever the chunk, the lane and the neighbours."""
    cones, width, curved = SHAPES[name]
    rng = np.random.default_rng(2)
    data = feasible(cones, width, 29, rng, curved)
    solver = Batched()
    whole_chunk = solver.attempt(data)
    for rows in (np.arange(28, -1, -1), np.arange(3), np.array([17]), np.arange(5, 22)):
        part = solver.attempt(data.at(rows))
        np.testing.assert_array_equal(part.x, whole_chunk.x[rows])
        np.testing.assert_array_equal(part.objective, whole_chunk.objective[rows])
        np.testing.assert_array_equal(part.status, whole_chunk.status[rows])


def test_badly_scaled_contexts_are_right_or_handed_over():
    cones, width, _ = SHAPES["large cones"]
    rng = np.random.default_rng(3)
    data = feasible(cones, width, 40, rng)
    factor = 10.0 ** rng.uniform(-6, 6, (40, 1))
    q, b = data.q.values * factor, data.b.values * 10.0 ** rng.uniform(-5, 5, (40, 1))
    scaled = ProgramData(data.program, data.P, whole(q), data.A, whole(b))
    together, alone = Batched().solve(scaled), Clarabel(effort=1).solve(scaled)
    both = (together.status == OPTIMAL) & (alone.status == OPTIMAL)
    assert both.mean() > 0.9
    gap = np.abs(together.objective - alone.objective)[both]
    assert np.all(gap <= 1e-6 * np.abs(alone.objective[both]))


def test_degenerate_programs():
    """Rows twice, equalities that follow from others, many optimal points."""
    rng = np.random.default_rng(4)
    n, width = 24, 5
    A = np.zeros((n, 12, width))
    A[:, 0] = A[:, 1] = 1.0
    A[:, 2:7] = A[:, 7:12] = -np.eye(width)
    b = np.zeros((n, 12))
    b[:, :2] = 1.0
    q = np.round(rng.uniform(0, 2, (n, width)))
    cones = [("zero", 2), ("nonneg", 10)]
    agree(data_of(cones, np.zeros((n, width, width)), q, A, b), least=0.9)


def no_solution(rng, n=24):
    """x >= 1 and x <= room, below or above 1, costs that may have no end."""
    A = np.zeros((n, 5, 3))
    A[:, 0, 0], A[:, 1, 0] = -1.0, 1.0
    A[:, 2, 1], A[:, 3, 2], A[:, 4, 1] = -1.0, -1.0, -0.5
    b = np.tile([-1.0, 2.0, 0.0, 0.0, 1.0], (n, 1))
    b[: n // 2, 1] = rng.uniform(-2, 0.5, n // 2)
    q = np.tile([1.0, 1.0, 1.0], (n, 1))
    q[n // 2 :, 2] = -rng.uniform(0.5, 2, n - n // 2)
    return data_of([("nonneg", 5)], np.zeros((n, 3, 3)), q, A, b)


def test_what_has_no_solution_is_proved_to_have_none():
    data = no_solution(np.random.default_rng(5))
    together = agree(data, least=0.45)
    assert np.sum(together.status == INFEASIBLE) >= 10
    assert np.isnan(together.x).all()
    # Directions without end are handed over: whether there is a point they do not say.
    completed = Batched().solve(data)
    assert np.sum(completed.status == UNBOUNDED) >= 10
    assert completed.proved.all()


def test_numbers_that_are_none_are_handed_over():
    cones, width, _ = SHAPES["linear"]
    data = feasible(cones, width, 9, np.random.default_rng(6))
    b = data.b.values.copy()
    b[4, 0] = np.nan
    spoilt = ProgramData(data.program, data.P, data.q, data.A, whole(b))
    together, clean = Batched().attempt(spoilt), Batched().attempt(data)
    assert together.status[4] == FAILED
    others = np.arange(9) != 4
    np.testing.assert_array_equal(together.x[others], clean.x[others])


def points_off(codes, x, z):
    return codes, x + 1e-4, z


def multipliers_off(codes, x, z):
    return codes, x, z * 1.001


def outside_the_dual(codes, x, z):
    return codes, x, -z


def no_numbers(codes, x, z):
    return codes, x * np.nan, z


def suboptimal(codes, x, z):
    """Another context's solution."""
    return codes, np.roll(x, 1, axis=0), np.roll(z, 1, axis=0)


def claims_infeasible(codes, x, z):
    return np.full_like(codes, iterate.INFEASIBLE), x, z


def claims_unbounded(codes, x, z):
    return np.full_like(codes, iterate.UNBOUNDED), x, z


@pytest.mark.parametrize(
    "spoil",
    [
        points_off,
        multipliers_off,
        outside_the_dual,
        no_numbers,
        suboptimal,
        claims_infeasible,
        claims_unbounded,
    ],
)
def test_wrong_answers_do_not_pass(spoil, monkeypatch):
    cones, width, curved = SHAPES["quadratic"]
    data = feasible(cones, width, 16, np.random.default_rng(7), curved)
    # In units of their own, contexts are solved apart from the others.
    data = data.at(~extraordinary(data))
    honest = iterate.run
    monkeypatch.setattr(iterate, "run", lambda plan, given: spoil(*honest(plan, given)))
    assert (Batched().attempt(data).status == FAILED).all()
    # And what is handed over is right.
    solved, alone = Batched().solve(data), Clarabel().solve(data)
    np.testing.assert_array_equal(solved.status, alone.status)
    np.testing.assert_array_equal(solved.x, alone.x)


def test_a_ray_that_proves_nothing_is_refused():
    data = no_solution(np.random.default_rng(8))
    _, x, z = iterate.run(Batched().plan(data.program), data)
    half = len(data) // 2
    first, last = data.at(slice(half)), data.at(slice(half, None))
    assert rays.infeasible(first, z[:half]).all()
    assert not rays.infeasible(first, -z[:half]).any()
    assert not rays.infeasible(last, z[half:]).any()
    assert rays.unbounded(last, x[half:]).all()
    assert not rays.unbounded(last, -x[half:]).any()
    assert not rays.unbounded(first, x[:half]).any()
