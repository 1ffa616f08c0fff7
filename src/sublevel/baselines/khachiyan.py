"""The smallest ellipsoid around points: Khachiyan's algorithm with away steps.

The ellipsoid of least volume around y_1, ..., y_k in m dimensions has centre
c = sum u_i y_i and shape m sum u_i (y_i - c)(y_i - c)', where the weights u maximise

    log det sum_i u_i q_i q_i',   q_i = (y_i, 1),

over the simplex. At the maximum q_i' M^-1 q_i, with M the sum, is at most m + 1 and
equals it where u_i > 0. Each step moves weight to the point where it is largest
(Khachiyan 1996) or away from the one where it is least (Todd & Yildirim 2007), with the
exact step length; M^-1 follows by rank-one updates. Many clouds are solved at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray, as_numbers, require_positive, require_sized
from ..errors import InvalidParameter, SolverFailed

#: Steps after which M^-1 is computed afresh, and finished clouds are put aside.
REFRESH = 50
#: Steps after which the clouds that are left are given up.
MOST_STEPS = 200_000
#: Numbers of the clouds solved together: many share the overhead, few fit the cache.
TOGETHER = 500_000


def enclosing_ellipsoids(
    clouds: npt.ArrayLike, tol: float = 1e-4
) -> tuple[Array, Array]:
    """Centres and lower-triangular factors of the smallest ellipsoids around clouds.

    The ellipsoid is { centre + factor z : ||z|| <= 1 }. It holds every point, and its
    volume exceeds the least possible by a factor of at most 1 + tol.

    Parameters
    ----------
    clouds : array of shape (n, k, m)
        n clouds of k points, each of which spans all m dimensions.
    tol : float
        Relative error of the volume.

    Returns
    -------
    arrays of shape (n, m) and (n, m, m)

    Examples
    --------
    >>> square = np.array([[[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]])
    >>> centres, factors = enclosing_ellipsoids(square)
    >>> centres.round(3) + 0.0, factors[0].round(3)
    (array([[0., 0.]]), array([[1.414, 0.   ], [0.   , 1.414]]))
    """
    clouds = as_numbers("enclosing_ellipsoids", "clouds", clouds)
    if clouds.ndim != 3:
        raise InvalidParameter(
            "enclosing_ellipsoids(clouds) must be of shape (n, k, m), got "
            f"{clouds.shape}."
        )
    require_positive("enclosing_ellipsoids", tol=tol)
    if not np.isfinite(clouds).all():
        raise InvalidParameter(
            "enclosing_ellipsoids(clouds) must be finite, got nan or infinity."
        )
    require_sized("enclosing_ellipsoids", "clouds", clouds)
    n, k, m = clouds.shape
    centres, factors = np.empty((n, m)), np.empty((n, m, m))
    # With q'M^-1 q at most (1 + eps)(m + 1), log volume is at most (m + 1) eps / 2 off.
    gap = 2 * tol / (m + 1)
    count = max(1, TOGETHER // (k * (m + 1)))
    for start in range(0, n, count):
        part = slice(start, start + count)
        # Whitened, clouds of any units and elongation look alike.
        middle, root, inverse = _whitening(clouds[part])
        round_clouds = np.einsum("nij,nkj->nki", inverse, clouds[part] - middle)
        centre, factor = _around(round_clouds, _weights(round_clouds, gap))
        centres[part] = middle[:, 0] + np.einsum("nij,nj->ni", root, centre)
        factors[part] = root @ factor
    return centres, factors


def _whitening(clouds: Array) -> tuple[Array, Array, Array]:
    """Mean (n, 1, m), and lower-triangular root of the second moments, with inverse."""
    middle = clouds.mean(axis=1, keepdims=True)
    away = clouds - middle
    moments = np.einsum("nki,nkj->nij", away, away) / clouds.shape[1]
    try:
        root = np.linalg.cholesky(moments)
    except np.linalg.LinAlgError as error:
        raise InvalidParameter(
            "enclosing_ellipsoids(clouds) must hold points that span every dimension, "
            "got a flat cloud, whose least ellipsoid has no volume."
        ) from error
    return middle, root, np.linalg.inv(root)


def _around(clouds: Array, weights: Array) -> tuple[Array, Array]:
    """The ellipsoid of given weights, grown until it holds every point."""
    centre = np.einsum("nk,nki->ni", weights, clouds)
    away = clouds - centre[:, None]
    factor = np.linalg.cholesky(np.einsum("nk,nki,nkj->nij", weights, away, away))
    unit = np.linalg.solve(factor, away.transpose(0, 2, 1))
    reach = np.sqrt(np.max(np.sum(unit**2, axis=1), axis=1))
    return centre, factor * reach[:, None, None]


@dataclass
class _State:
    """Clouds on their way: lifted points q, weights u, M^-1 and q'M^-1 q."""

    lifted: Array
    weights: Array
    inverse: Array
    lengths: Array

    def kept(self, rows: BoolArray) -> _State:
        return _State(
            self.lifted[rows],
            self.weights[rows],
            self.inverse[rows],
            self.lengths[rows],
        )


def _start(lifted: Array, weights: Array) -> _State:
    moments = np.einsum("nki,nk,nkj->nij", lifted, weights, lifted)
    inverse = np.linalg.inv(moments)
    lengths = np.sum((lifted @ inverse) * lifted, axis=2)
    return _State(lifted, weights, inverse, lengths)


def _weights(clouds: Array, gap: float) -> Array:
    """Weights whose ellipsoids are within the gap of optimal, shape (n, k)."""
    n, k, _ = clouds.shape
    lifted = np.concatenate([clouds, np.ones((n, k, 1))], axis=2)
    weights, rows = np.full((n, k), 1 / k), np.arange(n)
    for _ in range(0, MOST_STEPS, REFRESH):
        state = _start(lifted[rows], weights[rows])
        for _ in range(REFRESH):
            open_rows = _excess(state) > gap
            if not open_rows.all():
                weights[rows[~open_rows]] = state.weights[~open_rows]
                rows, state = rows[open_rows], state.kept(open_rows)
            if not rows.size:
                return weights
            _step(state)
        weights[rows] = state.weights
    raise SolverFailed(
        f"enclosing_ellipsoids(clouds) found no ellipsoid in {MOST_STEPS} steps for "
        f"{rows.size} clouds. Do their points span every dimension?"
    )


def _excess(state: _State) -> Array:
    """How far the optimality conditions are from holding, relative."""
    size = state.lifted.shape[2]
    return np.asarray(np.max(state.lengths, axis=1) / size - 1)


def _step(state: _State) -> None:
    """One exact step of every cloud, towards a point or away from one."""
    rows, size = np.arange(len(state.weights)), state.lifted.shape[2]
    farthest = np.argmax(state.lengths, axis=1)
    nearest = np.argmin(np.where(state.weights > 0, state.lengths, np.inf), axis=1)
    towards = (
        state.lengths[rows, farthest] - size >= size - state.lengths[rows, nearest]
    )
    point = np.where(towards, farthest, nearest)
    length, weight = state.lengths[rows, point], state.weights[rows, point]
    # A point at the very centre has length 1: away from it as far as there is weight.
    with np.errstate(divide="ignore"):
        step = (length - size) / (size * (length - 1))
    # No weight below zero: a step away ends where the point has none left.
    emptied = ~towards & (step <= -weight / (1 - weight))
    step = np.where(emptied, -weight / (1 - weight), step)
    image = np.einsum("nij,nj->ni", state.inverse, state.lifted[rows, point])
    share = step / (1 - step + step * length)
    outer = share[:, None, None] * image[:, :, None] * image[:, None, :]
    across = np.einsum("nki,ni->nk", state.lifted, image)
    left = (1 - step)[:, None]
    state.inverse = (state.inverse - outer) / left[:, :, None]
    state.lengths = (state.lengths - share[:, None] * across**2) / left
    state.weights = state.weights * left
    state.weights[rows, point] += step
    state.weights[rows[emptied], point[emptied]] = 0.0
