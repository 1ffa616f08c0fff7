"""Exponential and power cones in lanes: formulas against other derivatives."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit

from sublevel.conic.batched import barriers, elementary
from sublevel.conic.batched.lanes import load, splat, store
from sublevel.conic.batched.nonsymmetric import CENTRE, _both, _dual_barrier

EXPONENTS = [0.0, 0.5, 0.2, 0.97, 0.01]


@njit
def elementary_of(given, logs, above, exps, count):
    for i in range(count):
        x = load(given, i)
        store(logs, i, elementary.logarithm(x))
        store(above, i, elementary.logarithm_above_one(x))
        store(exps, i, elementary.exponential(x))


def test_logarithms_and_exponentials_are_right_to_two_units_in_the_last_place():
    rng = np.random.default_rng(0)
    wide = 10.0 ** rng.uniform(-250, 2.8, 8000)
    x = np.concatenate([wide, rng.uniform(0.1, 3, 8000), 1 + 1e-7 * rng.random(800)])
    logs, above, exps = np.zeros((3, len(x)))
    places = (x, logs, above, exps)
    elementary_of(*(part.ctypes.data for part in places), len(x) // 8)
    close = {"rtol": 4.5e-16, "atol": 0}
    np.testing.assert_allclose(logs, np.log(x), **close)
    np.testing.assert_allclose(above, np.log1p(x), **close)
    np.testing.assert_allclose(exps, np.exp(x), **close)
    x = rng.uniform(-650, 0, 8000)
    elementary_of(*(p.ctypes.data for p in (x, logs, above, exps)), 1000)
    np.testing.assert_allclose(exps[:8000], np.exp(x), **close)


@njit
def everything(exponent, point, one, other, result):
    u, v, w = load(point, 0), load(point, 1), load(point, 2)
    a = load(one, 0), load(one, 1), load(one, 2)
    b = load(other, 0), load(other, 1), load(other, 2)
    power, psi = barriers.level(exponent, u, v, w)
    over, c = barriers.inverses(exponent, u, v, w), barriers.weights(exponent)
    g = barriers.slopes(exponent, u, v, w, power, over)
    H = barriers.hessian(c, over, psi, g, barriers.curves(exponent, u, power, over))
    shadow = (
        g[0] / psi + c[0] * over[0],
        g[1] / psi + c[1] * over[1],
        g[2] / psi + c[2] * over[2],
    )
    along = barriers.times(H, b)
    third = barriers.half_third(exponent, u, power, psi, over, g, a, b)
    back = barriers.shadow_of_slack(exponent, shadow[0], shadow[1], shadow[2])
    for k in range(3):
        store(result, k, shadow[k])
        store(result, 3 + k, along[k])
        store(result, 6 + k, third[k])
        store(result, 9 + k, back[k])
    store(result, 12, psi)
    store(result, 13, barriers.inside(exponent, shadow[0], shadow[1], shadow[2]))


def barrier(a, z):
    """As it is written in the papers; complex numbers may come in."""
    u, v, w = z
    if a == 0:
        return -np.log(v - u - u * np.log(-w / u)) - np.log(-u) - np.log(w)
    inner = (u / a) ** (2 * a) * (v / (1 - a)) ** (2 - 2 * a) - w * w
    return -np.log(inner) - (1 - a) * np.log(u) - a * np.log(v)


def gradient(a, z):
    """By a step along the imaginary axis, which loses no digits."""
    steps = 1e-30j * np.eye(3)
    return np.array([barrier(a, z + step).imag for step in steps]) / 1e-30


def points(a, rng):
    """Eight points inside the dual cone, shape (3, 8)."""
    if a == 0:
        u, w = -rng.uniform(0.1, 3, 8), rng.uniform(0.1, 3, 8)
        return np.array([u, u + u * np.log(-w / u) + rng.uniform(0.1, 3, 8), w])
    u, v = rng.uniform(0.1, 3, (2, 8))
    share = rng.uniform(-0.9, 0.9, 8)
    # Where the last number is zero, or nearly, something would be divided by it.
    share[:2] = 0.0, 1e-12
    return np.array([u, v, (u / a) ** a * (v / (1 - a)) ** (1 - a) * share])


@pytest.mark.parametrize("a", EXPONENTS)
def test_derivatives_and_shadows(a):
    rng = np.random.default_rng(1)
    z, one, other = points(a, rng), rng.normal(size=(3, 8)), rng.normal(size=(3, 8))
    result = np.zeros((14, 8))
    everything(a, *(part.ctypes.data for part in (z, one, other, result)))
    assert (result[12] > 0).all()
    assert (result[13] > 0).all()
    for i in range(8):
        here, shadow = z[:, i], result[:3, i]
        np.testing.assert_allclose(shadow, -gradient(a, here), rtol=1e-11, atol=1e-12)
        # The barrier is of degree three.
        assert shadow @ here == pytest.approx(3, rel=1e-11)
        np.testing.assert_allclose(result[9:12, i], here, rtol=1e-9, atol=1e-12)
        h = 1e-5 * min(1.0, result[12, i])

        def slope(at, step=h, along=other[:, i]):
            apart = gradient(a, at + step * along) - gradient(a, at - step * along)
            return apart / (2 * step)

        size = np.abs(slope(here)).max()
        assert np.abs(result[3:6, i] - slope(here)).max() <= 1e-6 * size
        t = 100 * h
        apart = slope(here + t * one[:, i]) - slope(here - t * one[:, i])
        third = apart / (4 * t)
        assert np.abs(result[6:9, i] - third).max() <= 1e-3 * np.abs(third).max()


@njit
def scaling(exponent, primal, dual, result):
    """The scaling of a slack and a multiplier, as it is and by the dual alone."""
    s = load(primal, 0), load(primal, 1), load(primal, 2)
    u, v, w = load(dual, 0), load(dual, 1), load(dual, 2)
    power, psi = barriers.level(exponent, u, v, w)
    over, c = barriers.inverses(exponent, u, v, w), barriers.weights(exponent)
    g = barriers.slopes(exponent, u, v, w, power, over)
    H = barriers.hessian(c, over, psi, g, barriers.curves(exponent, u, power, over))
    shadow = (
        g[0] / psi + c[0] * over[0],
        g[1] / psi + c[1] * over[1],
        g[2] / psi + c[2] * over[2],
    )
    other = barriers.shadow_of_slack(exponent, s[0], s[1], s[2])
    mu = splat(0.7)
    for by_dual in range(2):
        block = _both(s, (u, v, w), shadow, other, H, splat(float(by_dual)), mu)
        for k in range(6):
            store(result, 6 * by_dual + k, block[k])
    for k in range(6):
        store(result, 12 + k, H[k])
    for k in range(3):
        store(result, 18 + k, shadow[k])
        store(result, 21 + k, other[k])
    store(result, 24, _dual_barrier(exponent, u, v, w))


def symmetric(block):
    """Six numbers, down the columns of the upper half, as a matrix."""
    a, b, c, d, e, f = block
    return np.array([[a, b, d], [b, c, e], [d, e, f]])


@pytest.mark.parametrize("a", EXPONENTS)
def test_the_scaling_takes_multipliers_to_slacks_and_shadows_to_shadows(a):
    rng = np.random.default_rng(3)
    z = points(a, rng)
    # A slack is the shadow of a point of the dual cone.
    s = np.array([-gradient(a, near) for near in points(a, rng).T]).T.copy()
    result = np.zeros((25, 8))
    scaling(a, *(part.ctypes.data for part in (s, z, result)))
    both = 0
    for i in range(8):
        curve = symmetric(result[12:18, i])
        shadow, other = result[18:21, i], result[21:24, i]
        assert result[24, i] == pytest.approx(barrier(a, z[:, i]), rel=1e-12, abs=1e-12)
        own = symmetric(result[:6, i])
        assert (np.linalg.eigvalsh(own) > 0).all()
        dual = symmetric(result[6:12, i])
        np.testing.assert_allclose(dual, 0.7 * curve, rtol=1e-12)
        if not np.allclose(own, s[:, i] @ z[:, i] / 3 * curve, rtol=1e-6):
            both += 1
            np.testing.assert_allclose(own @ z[:, i], s[:, i], rtol=1e-8)
            np.testing.assert_allclose(own @ other, shadow, rtol=1e-8)
            # Beside what these ask for it is as large as the Hessian is beside them.
            at = curve @ other - shadow @ other / 3 * shadow
            rest = (
                curve - np.outer(shadow, shadow) / 3 - np.outer(at, at) / (at @ other)
            )
            ours, theirs = np.stack([s[:, i], shadow]), np.stack([z[:, i], other])
            asked = ours.T @ np.linalg.solve(ours @ theirs.T, ours)
            much = s[:, i] @ z[:, i] / 3 * np.linalg.norm(rest)
            assert np.trace(own - asked) == pytest.approx(much, rel=1e-6)
    assert both > 4


@pytest.mark.parametrize("a", EXPONENTS)
def test_lanes_begin_where_the_gradient_is_minus_the_point(a):
    centre = np.array(CENTRE if a == 0 else [np.sqrt(1 + a), np.sqrt(2 - a), 0.0])
    np.testing.assert_allclose(-gradient(a, centre), centre, atol=1e-12)


@pytest.mark.parametrize("a", EXPONENTS)
def test_points_outside_are_seen(a):
    """Of a cone and of its dual, on all sides."""
    rng = np.random.default_rng(2)
    z = points(a, rng)
    out = z.copy()
    if a == 0:
        out[1] = z[0] + z[0] * np.log(-z[2] / z[0]) - rng.uniform(0.01, 1, 8)
        out[0, :2] *= -1
        out[2, 2:4] *= -1
    else:
        top = (z[0] / a) ** a * (z[1] / (1 - a)) ** (1 - a)
        out[2] = top * rng.choice([-1, 1], 8) * rng.uniform(1.01, 3, 8)
        out[0, :2] *= -1
        out[1, 2:4] *= -1
    result, other = np.zeros((14, 8)), np.ones((3, 8))
    places = (out, other, other, result)
    everything(a, *(part.ctypes.data for part in places))
    assert (result[12] <= 0).all()
