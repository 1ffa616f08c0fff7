"""What a solver expert would write by hand: a live Clarabel solver for each problem.

Matrices are prepared once; per context the changed entries are handed to `update`.
"""

import clarabel
import numpy as np
import scipy.sparse as sp


def settings():
    """Quiet, and without presolve: `update` needs the rows where they are."""
    found = clarabel.DefaultSettings()
    found.verbose = False
    found.presolve_enable = False
    return found


class Raw:
    """min q'x, A x + s = b: q and A change from context to context."""

    def __init__(self, q, A, b, cones):
        self.A = sp.csc_matrix(A)
        self.A.sort_indices()
        self.q, self.b, self.cones = q, b, cones
        self.solver = None

    def positions(self, rows, columns):
        """Where entries of A are kept."""
        marked = self.A.copy()
        marked.data = np.arange(len(marked.data)) + 1.0
        return (np.asarray(marked[rows, columns]).ravel() - 1).astype(int)

    def solve(self, q, data):
        """Objective and point at one context."""
        if self.solver is None:
            n = len(self.q)
            A = self.A.copy()
            A.data = np.array(data)
            empty = sp.csc_matrix((n, n))
            given = (empty, np.array(q), A, self.b, self.cones, settings())
            self.solver = clarabel.DefaultSolver(*given)
        elif q is None:
            self.solver.update(A=data)
        else:
            self.solver.update(q=q, A=data)
        found = self.solver.solve()
        return found.obj_val, found.x


def portfolio(n):
    """Variables (w, t): maximise t, t <= location'w - |reach w|, w on the simplex."""
    A = np.zeros((2 + 2 * n, n + 1))
    A[0, :n] = 1
    A[1 : 1 + n, :n] = -np.eye(n)
    A[1 + n, :] = 1
    A[2 + n :, :n] = -np.eye(n)
    b = np.zeros(2 + 2 * n)
    b[0] = 1
    q = np.append(np.zeros(n), -1.0)
    cones = [
        clarabel.ZeroConeT(1),
        clarabel.NonnegativeConeT(n),
        clarabel.SecondOrderConeT(n + 1),
    ]
    raw = Raw(q, A, b, cones)
    at = raw.positions(np.full(n, 1 + n), np.arange(n))
    to = raw.positions(2 + n + np.arange(n), np.arange(n))

    def solve(location, reach):
        values = np.tile(raw.A.data, (len(location), 1))
        values[:, at], values[:, to] = -location, -reach
        rows = values.tolist()
        first = raw.q
        found = []
        for row in rows:
            value, _ = raw.solve(first if raw.solver is None else None, row)
            found.append(-value)
        return np.array(found)

    return solve


def flow(incidence, supply, kind):
    """Variables (f, s): location'f + s, s >= the reach's dual norm of f."""
    nodes, m = incidence.shape
    cone, rows = _norm_rows(m, kind)
    A = sp.vstack(
        [
            sp.hstack([incidence, sp.csc_matrix((nodes, 1))]),
            sp.hstack([-sp.eye(m), sp.csc_matrix((m, 1))]),
            rows,
        ]
    )
    b = np.concatenate([supply, np.zeros(A.shape[0] - nodes)])
    cones = [clarabel.ZeroConeT(nodes), clarabel.NonnegativeConeT(m), *cone]
    raw = Raw(np.append(np.zeros(m), 1.0), A, b, cones)
    base = nodes + m
    to = raw.positions(base + (1 if kind == "l2" else 0) + np.arange(m), np.arange(m))

    def solve(location, reach):
        values = np.tile(raw.A.data, (len(location), 1))
        values[:, to] = -reach if kind == "l2" else reach
        costs = np.hstack([location, np.ones((len(location), 1))]).tolist()
        pairs = zip(costs, values.tolist(), strict=True)
        return np.array([raw.solve(q, data)[0] for q, data in pairs])

    return solve


def _norm_rows(m, kind):
    if kind == "l2":
        first = sp.csc_matrix(([-1.0], ([0], [m])), shape=(1, m + 1))
        rest = sp.hstack([-sp.eye(m), sp.csc_matrix((m, 1))])
        return [clarabel.SecondOrderConeT(m + 1)], sp.vstack([first, rest])
    # Flows are not negative, so |reach f| <= s is reach f <= s.
    return [clarabel.NonnegativeConeT(m)], sp.hstack([sp.eye(m), -np.ones((m, 1))])


def huber_flow(incidence, supply, budget, knee):
    """Variables (f, u, t): location'f + budget u + t, t >= |f|^2 / 2u, f <= knee u."""
    nodes, m = incidence.shape
    zero = sp.csc_matrix((nodes, 2))
    corner = sp.csc_matrix([[-1.0, -1.0], [-1.0, 1.0]])
    A = sp.vstack(
        [
            sp.hstack([incidence, zero]),
            sp.hstack([-sp.eye(m), sp.csc_matrix((m, 2))]),
            sp.hstack([sp.eye(m), -knee * np.ones((m, 1)), np.zeros((m, 1))]),
            sp.hstack([sp.csc_matrix((2, m)), corner]),
            sp.hstack([-np.sqrt(2) * sp.eye(m), sp.csc_matrix((m, 2))]),
        ]
    )
    b = np.concatenate([supply, np.zeros(A.shape[0] - nodes)])
    cones = [
        clarabel.ZeroConeT(nodes),
        clarabel.NonnegativeConeT(2 * m),
        clarabel.SecondOrderConeT(m + 2),
    ]
    raw = Raw(np.append(np.zeros(m), [budget, 1.0]), A, b, cones)

    def solve(location, budgets):
        rest = np.column_stack([budgets, np.ones(len(location))])
        costs = np.hstack([location, rest]).tolist()
        found = []
        for q in costs:
            if raw.solver is None:
                found.append(raw.solve(q, raw.A.data)[0])
            else:
                raw.solver.update(q=q)
                found.append(raw.solver.solve().obj_val)
        return np.array(found)

    return solve


def rows_lp(c, limit, k):
    """max c'x, location_i'x + |reach_i x| <= limit for k rows i, 0 <= x <= 1."""
    n = len(c)
    A = sp.vstack(
        [
            -sp.eye(n),
            sp.eye(n),
            *[sp.vstack([np.ones((1, n)), -sp.eye(n)]) for _ in range(k)],
        ]
    )
    b = np.concatenate([np.zeros(n), np.ones(n)] + [np.append(limit, np.zeros(n))] * k)
    cones = [clarabel.NonnegativeConeT(2 * n)]
    cones += [clarabel.SecondOrderConeT(n + 1)] * k
    raw = Raw(-c, A, b, cones)
    start = 2 * n + (n + 1) * np.arange(k)
    at = raw.positions(np.repeat(start, n), np.tile(np.arange(n), k))
    inner = (start[:, None] + 1 + np.arange(n)).ravel()
    to = raw.positions(inner, np.tile(np.arange(n), k))

    def solve(location, reach):
        values = np.tile(raw.A.data, (len(location), 1))
        values[:, at], values[:, to] = location, -reach
        found = []
        for row in values.tolist():
            found.append(-raw.solve(raw.q if raw.solver is None else None, row)[0])
        return np.array(found)

    return solve


def resolved(matrices, sign):
    """A live solver on matrices that CVXPY has made, one set a context."""
    first = matrices[0]
    cones = _cones(first["dims"])
    n, upper = len(first["c"]), sp.triu
    quadratic = [m["P"] if "P" in m else sp.csc_matrix((n, n)) for m in matrices]
    parts = [
        (
            upper(P, format="csc").data.tolist(),
            m["c"].tolist(),
            sp.csc_matrix(m["A"]).data.tolist(),
            m["b"].tolist(),
        )
        for P, m in zip(quadratic, matrices, strict=True)
    ]
    pattern = sp.csc_matrix(first["A"])
    P = upper(quadratic[0], format="csc")
    given = (P, first["c"], pattern, first["b"], cones, settings())
    solver = clarabel.DefaultSolver(*given)
    offsets = [m.get("offset", 0.0) for m in matrices]

    def solve(rows):
        values = []
        for i in rows:
            if len(parts[i][2]) != len(pattern.data):
                raise ValueError("the pattern changes with the context")
            solver.update(P=parts[i][0], q=parts[i][1], A=parts[i][2], b=parts[i][3])
            values.append(sign * (solver.solve().obj_val + offsets[i]))
        return np.array(values)

    return solve


def _cones(dims):
    cones = []
    if dims.zero:
        cones.append(clarabel.ZeroConeT(dims.zero))
    if dims.nonneg:
        cones.append(clarabel.NonnegativeConeT(dims.nonneg))
    cones += [clarabel.SecondOrderConeT(size) for size in dims.soc]
    cones += [clarabel.ExponentialConeT()] * dims.exp
    cones += [clarabel.PowerConeT(exponent) for exponent in dims.p3d]
    return cones
