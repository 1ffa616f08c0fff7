"""The order of elimination, where cones are near their boundary.

A large cone has two unknowns of its own, u and v. What an order is worth is seen by
eliminating in it, in plain NumPy, where an answer is near.
"""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from sublevel.conic.batched.plan import plan_of

from .programs import data_of

LARGE = (12, 13, 12)
POINTS = sum(LARGE) - 2 * len(LARGE)
CONES = [("nonneg", 2 * POINTS), *(("soc", rows) for rows in LARGE)]
SIGNS = (1.0, -1.0)


def patterned():
    """The plan of sums of squares, |x|^2 <= t for each, with bounds on x; and its A."""
    width = POINTS + len(LARGE)
    one = np.eye(width)
    parts, start = [one[:POINTS], -one[:POINTS]], 0
    for k, rows in enumerate(LARGE):
        top, stop = one[POINTS + k], start + rows - 2
        parts.append(np.vstack([-top, top, -2 * one[start:stop]]))
        start = stop
    A = np.vstack(parts)
    P, q, b = np.zeros((width, width)), np.ones(width), np.ones(len(A))
    return plan_of(data_of(CONES, P[None], q[None], A[None], b[None]).program), A


def scaling(rows, rng):
    """w and eta of a cone whose slack and multiplier lie near its boundary."""
    w = rng.normal(size=rows) * 1e-3
    w[1] = 10 ** rng.uniform(3.5, 4)
    w[0] = np.sqrt(1 + np.sum(w[1:] ** 2))
    return w, 10 ** rng.uniform(0.5, 1.5)


def helpers(w):
    """D, u and v of H = eta^2 (D + u u' - v v')."""
    length = np.sum(w**2)
    D = np.ones(len(w))
    D[0] = 0.5 / length
    u, v = 2 * w[0] * w, np.zeros(len(w))
    u[0] = length - D[0]
    u /= np.sqrt(u[0])
    v[1:] = w[1:] * np.sqrt(2 * (2 + 1 / length) / (2 * length - 1 / length))
    return D, u, v


def step_matrix(plan, A, rng):
    """K as it is written, and H itself."""
    n, m = plan.width, plan.height
    K, H = np.zeros((plan.unknowns,) * 2), np.zeros((m, m))
    K[n : n + m, :n] = A
    K[:n, n : n + m] = A.T
    linear = np.asarray(plan.linear)
    H[linear, linear] = 10 ** rng.uniform(0, 8, len(linear))
    K[n + linear, n + linear] = -H[linear, linear]
    for c, (start, rows, *_) in enumerate(plan.soc):
        w, eta = scaling(rows, rng)
        D, u, v = helpers(w)
        at, own = np.arange(start, start + rows), n + m + 2 * c
        J = np.diag(np.append(1.0, -np.ones(rows - 1)))
        H[np.ix_(at, at)] = eta**2 * (2 * np.outer(w, w) - J)
        K[n + at, n + at] = -(eta**2) * D
        for k, (sign, column) in enumerate(zip(SIGNS, (u, v), strict=True)):
            K[own + k, own + k] = sign * eta**2
            K[own + k, n + at] = K[n + at, own + k] = eta**2 * column
    return K, H


def digits_lost(plan, A, node, seed):
    """Residual of one solution in an order, of a right-hand side near one."""
    rng = np.random.default_rng(seed)
    n, m = plan.width, plan.height
    K, H = step_matrix(plan, A, rng)
    M = K[np.ix_(node, node)]
    sign = np.concatenate([np.ones(n), -np.ones(m), np.tile(SIGNS, len(plan.soc))])
    L, D = np.eye(len(M)), np.zeros(len(M))
    for j in range(len(M)):
        pivot = M[j, j] + 1e-8 * sign[node[j]]
        D[j] = pivot if pivot * sign[node[j]] > 1e-13 else sign[node[j]] * 2e-7
        L[j + 1 :, j] = M[j + 1 :, j] / D[j]
        M[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], M[j + 1 :, j])
    right = np.zeros(len(M))
    right[: n + m] = rng.normal(size=n + m)
    half = solve_triangular(L, right[node], lower=True, unit_diagonal=True) / D
    found = np.empty(len(M))
    found[node] = solve_triangular(L.T, half, unit_diagonal=True)
    x, z = found[:n], found[n : n + m]
    left = right[: n + m] - np.concatenate([A.T @ z, A @ x - H @ z])
    return np.max(np.abs(left))


def turned(plan):
    """The order with u and v of each cone in each other's place."""
    node = np.array(plan.node)
    place = np.argsort(node)
    first = np.arange(plan.width + plan.height, plan.unknowns, 2)
    node[place[first]], node[place[first + 1]] = first + 1, first
    return node


def test_u_goes_before_v():
    plan, _ = patterned()
    place = np.argsort(plan.node)
    first = np.arange(plan.width + plan.height, plan.unknowns, 2)
    assert len(first) == 3
    assert (place[first] < place[first + 1]).all()


@pytest.mark.parametrize("seed", range(1, 5))
def test_near_a_boundary_digits_are_left(seed):
    plan, A = patterned()
    assert digits_lost(plan, A, np.array(plan.node), seed) < 1e-3
    # The broken twin: v first, and not one is left.
    assert digits_lost(plan, A, turned(plan), seed) > 1e-1
