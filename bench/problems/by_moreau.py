"""moreau solves a batch of cone programs at once: on CVXPY's own matrices.

They are read before the clock, as those of raw Clarabel are. It runs on the processor,
its threads counted; what it calls solved or almost solved is taken for solved.
"""

import numpy as np
import scipy.sparse as sp


def prepare(case):
    """A function of row numbers that gives objectives, or None."""
    if case.by_hand is None:
        return None
    matrices, sign = case.matrices()
    rows = [sp.csr_matrix(m["A"]) for m in matrices]
    squares = [sp.csr_matrix(_full(m)) for m in matrices]
    for own in (rows, squares):
        for other in own:
            other.sort_indices()
            if not np.array_equal(other.indices, own[0].indices):
                # Its batches have one pattern.
                return None
    q, b = (np.stack([m[part] for m in matrices]) for part in ("c", "b"))
    numbers = [np.stack([m.data for m in own]) for own in (squares, rows)]
    offsets = np.array([m.get("offset", 0.0) for m in matrices])
    solvers = {}

    def solve(wanted):
        wanted, size = np.asarray(wanted), len(wanted)
        if size not in solvers:
            solvers[size] = _solver(squares[0], rows[0], matrices[0]["dims"], size)
        solver = solvers[size]
        solver.setup(*(part[wanted] for part in numbers))
        solver.solve(q[wanted], b[wanted])
        value = sign * (np.array(solver.info.obj_val) + offsets[wanted])
        return np.where(_are_solved(solver.info.status), value, np.nan)

    return solve


def _full(matrices):
    """The quadratic part, all of it; CVXPY gives one only where there is one."""
    n = len(matrices["c"])
    return matrices["P"] if "P" in matrices else sp.csc_matrix((n, n))


def _solver(square, rows, dims, size):
    import moreau

    cones = moreau.Cones(
        num_zero_cones=dims.zero,
        num_nonneg_cones=dims.nonneg,
        so_cone_dims=list(dims.soc),
        num_exp_cones=dims.exp,
        power_alphas=list(dims.p3d),
    )
    return moreau.CompiledSolver(
        n=rows.shape[1],
        m=rows.shape[0],
        P_row_offsets=square.indptr,
        P_col_indices=square.indices,
        A_row_offsets=rows.indptr,
        A_col_indices=rows.indices,
        cones=cones,
        settings=moreau.Settings(batch_size=size, device="cpu"),
    )


def _are_solved(statuses):
    import moreau

    enough = moreau.SolverStatus.Solved, moreau.SolverStatus.AlmostSolved
    return np.array([status in enough for status in statuses])
