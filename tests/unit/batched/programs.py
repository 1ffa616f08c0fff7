"""Random cone programs of one pattern, for many contexts."""

import numpy as np
import scipy.sparse as sp

from sublevel.conic.program import ConeProgram, ProgramData, rows_of, whole


def data_of(cones, P, q, A, b):
    """Contexts from dense arrays: P (n, nx, nx), q (n, nx), A (n, rows, nx), b."""
    n, _, width = A.shape
    pattern = sp.csc_array((np.abs(A) > 0).any(axis=0))
    pattern.sort_indices()
    columns = np.repeat(np.arange(width), np.diff(pattern.indptr))
    curved = np.argwhere((np.abs(P) > 0).any(axis=0).T)
    upper = curved[curved[:, 1] <= curved[:, 0]]

    def table(values):
        return sp.csr_array(values.reshape(-1, 1))

    program = ConeProgram(
        tuple(cones),
        1.0,
        pattern.indices,
        pattern.indptr,
        curved[:, 0] * width + curved[:, 1],
        table(P[0].T[tuple(curved.T)]),
        table(np.append(q[0], 0.0)),
        table(A[0][pattern.indices, columns]),
        table(b[0]),
        {},
        {},
    )
    return ProgramData(
        program,
        whole(P[:, upper[:, 1], upper[:, 0]]),
        whole(np.column_stack([q, np.zeros(n)])),
        whole(A[:, pattern.indices, columns]),
        whole(b),
    )


def interior(cones, n, rng):
    """Points inside the cones, shape (n, rows)."""
    parts = []
    for kind, size in cones:
        rows = rows_of(kind, size)
        part = rng.normal(size=(n, rows))
        if kind == "zero":
            part[:] = 0.0
        elif kind == "nonneg":
            part = np.abs(part) + 0.1
        elif kind == "exp":
            # (x, y, z) with y exp(x / y) <= z.
            part[:, 1] = np.abs(part[:, 1]) + 0.3
            part[:, 2] = part[:, 1] * np.exp(part[:, 0] / part[:, 1])
            part[:, 2] += rng.uniform(0.1, 1, n)
        elif kind == "power":
            part[:, :2] = np.abs(part[:, :2]) + 0.3
            mean = part[:, 0] ** size * part[:, 1] ** (1 - size)
            part[:, 2] = mean * rng.uniform(-0.9, 0.9, n)
        else:
            part[:, 0] = np.linalg.norm(part[:, 1:], axis=1) + rng.uniform(0.1, 1, n)
        parts.append(part)
    return np.concatenate(parts, axis=1)


def interior_of_duals(cones, n, rng):
    """Points inside the dual cones; of a zero cone, some numbers."""
    z = interior([c if c[0] != "zero" else ("nonneg", c[1]) for c in cones], n, rng)
    start = 0
    for kind, size in cones:
        if kind == "exp":
            # (u, v, w) with u < 0 and -u exp(v / u - 1) <= w.
            u, v = -np.abs(z[:, start]) - 0.3, z[:, start + 1]
            z[:, start] = u
            z[:, start + 2] = -u * np.exp(v / u - 1) + rng.uniform(0.1, 1, n)
        elif kind == "power":
            z[:, start] *= size
            z[:, start + 1] *= 1 - size
        start += rows_of(kind, size)
    return z


def feasible(cones, width, n, rng, curved=False, share=0.6):
    """Programs that have a solution: a point and multipliers inside the cones."""
    rows = sum(rows_of(*cone) for cone in cones)
    A = rng.normal(size=(n, rows, width)) * (rng.uniform(size=(rows, width)) < share)
    P = np.zeros((n, width, width))
    if curved:
        half = rng.normal(size=(n, width // 2, width))
        P = np.swapaxes(half, 1, 2) @ half
    x, s = rng.normal(size=(n, width)), interior(cones, n, rng)
    z = interior_of_duals(cones, n, rng)
    b = np.einsum("nij,nj->ni", A, x) + s
    q = -np.einsum("nij,nj->ni", P, x) - np.einsum("nij,ni->nj", A, z)
    return data_of(cones, P, q, A, b)
