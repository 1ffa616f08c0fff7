"""Many random contexts of a few small problems, bad ones among them.

Of every crowd about a sixth is in units far from one, and in most a sixth or more has
no solution. Each gives the data of n contexts.
"""

import numpy as np

from .programs import data_of


def _strange(rng, n, *parts):
    """A sixth of the contexts with costs, and right-hand sides, in other units."""
    odd = rng.random(n) < 1 / 6
    for part in parts:
        unit = 10.0 ** rng.uniform(-5, 5, n)
        part *= np.where(odd, unit, 1.0)[:, None]


def portfolio(n, rng, dim=5):
    """Variables w and t: t <= location' w - |reach w|, w on a simplex."""
    A = np.zeros((n, 2 + 2 * dim, dim + 1))
    A[:, 0, :dim] = 1
    A[:, 1 : 1 + dim, :dim] = -np.eye(dim)
    A[:, 1 + dim, :dim] = -rng.normal(size=(n, dim))
    A[:, 1 + dim, dim] = 1
    reach = rng.uniform(0.01, 2, (n, dim)) * (rng.random((n, dim)) < 0.95)
    A[:, 2 + dim + np.arange(dim), np.arange(dim)] = -reach
    b = np.zeros((n, 2 + 2 * dim))
    # A sixth has nothing to distribute: w >= 0 with a negative sum.
    b[:, 0] = np.where(rng.random(n) < 1 / 6, -1.0, 1.0)
    q = np.tile(np.append(np.zeros(dim), -1.0), (n, 1))
    _strange(rng, n, q, b)
    cones = [("zero", 1), ("nonneg", dim), ("soc", dim + 1)]
    return data_of(cones, np.zeros((n, dim + 1, dim + 1)), q, A, b)


def flow(n, rng):
    """A flow over six edges with capacities that may be too small; many ties."""
    ends = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)]
    incidence = np.zeros((4, 6))
    for edge, (tail, head) in enumerate(ends):
        incidence[tail, edge], incidence[head, edge] = 1, -1
    A = np.tile(np.vstack([incidence, -np.eye(6), np.eye(6)]), (n, 1, 1))
    b = np.zeros((n, 16))
    # One row follows from the others.
    b[:, 0], b[:, 3] = 1, -1
    b[:, 10:] = rng.integers(0, 5, (n, 6)) / 4
    q = rng.integers(1, 4, (n, 6)).astype(float)
    _strange(rng, n, q, b)
    return data_of([("zero", 4), ("nonneg", 12)], np.zeros((n, 6, 6)), q, A, b)


def rows(n, rng, dim=4, count=3):
    """A linear cost under rows with ellipsoids, which may leave nothing."""
    height = 2 * dim + count * (dim + 1)
    A, b = np.zeros((n, height, dim)), np.zeros((n, height))
    A[:, :dim], A[:, dim : 2 * dim] = -np.eye(dim), np.eye(dim)
    b[:, :dim] = -rng.uniform(0, 0.3, (n, dim))
    b[:, dim : 2 * dim] = rng.uniform(0.4, 2, (n, dim))
    for k in range(count):
        start = 2 * dim + k * (dim + 1)
        A[:, start] = rng.uniform(0.2, 1, (n, dim))
        b[:, start] = rng.uniform(0.2, 1.5, n)
        spread = rng.uniform(0.01, 0.5, (n, dim))
        A[:, start + 1 + np.arange(dim), np.arange(dim)] = spread
    q = -rng.uniform(0.5, 2, (n, dim))
    _strange(rng, n, q, b)
    cones = [("nonneg", 2 * dim), *[("soc", dim + 1)] * count]
    return data_of(cones, np.zeros((n, dim, dim)), q, A, b)


def squares(n, rng, dim=6):
    """A quadratic cost with an equality, bounds and a large cone."""
    P = np.zeros((n, dim + 1, dim + 1))
    P[:, np.arange(dim), np.arange(dim)] = rng.uniform(0.01, 2, (n, dim))
    A = np.zeros((n, 2 + 3 * dim, dim + 1))
    A[:, 0, :dim] = rng.choice([-1.0, 1.0], (n, dim))
    A[:, 1 : 1 + dim, :dim] = np.eye(dim)
    A[:, 1 + dim : 1 + 2 * dim, :dim] = -np.eye(dim)
    A[:, 1 + 2 * dim, dim] = -1
    spread = rng.uniform(0.1, 1, (n, dim))
    A[:, 2 + 2 * dim + np.arange(dim), np.arange(dim)] = -spread
    b = np.zeros((n, 2 + 3 * dim))
    # Levels that some contexts cannot reach within their bounds.
    b[:, 0] = rng.uniform(-dim * 0.7, dim * 0.7, n)
    b[:, 1 : 1 + 2 * dim] = rng.uniform(0.3, 1, (n, 2 * dim))
    q = np.column_stack([rng.normal(size=(n, dim)), rng.uniform(0.2, 1, n)])
    _strange(rng, n, b)
    cones = [("zero", 1), ("nonneg", 2 * dim), ("soc", dim + 1)]
    return data_of(cones, P, q, A, b)


def corners(n, rng, dim=3, height=7):
    """A x <= b with small whole numbers: ties, nothing feasible, no end."""
    A = rng.integers(-2, 3, (n, height, dim)).astype(float)
    b = rng.integers(-2, 4, (n, height)).astype(float)
    q = rng.integers(-2, 3, (n, dim)).astype(float)
    _strange(rng, n, q, b)
    return data_of([("nonneg", height)], np.zeros((n, dim, dim)), q, A, b)


def exponential(n, rng, dim=4):
    """Weights w with entropy and a cost, on a simplex that may be empty.

    Variables w and t: t_i <= -w_i log w_i, which is (t_i, w_i, 1) in the cone.
    """
    height = 1 + 2 * dim + 3 * dim
    A, b = np.zeros((n, height, 2 * dim)), np.zeros((n, height))
    A[:, 0, :dim] = 1
    A[:, 1 : 1 + dim, :dim] = np.eye(dim)
    A[:, 1 + dim : 1 + 2 * dim, dim:] = -np.eye(dim)
    # Caps whose sum may be less than what is to be distributed, floors for entropy.
    b[:, 0] = rng.uniform(0.5, 3, n)
    b[:, 1 : 1 + dim] = rng.uniform(0.1, 0.9, (n, dim))
    b[:, 1 + dim : 1 + 2 * dim] = 0.5
    for k in range(dim):
        start = 1 + 2 * dim + 3 * k
        A[:, start, dim + k] = -1
        A[:, start + 1, k] = -1
        b[:, start + 2] = 1
    q = np.hstack([rng.normal(size=(n, dim)), -rng.uniform(0.01, 1, (n, dim))])
    _strange(rng, n, q)
    cones = [("zero", 1), ("nonneg", 2 * dim), *[("exp", 3)] * dim]
    return data_of(cones, np.zeros((n, 2 * dim, 2 * dim)), q, A, b)


def power(n, rng, dim=3):
    """Costs |x_i|^p below levels t_i, and an equality that bounds may forbid.

    Variables x and t: (t_i, 1, x_i) in the cone of exponent 1 / p.
    """
    height = 1 + 2 * dim + 3 * dim
    A, b = np.zeros((n, height, 2 * dim)), np.zeros((n, height))
    A[:, 0, :dim] = rng.choice([-1.0, 1.0], (n, dim)) * rng.uniform(0.5, 2, (n, dim))
    A[:, 1 : 1 + dim, :dim] = np.eye(dim)
    A[:, 1 + dim : 1 + 2 * dim, :dim] = -np.eye(dim)
    b[:, 0] = rng.uniform(-4, 4, n)
    b[:, 1 : 1 + 2 * dim] = rng.uniform(0.2, 1.5, (n, 2 * dim))
    for k in range(dim):
        start = 1 + 2 * dim + 3 * k
        A[:, start, dim + k] = -1
        b[:, start + 1] = 1
        A[:, start + 2, k] = -1
    q = np.hstack([rng.normal(size=(n, dim)), rng.uniform(0.05, 2, (n, dim))])
    _strange(rng, n, q)
    orders = (1.3, 2.5, 4.0)
    cones = [("zero", 1), ("nonneg", 2 * dim), *[("power", 1 / p) for p in orders]]
    return data_of(cones, np.zeros((n, 2 * dim, 2 * dim)), q, A, b)


CROWDS = {
    f.__name__: f for f in (portfolio, flow, rows, squares, corners, exponential, power)
}
