"""Whether a ray proves that a program has no solution.

    A' z = 0,  z in K*,  b' z < 0:             nothing is feasible (Farkas);
    P x = 0,  -A x in K,  q' x < 0:            nothing feasible is the best.

An interior point gives rays to eight digits, which prove nothing: with A' z = 1e-8 a
point of size 1e8 may be feasible. So a ray is first made exact, and then holds, or is
refused: multipliers are put into their cones; what is left of A' z is taken back by the
multipliers that are there, and by bounds of single variables; and each entry must then
be rounding beside the terms it is the sum of. So it is in any unit of rows and columns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .membership import KINDS, change_into_cone, change_into_dual, curved_cones
from .products import quadratic, sizes, times, transposed
from .program import ProgramData, rows_of

Flags = npt.NDArray[np.bool_]

#: Share of its terms that an entry may be off, and that a price must be, so that a
#: program which a solver's tolerance makes feasible is not called infeasible.
EXACT, MARGIN = 1e-12, 1e-5
#: Numbers of a matrix up to which a ray is made exact by solving for a correction,
#: rounds of that, and numbers of matrices that are worked on together.
MOST, ROUNDS, BLOCK = 4_000_000, 3, 1_000_000
#: What rounding may do to a length.
ROUNDED = 1e-14
#: What makes systems regular: a share of their diagonal.
RIDGE = 1e-13
#: Share of the largest entry below which an entry of a ray is none, and share of its
#: terms up to which a row counts as kept with equality.
NOTHING, NEAR = 1e-7, 1e-5


def infeasible(data: ProgramData, z: Array) -> Flags:
    """Which multipliers, shape (n, rows), prove that nothing is feasible: (n,)."""
    with np.errstate(all="ignore"):
        z = _in_dual_cones(data, z / np.abs(z).max(axis=1, keepdims=True))
        proved = _is_farkas(data, z)
        # Numbers of one context's matrix, and how many contexts are corrected together.
        numbers = data.program.height * data.program.width
        step = max(1, BLOCK // max(1, numbers))
        rest = np.flatnonzero(~proved & np.isfinite(z).all(axis=1))
        for start in range(0, len(rest) * (numbers <= MOST), step):
            rows = rest[start : start + step]
            some = data.at(rows)
            better = _in_dual_cones(some, _corrected(some, z[rows]))
            proved[rows] = _is_farkas(some, better)
    return proved


def unbounded(data: ProgramData, x: Array) -> Flags:
    """Which directions, shape (n, nx), improve without end: (n,)."""
    with np.errstate(all="ignore"):
        x = x / np.abs(x).max(axis=1, keepdims=True)
        x = np.where(np.abs(x) < NOTHING, 0.0, x)
        proved = _is_direction(data, x)
        if data.program.height * data.program.width <= MOST:
            for i in np.flatnonzero(~proved & np.isfinite(x).all(axis=1)).tolist():
                here = data.at([i])
                proved[i] = _is_direction(here, _straightened(here, x[i])[None])[0]
    return proved


def _is_farkas(data: ProgramData, z: Array) -> Flags:
    """Whether z, which lies in the dual cones, is exact, bounds being used."""
    z = _with_bounds(data, z)
    price = data.b.rows() * z
    off = np.abs(transposed(data, z))
    exact = (off <= EXACT * transposed(sizes(data), np.abs(z))).all(axis=1)
    paid = price.sum(axis=1) < -MARGIN * np.abs(price).sum(axis=1)
    return np.asarray(exact & paid & np.isfinite(z).all(axis=1))


def _with_bounds(data: ProgramData, z: Array) -> Array:
    """What is left of A' z taken back by rows of one entry, which bound a variable."""
    program, z = data.program, z.copy()
    left = transposed(data, z)
    entries = np.bincount(program.indices, minlength=program.height)
    alone = np.flatnonzero(entries[program.indices] == 1)
    at = program.indices[alone]
    kept = np.flatnonzero(_rows_of_kind(data, "nonneg")[at])
    values = data.A.rows()[:, alone[kept]]
    for k, (entry, row) in enumerate(zip(alone[kept], at[kept], strict=True)):
        j, slope = program.columns[entry], values[:, k]
        # A multiplier grows; what shall shrink is the matter of `_corrected`.
        step = np.where(slope * left[:, j] < 0, -left[:, j] / slope, 0.0)
        z[:, row] += step
        left[:, j] += slope * step
    return z


def _corrected(data: ProgramData, z: Array) -> Array:
    """Multipliers, corrected where they are, by least squares."""
    program = data.program
    A = np.zeros((len(data), program.height, program.width))
    A[:, program.indices, program.columns] = data.A.rows()
    free, signed = _rows_of_kind(data, "zero"), _rows_of_kind(data, "nonneg")
    # What a multiplier is worth beside the largest term of its columns.
    sizes = np.abs(A)
    largest = (sizes * np.abs(z)[:, :, None]).max(axis=1, initial=0.0)
    worth = sizes / np.where(largest > 0, largest, np.inf)[:, None]
    unit = 1 / worth.max(axis=2, initial=0.0)
    terms = np.abs(z) * sizes.max(axis=2, initial=0.0)
    tiny = np.abs(z) < NOTHING * unit
    # The only entry of its column is worth all of it: beside all others it may not be.
    tiny |= terms < NOTHING * terms.max(axis=1, keepdims=True)
    z = np.where(tiny & signed, 0.0, z)
    start = 0
    for kind, number in program.cones:
        cone = slice(start, start + rows_of(kind, number))
        # A cone's multipliers are nothing all together.
        gone = tiny[:, cone].all(axis=1) & (kind in ("soc", *KINDS))
        z[gone, cone] = 0.0
        start = cone.stop
    small = tiny & np.isfinite(unit)
    for kind, _, places in curved_cones(program.cones):
        points = z[:, places]
        flat = _on_face(kind, points.reshape(-1, 3), small[:, places].reshape(-1, 3))
        z[:, places] = flat.reshape(points.shape)
    weights = np.where(free & np.isfinite(unit), unit**2, 0.0)
    weights = np.where(signed, z**2, weights)
    turned = np.swapaxes(A, 1, 2)
    matrix = (turned * weights[:, None]) @ A
    scale = np.sqrt(np.einsum("ijj->ij", matrix))
    scale = np.where(scale > 0, scale, 1.0)
    matrix = matrix / scale[:, None] / scale[:, :, None]
    matrix += RIDGE * np.eye(program.width)
    for _ in range(ROUNDS):
        left = (turned @ z[:, :, None])[:, :, 0] / scale
        step = np.linalg.solve(matrix, left[:, :, None])[:, :, 0] / scale
        z = z - weights * (A @ step[:, :, None])[:, :, 0]
        z = np.where(signed, np.maximum(z, 0.0), z)
    return z


def _straightened(data: ProgramData, x: Array) -> Array:
    """A direction of one context, along the rows that it is to keep with equality."""
    P, _, A, _ = data.matrices(0)
    A, curved = A.toarray(), P.toarray()
    curved = curved + np.triu(curved, 1).T
    product, terms = A @ x, np.abs(A) @ np.abs(x)
    tight = _rows_of_kind(data, "zero")
    tight |= _rows_of_kind(data, "nonneg") & (product > -NEAR * terms)
    rows = np.vstack([A[tight], curved])
    for _ in range(ROUNDS):
        x = x - rows.T @ _solved(rows @ rows.T, rows @ x)
    return x


def _solved(matrix: Array, right: Array) -> Array:
    """A least solution of a system M y = right, M of squares and maybe singular."""
    size = np.sqrt(np.diag(matrix))
    size = np.where(size > 0, size, 1.0)
    try:
        scaled = matrix / size / size[:, None]
        return np.asarray(np.linalg.lstsq(scaled, right / size, rcond=1e-13)[0] / size)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)


def _is_direction(data: ProgramData, x: Array) -> Flags:
    """Whether x improves the objective and leaves no cone, but for rounding."""
    absolute = sizes(data)
    product, terms = times(data, x), EXACT * times(absolute, np.abs(x))
    bent, own = np.abs(quadratic(data, x)), quadratic(absolute, np.abs(x))
    kept, start = (bent <= EXACT * own).all(axis=1), 0
    for kind, number in data.program.cones:
        rows = slice(start, start + rows_of(kind, number))
        moved, room = -product[:, rows], terms[:, rows]
        if kind == "zero":
            kept &= (np.abs(moved) <= room).all(axis=1)
        elif kind == "nonneg":
            kept &= (moved >= -room).all(axis=1)
        elif kind == "soc":
            length = np.sqrt(np.sum(moved[:, 1:] ** 2, axis=1))
            kept &= length <= moved[:, 0] + room[:, 0] + EXACT * length
        elif kind in KINDS:
            kept &= (np.abs(change_into_cone(kind, number, moved)) <= room).all(axis=1)
        else:
            kept &= False
        start = rows.stop
    gain = data.q.rows()[:, :-1] * x
    paid = gain.sum(axis=1) < -MARGIN * np.abs(gain).sum(axis=1)
    return np.asarray(kept & paid & np.isfinite(x).all(axis=1))


def _in_dual_cones(data: ProgramData, z: Array) -> Array:
    """The multipliers, moved into the dual cones; nan where those are unknown."""
    z, start = z.copy(), 0
    for kind, number in data.program.cones:
        rows = slice(start, start + rows_of(kind, number))
        if kind == "nonneg":
            z[:, rows] = np.maximum(z[:, rows], 0.0)
        elif kind == "soc":
            length = np.sqrt(np.sum(z[:, start + 1 : rows.stop] ** 2, axis=1))
            z[:, start] = np.maximum(z[:, start], length * (1 + ROUNDED))
        elif kind not in ("zero", *KINDS):
            # A multiplier of zero lies in any cone.
            z[:, rows] = np.where((z[:, rows] == 0).all(axis=1)[:, None], 0.0, np.nan)
        start = rows.stop
    for kind, number, places in curved_cones(data.program.cones):
        points = z[:, places]
        moved = _inside(kind, number, points.reshape(-1, 3))
        z[:, places] = moved.reshape(points.shape)
    return z


def _on_face(kind: str, z: Array, tiny: Flags) -> Array:
    """Multipliers of one cone, on a face of its dual if that is next to nothing away.

    Of a power cone (0, v, 0) and (u, 0, 0), of an exponential one (0, v, w).
    """
    z = np.where(tiny, 0.0, z)
    if kind == "power":
        z[:, 2] = np.where(tiny[:, :2].any(axis=1), 0.0, z[:, 2])
        return z
    flat = tiny[:, 0, None]
    z[:, 1:] = np.where(flat, np.maximum(z[:, 1:], 0.0), z[:, 1:])
    return z


def _inside(kind: str, number: float, z: Array) -> Array:
    """Multipliers of one cone, moved into its dual, and a little further."""
    z = z + change_into_dual(kind, number, z)
    size = np.abs(z)
    if kind == "power":
        # The product of powers grows at least as fast as the less of the two.
        z[:, :2] *= 1 + ROUNDED
        return z
    # Rounding of the exponent is a share of w; where u is zero nothing has to be done.
    steep = np.divide(size[:, 1], size[:, 0], out=np.zeros(len(z)), where=z[:, 0] < 0)
    z[:, 2] *= 1 + ROUNDED * (1 + steep)
    return z


def _rows_of_kind(data: ProgramData, kind: str) -> Flags:
    parts = [np.zeros(0, dtype=bool)]
    parts += [np.full(rows_of(*cone), cone[0] == kind) for cone in data.program.cones]
    return np.concatenate(parts)
