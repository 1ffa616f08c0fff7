"""Contexts solved together: the same answers as Clarabel's, or none."""

import numpy as np
import pytest

from sublevel.conic import rays
from sublevel.conic.layout import row_groups
from sublevel.conic.ordinary import extraordinary
from sublevel.conic.program import ProgramData, rows_of, whole
from sublevel.conic.solver import FAILED, INFEASIBLE, OPTIMAL, UNBOUNDED, Clarabel

pytest.importorskip("numba")

from sublevel.conic.batched import iterate
from sublevel.conic.batched.solver import Batched

from .programs import data_of, feasible, interior, interior_of_duals

SHAPES = {
    "linear": ([("zero", 2), ("nonneg", 9)], 6, False),
    "small cones": ([("nonneg", 4), ("soc", 3), ("soc", 4), ("soc", 1)], 6, False),
    "large cones": ([("zero", 1), ("nonneg", 3), ("soc", 7), ("soc", 5)], 8, False),
    "quadratic": ([("zero", 2), ("nonneg", 6), ("soc", 6)], 7, True),
    "only equalities": ([("zero", 3)], 5, True),
    "exponential": ([("zero", 1), ("nonneg", 3), *[("exp", 3)] * 3], 6, False),
    "power": (
        [("zero", 1), ("nonneg", 3), ("power", 0.3), ("power", 0.5), ("power", 0.9)],
        6,
        False,
    ),
    "all kinds": (
        [("nonneg", 3), ("soc", 3), ("soc", 6), ("exp", 3), ("power", 0.7)],
        8,
        True,
    ),
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


@pytest.mark.parametrize("name", ["linear", "large cones", "quadratic", "all kinds"])
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


@pytest.mark.parametrize(
    ("cones", "width", "seed"),
    [
        ([("exp", 3), ("soc", 6)], 4, 2),
        ([("power", 0.5), ("soc", 6)], 3, 4),
        ([("nonneg", 3), ("soc", 3), ("exp", 3)], 4, 22),
    ],
)
def test_a_lane_that_is_stuck_is_stuck_alone_too(cones, width, seed):
    """More digits than there are: what is tried for one lane is tried for it alone."""
    data = feasible(cones, width, 24, np.random.default_rng(seed))
    plan = Batched().plan(data.program)
    codes, x, z = iterate.run(plan, data, 1e-11)
    assert (codes == iterate.STUCK).any()
    for i in range(24):
        alone = iterate.run(plan, data.at(np.array([i])), 1e-11)
        assert alone[0][0] == codes[i]
        np.testing.assert_array_equal(alone[1][0], x[i])
        np.testing.assert_array_equal(alone[2][0], z[i])


def test_who_comes_in_later_is_asked_the_same():
    """A first point that is a proof already is one for nobody: lanes that come in while
    others are under way go on from there."""
    cones = [("power", 0.3), ("zero", 2)]
    data = feasible(cones, 1, 24, np.random.default_rng(0), share=1.0)
    A, b = data.A.values.copy(), data.b.values.copy()
    A[0] = [0, 0, 0, 0.12018587, 0.57426697]
    b[0] = [-0.13414428, -1.55209523, 0.32911043, -0.29830244, -1.42533591]
    data = ProgramData(data.program, data.P, data.q, whole(A), whole(b))
    plan = Batched().plan(data.program)
    first = iterate.run(plan, data)
    last = iterate.run(plan, data.at(np.roll(np.arange(24), -1)))
    for one, other in zip(first, last, strict=True):
        np.testing.assert_array_equal(one[0], other[-1])


@pytest.mark.parametrize("name", ["large cones", "exponential", "power"])
def test_badly_scaled_contexts_are_right_or_handed_over(name):
    cones, width, _ = SHAPES[name]
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


@pytest.mark.parametrize("name", ["exponential", "power", "all kinds"])
def test_rows_and_columns_in_units_of_their_own(name):
    """Columns and costs times 1e-4 to 1e4, every cone's rows by one factor."""
    cones, width, _ = SHAPES[name]
    rng = np.random.default_rng(9)
    data = feasible(cones, width, 60, rng)
    by_row = 10.0 ** rng.uniform(-4, 4, (60, data.program.height))
    by_row = by_row[:, row_groups(data.program.cones)]
    by_column = 10.0 ** rng.uniform(-4, 4, (60, width))
    program = data.program
    A = data.A.values * by_row[:, program.indices] * by_column[:, program.columns]
    q, b = data.q.values.copy(), data.b.values * by_row
    q[:, :-1] *= by_column * 10.0 ** rng.uniform(-4, 4, (60, 1))
    scaled = ProgramData(program, data.P, whole(q), whole(A), whole(b))
    together, alone = Batched().attempt(scaled), Clarabel(effort=2).solve(scaled)
    both = (together.status == OPTIMAL) & (alone.status == OPTIMAL)
    assert both.mean() > 0.8
    sure = (together.status != FAILED) & (alone.status != FAILED)
    np.testing.assert_array_equal(together.status[sure], alone.status[sure])
    gap = np.abs(together.objective - alone.objective)[both]
    size = np.abs(q[:, :-1] * together.x)[both].sum(axis=1)
    assert np.all(gap <= 1e-6 * size)


def empty(cones, width, rng, n=40):
    """Programs without a point: z inside the duals with A' z = 0 and b' z < 0."""
    rows = sum(rows_of(*cone) for cone in cones)
    z = interior_of_duals(cones, n, rng)
    A = rng.normal(size=(n, rows, width))
    # The first row, of a zero cone, takes back what the others leave.
    A[:, 0] -= np.einsum("nij,ni->nj", A, z) / z[:, :1]
    b = rng.normal(size=(n, rows))
    b[:, 0] -= (np.sum(b * z, axis=1) + rng.uniform(0.5, 2, n)) / z[:, 0]
    q = rng.normal(size=(n, width))
    return data_of(cones, np.zeros((n, width, width)), q, A, b)


@pytest.mark.parametrize("kind", [("exp", 3), ("power", 0.4)])
def test_multipliers_of_curved_cones_prove_that_nothing_is_feasible(kind):
    """Rays inside the dual of a curved cone, without which they would prove nothing."""
    data = empty([("zero", 1), ("nonneg", 2), kind, kind], 3, np.random.default_rng(10))
    together = agree(data, least=0.9)
    assert (together.status[together.status != FAILED] == INFEASIBLE).all()
    _, _, z = iterate.run(Batched().plan(data.program), data)
    assert rays.infeasible(data, z).mean() >= 0.9


@pytest.mark.parametrize("kind", [("exp", 3), ("power", 0.4)])
def test_a_ray_outside_the_dual_of_a_curved_cone_proves_nothing(kind):
    """A' z = 0 and b' z < 0, and yet there is a point: z is in no dual cone."""
    rng, n, width = np.random.default_rng(11), 40, 3
    cones = [("zero", 1), ("nonneg", 2), kind, kind]
    rows = sum(rows_of(*cone) for cone in cones)
    z, s = interior_of_duals(cones, n, rng), interior(cones, n, rng)
    # Minus a point of the dual, and so much of it that s' z < 0.
    share = np.sum(s * z, axis=1) / np.sum(s[:, 3:6] * z[:, 3:6], axis=1)
    z[:, 3:6] *= -2 * share[:, None]
    A = rng.normal(size=(n, rows, width))
    A[:, 0] -= np.einsum("nij,ni->nj", A, z) / z[:, :1]
    b = np.einsum("nij,nj->ni", A, rng.normal(size=(n, width))) + s
    assert (np.sum(b * z, axis=1) < 0).all()
    q, P = rng.normal(size=(n, width)), np.zeros((n, width, width))
    assert not rays.infeasible(data_of(cones, P, q, A, b), z).any()
    # Where nothing is asked of the multipliers the same ray is a proof.
    free = [*cones[:2], ("zero", 6)]
    assert rays.infeasible(data_of(free, P, q, A, b), z).mean() >= 0.9


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
@pytest.mark.parametrize("name", ["quadratic", "exponential", "power"])
def test_wrong_answers_do_not_pass(spoil, name, monkeypatch):
    cones, width, curved = SHAPES[name]
    data = feasible(cones, width, 16, np.random.default_rng(7), curved)
    # In units of their own, contexts are solved apart from the others.
    data = data.at(~extraordinary(data))
    honest = iterate.run
    monkeypatch.setattr(
        iterate, "run", lambda plan, given, close: spoil(*honest(plan, given, close))
    )
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
