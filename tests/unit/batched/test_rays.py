"""A ray proves that there is no solution, or nothing: never a wrong "infeasible"."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sublevel.conic import rays
from sublevel.conic.products import transposed
from sublevel.conic.solver import INFEASIBLE, OPTIMAL, UNBOUNDED, Clarabel

from .programs import data_of

ROWS = 6


def planes(n, rng, far=4):
    """A x <= b in the plane with small whole numbers, each its own context."""
    A = rng.integers(-3, 4, (n, ROWS, 2)).astype(float)
    A[:, :, 0] = np.where((A == 0).all(axis=2), 1.0, A[:, :, 0])
    b = rng.integers(-far, far + 1, (n, ROWS)).astype(float)
    q = rng.integers(-3, 4, (n, 2)).astype(float)
    return A, b, q


def posed(A, b, q):
    n, rows, width = A.shape
    return data_of([("nonneg", rows)], np.zeros((n, width, width)), q, A, b)


def has_point(A, b):
    """Whether A x <= b has a point, by all its vertices in a large box, exactly."""
    rows = [(Fraction(int(u)), Fraction(int(v))) for u, v in A]
    ends = [Fraction(int(e)) for e in b]
    box = Fraction(10**6)
    rows += [(1, 0), (-1, 0), (0, 1), (0, -1)]
    ends += [box] * 4
    for (r, e), (s, f) in combinations(list(zip(rows, ends, strict=True)), 2):
        area = r[0] * s[1] - r[1] * s[0]
        if area:
            x, y = (e * s[1] - f * r[1]) / area, (r[0] * f - s[0] * e) / area
            if all(u * x + v * y <= w for (u, v), w in zip(rows, ends, strict=True)):
                return True
    return False


def improves(A, q):
    """Whether some direction of A d <= 0 has q' d < 0: an edge of the cone, or -q."""
    candidates = [-q]
    for u, v in A:
        candidates += [np.array([-v, u]), np.array([v, -u])]
    return any((A @ d <= 0).all() and q @ d < 0 for d in candidates)


def claimed(data):
    """Rays by Clarabel: status, x and z, kept as it gives them."""
    from sublevel.conic import solver

    kept = {}
    honest = solver.proofs

    def keep(given, status, x, z):
        kept.update(status=status.copy(), x=x.copy(), z=z.copy())
        return honest(given, status, x, z)

    solver.proofs = keep
    try:
        solved = Clarabel().solve(data)
    finally:
        solver.proofs = honest
    return solved, kept


def test_what_is_proved_infeasible_has_no_point():
    rng = np.random.default_rng(0)
    A, b, q = planes(250, rng)
    data = posed(A, b, q)
    empty = ~np.array([has_point(*each) for each in zip(A, b, strict=True)])
    assert 60 < empty.sum() < 220
    # Whatever multipliers are tried: those of the solver, random ones, sparse ones.
    solved = Clarabel().solve(data)
    tried = [np.abs(rng.normal(size=(250, ROWS))) for _ in range(5)]
    tried += [part * (rng.random(part.shape) < 0.4) for part in tried]
    for z in tried:
        assert not (rays.infeasible(data, z) & ~empty).any()
    assert not (solved.proved & (solved.status == INFEASIBLE) & ~empty).any()
    # And nearly all that have no point are proved to have none.
    proved = solved.proved & (solved.status == INFEASIBLE)
    assert proved[empty].mean() > 0.95


def test_what_is_proved_unbounded_has_a_direction():
    rng = np.random.default_rng(1)
    A, b, q = planes(250, rng, far=9)
    A = A[:, :3]
    data = posed(A, np.abs(b[:, :3]), q)
    endless = np.array([improves(*each) for each in zip(A, q, strict=True)])
    assert 25 < endless.sum() < 240
    for _ in range(10):
        direction = rng.normal(size=(250, 2))
        assert not (rays.unbounded(data, direction) & ~endless).any()
    solved = Clarabel().solve(data)
    proved = solved.proved & (solved.status == UNBOUNDED)
    assert not (proved & ~endless).any()
    assert proved[endless].mean() > 0.95


@pytest.mark.parametrize("size", [1e6, 1e8, 1e10])
def test_points_that_are_far_away_are_points(size):
    """x >= size is feasible, though its row, of slope 1 / size, nearly proves not."""
    A = np.tile([[-1 / size, 0.0], [0.0, -1.0], [0.0, 1.0]], (2, 1, 1))
    b = np.tile([-1.0, 1.0, 1.0], (2, 1))
    data = posed(A, b, np.ones((2, 2)))
    z = np.tile([1.0, 0.0, 0.0], (2, 1))
    # By the measure that solvers use this is a proof.
    assert (np.abs(transposed(data, z)).max(axis=1) <= 1e-5).all()
    assert not rays.infeasible(data, z).any()
    assert not (Clarabel(effort=1).solve(data).status == INFEASIBLE).any()
    # With x <= size / 2 it is one.
    A = np.concatenate([A, np.tile([[1.0, 0.0]], (2, 1, 1))], axis=1)
    b = np.column_stack([b, np.full(2, size / 2)])
    bounded = posed(A, b, np.ones((2, 2)))
    assert rays.infeasible(bounded, np.column_stack([z, np.zeros(2)])).all()


def test_a_ball_and_a_half_space():
    """|x| <= r and a' x >= c meet if and only if r |a| >= c."""
    rng = np.random.default_rng(2)
    n, dim = 300, 4
    a = rng.normal(size=(n, dim))
    reach = rng.uniform(0.5, 2, n)
    edge = reach * np.linalg.norm(a, axis=1)
    share = np.where(np.arange(n) % 2, rng.uniform(0.2, 0.999, n), 0)
    share = np.where(share > 0, share, rng.uniform(1.001, 3, n))
    A = np.zeros((n, 2 + dim, dim))
    A[:, 0] = -a
    A[:, 2:] = -np.eye(dim)
    b = np.zeros((n, 2 + dim))
    b[:, 0], b[:, 1] = -share * edge, reach
    data = data_of(
        [("nonneg", 1), ("soc", 1 + dim)],
        np.zeros((n, dim, dim)),
        rng.normal(size=(n, dim)),
        A,
        b,
    )
    solved = Clarabel().solve(data)
    apart = share > 1
    assert (solved.status[apart] == INFEASIBLE).all()
    assert (solved.status[~apart] == OPTIMAL).all()
    assert not (solved.proved & ~apart).any()
    # The ray that the geometry names, where the two touch no more.
    tail = a / np.linalg.norm(a, axis=1, keepdims=True)
    z = np.column_stack([1 / np.linalg.norm(a, axis=1), np.ones(n), -tail])
    proved = rays.infeasible(data, z)
    assert proved[apart].all()
    assert not proved[~apart].any()


def test_rays_in_other_units_prove_as_much():
    rng = np.random.default_rng(3)
    A, b, q = planes(200, rng)
    rows, columns = (
        2.0 ** rng.integers(-20, 20, (200, ROWS)),
        2.0 ** rng.integers(-20, 20, (200, 2)),
    )
    plain, other = (
        posed(A, b, q),
        posed(A * rows[:, :, None] * columns[:, None], b * rows, q),
    )
    z = np.abs(rng.normal(size=(200, ROWS)))
    empty = ~np.array([has_point(*each) for each in zip(A, b, strict=True)])
    assert not (rays.infeasible(other, z / rows) & ~empty).any()
    _, kept = claimed(plain)
    lost = kept["status"] == INFEASIBLE
    assert lost.sum() > 40
    moved = rays.infeasible(other.at(lost), kept["z"][lost] / rows[lost])
    assert moved.mean() > 0.9
