"""Enclosing ellipsoids: hand-worked clouds, CVXPY's log_det, enclosure, invariance."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.baselines import enclosing_ellipsoids, khachiyan
from sublevel.errors import InvalidParameter, SolverFailed


def log_volume(factor):
    return float(np.linalg.slogdet(factor)[1])


def reach(cloud, centre, factor):
    """Distance of each point in units of the ellipsoid."""
    return np.linalg.norm(np.linalg.solve(factor, (cloud - centre).T), axis=0)


def least_log_volume(cloud):
    """-log det of the largest A with ||A y + b|| <= 1 (Boyd & Vandenberghe, 8.4.1)."""
    m = cloud.shape[1]
    A, b = cp.Variable((m, m), PSD=True), cp.Variable(m)
    inside = [cp.norm(A @ y + b) <= 1 for y in cloud]
    problem = cp.Problem(cp.Maximize(cp.log_det(A)), inside)
    problem.solve(solver=cp.CLARABEL)
    return -float(problem.value)


def test_an_interval_is_its_own_ellipsoid():
    cloud = np.array([[[1.0], [2.0], [5.0], [4.0]]])
    centres, factors = enclosing_ellipsoids(cloud, tol=1e-8)
    assert centres[0, 0] == pytest.approx(3.0, abs=1e-6)
    assert factors[0, 0, 0] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("m", [2, 3, 6])
def test_a_regular_simplex_has_its_circumscribed_ball(m):
    # m + 1 corners of a simplex centred at zero, at distance one.
    corners = np.linalg.svd(np.eye(m + 1) - 1 / (m + 1))[0][:, :m]
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    centres, factors = enclosing_ellipsoids(corners[None], tol=1e-8)
    assert centres[0] == pytest.approx(np.zeros(m), abs=1e-6)
    assert factors[0] == pytest.approx(np.eye(m), abs=1e-6)


def test_the_ends_of_its_axes_give_an_ellipsoid_back():
    rng = np.random.default_rng(0)
    axes = np.tril(rng.normal(size=(4, 4))) + 3 * np.eye(4)
    cloud = np.concatenate([axes.T, -axes.T]) + 7.0
    inside = 7.0 + 0.3 * axes.T
    centres, factors = enclosing_ellipsoids(np.concatenate([cloud, inside])[None], 1e-9)
    assert centres[0] == pytest.approx(np.full(4, 7.0), abs=1e-5)
    assert factors[0] @ factors[0].T == pytest.approx(axes @ axes.T, rel=1e-4)


@pytest.mark.parametrize("m, k", [(2, 12), (3, 8), (5, 20), (8, 30)])
def test_volume_is_within_a_thousandth_of_the_optimum(m, k):
    rng = np.random.default_rng(m)
    cloud = rng.standard_t(4, size=(k, m)) @ rng.normal(size=(m, m))
    centres, factors = enclosing_ellipsoids(cloud[None])
    best = least_log_volume(cloud)
    assert -1e-5 <= log_volume(factors[0]) - best <= 2e-4
    assert reach(cloud, centres[0], factors[0]).max() <= 1 + 1e-10


def test_a_looser_tolerance_is_kept_too():
    cloud = np.random.default_rng(1).normal(size=(1, 200, 10))
    best = log_volume(enclosing_ellipsoids(cloud, tol=1e-9)[1][0])
    for tol in (0.1, 0.01, 0.001):
        gap = log_volume(enclosing_ellipsoids(cloud, tol)[1][0]) - best
        assert -1e-8 <= gap <= tol


def test_many_clouds_at_once_are_the_clouds_one_by_one(monkeypatch):
    clouds = np.random.default_rng(2).normal(size=(7, 15, 3)) * [1.0, 1e-4, 1e5]
    together = enclosing_ellipsoids(clouds)
    monkeypatch.setattr(khachiyan, "TOGETHER", 1)
    apart = enclosing_ellipsoids(clouds)
    for left, right in zip(together, apart, strict=True):
        assert left == pytest.approx(right, rel=1e-9)
    for cloud, centre, factor in zip(clouds, *together, strict=True):
        assert np.array_equal(factor, np.tril(factor))
        assert reach(cloud, centre, factor).max() == pytest.approx(1.0, rel=1e-9)


def test_affine_maps_carry_the_ellipsoid_along():
    rng = np.random.default_rng(3)
    cloud, matrix = rng.normal(size=(25, 4)), rng.normal(size=(4, 4))
    _, factors = enclosing_ellipsoids(cloud[None], tol=1e-9)
    _, moved = enclosing_ellipsoids((cloud @ matrix.T + 100.0)[None], tol=1e-9)
    mapped = matrix @ factors[0]
    assert moved[0] @ moved[0].T == pytest.approx(mapped @ mapped.T, rel=1e-5)


def test_no_clouds_give_no_ellipsoids():
    centres, factors = enclosing_ellipsoids(np.zeros((0, 5, 2)))
    assert centres.shape == (0, 2)
    assert factors.shape == (0, 2, 2)


def test_what_cannot_be_enclosed_is_refused(monkeypatch):
    with pytest.raises(InvalidParameter, match="flat cloud"):
        enclosing_ellipsoids(np.ones((1, 5, 2)))
    with pytest.raises(InvalidParameter, match=r"shape \(n, k, m\), got \(5, 2\)"):
        enclosing_ellipsoids(np.ones((5, 2)))
    monkeypatch.setattr(khachiyan, "MOST_STEPS", 0)
    with pytest.raises(SolverFailed, match="no ellipsoid in 0 steps for 1 clouds"):
        enclosing_ellipsoids(np.random.default_rng(0).normal(size=(1, 9, 2)))


def test_settings_and_numbers_are_checked():
    with pytest.raises(InvalidParameter, match=r"tol=.* must be a positive number"):
        enclosing_ellipsoids(np.ones((1, 5, 2)), tol=0.0)
    with pytest.raises(InvalidParameter, match="must be finite"):
        enclosing_ellipsoids(np.full((1, 5, 2), np.nan))
