"""How far points lie outside an exponential or a power cone, and outside their duals.

    exponential   y exp(x / y) <= z, y > 0      or  y = 0, x <= 0, z >= 0
    its dual      -u exp(v / u - 1) <= w, u < 0  or  u = 0, v >= 0, w >= 0
    power         x^a y^(1-a) >= |z|, x, y >= 0
    its dual      (u/a)^a (v/(1-a))^(1-a) >= |w|, u, v >= 0

A point is outside by what has to be added to its numbers to bring it into the cone. Of
several ways there the one with the least change is taken: each of them proves as much.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..checks import Array
from .program import Indices, rows_of

#: Kinds of cones that are looked at here.
KINDS = ("exp", "power")


@lru_cache(maxsize=64)
def curved_cones(
    cones: tuple[tuple[str, float], ...],
) -> tuple[tuple[str, float, Indices], ...]:
    """Kind, number and rows, shape (k, 3), of those of some cones that are alike.

    Examples
    --------
    >>> curved_cones((("nonneg", 2), ("exp", 3), ("power", 0.5), ("exp", 3)))[0]
    ('exp', 3, array([[ 2,  3,  4],
           [ 8,  9, 10]]))
    """
    firsts: dict[tuple[str, float], list[int]] = {}
    start = 0
    for kind, size in cones:
        if kind in KINDS:
            firsts.setdefault((kind, size), []).append(start)
        start += rows_of(kind, size)
    return tuple(
        (*cone, np.array(places)[:, None] + np.arange(3))
        for cone, places in firsts.items()
    )


def change_into_cone(kind: str, size: float, v: Array) -> Array:
    """What brings points into a cone, shapes (n, 3); no numbers where nothing does.

    Examples
    --------
    >>> change_into_cone("power", 0.5, np.array([[1.0, 4.0, 2.5], [1.0, 4.0, -1.0]]))
    array([[ 0. ,  0. , -0.5],
           [ 0. ,  0. ,  0. ]])
    """
    with np.errstate(all="ignore"):
        return _into_exponential(v) if kind == "exp" else _into_power(v, size, 1.0, 1.0)


def change_into_dual(kind: str, size: float, v: Array) -> Array:
    """The same for the dual cone.

    Examples
    --------
    >>> change_into_dual("exp", 3, np.array([[-1.0, 1.0, 0.1], [0.0, 1.0, -0.5]]))
    array([[0.        , 0.        , 0.03533528],
           [0.        , 0.        , 0.5       ]])
    """
    with np.errstate(all="ignore"):
        if kind == "exp":
            return _into_dual_exponential(v)
        return _into_power(v, size, size, 1.0 - size)


def _into_exponential(v: Array) -> Array:
    x, y, z = v.T
    inside = (y > 0) & (z > 0)
    back = np.where(inside, np.minimum(y * np.log(z / y) - x, 0.0), np.nan)
    up = np.where(y > 0, np.maximum(y * np.exp(x / y) - z, 0.0), np.nan)
    nothing = np.zeros_like(x)
    flat = np.minimum(-x, 0.0), 0.0 - y, np.maximum(-z, 0.0)
    return _least([(back, nothing, nothing), (nothing, nothing, up), flat])


def _into_dual_exponential(v: Array) -> Array:
    u, v_, w = v.T
    inside = (u < 0) & (w > 0)
    across = np.maximum(u + u * np.log(-w / u) - v_, 0.0)
    across = np.where(inside, across, np.nan)
    up = np.where(u < 0, np.maximum(-u * np.exp(v_ / u - 1) - w, 0.0), np.nan)
    nothing = np.zeros_like(u)
    flat = 0.0 - u, np.maximum(-v_, 0.0), np.maximum(-w, 0.0)
    return _least([(nothing, across, nothing), (nothing, nothing, up), flat])


def _into_power(v: Array, exponent: float, unit: float, other: float) -> Array:
    x, y, z = v.T
    more_x, more_y = np.maximum(-x, 0.0), np.maximum(-y, 0.0)
    x, y = np.maximum(x, 0.0), np.maximum(y, 0.0)
    rest, length = 1.0 - exponent, np.abs(z)
    mean = (x / unit) ** exponent * (y / other) ** rest
    less = -np.sign(z) * np.maximum(length - mean, 0.0)
    own = unit * (length / (y / other) ** rest) ** (1 / exponent)
    its = other * (length / (x / unit) ** exponent) ** (1 / rest)
    nothing = np.zeros_like(x)
    return _least(
        [
            (more_x, more_y, less),
            (more_x + np.maximum(own - x, 0.0), more_y, nothing),
            (more_x, more_y + np.maximum(its - y, 0.0), nothing),
        ]
    )


def _least(ways: list[tuple[Array, Array, Array]]) -> Array:
    """The way with the least change, of each point."""
    every = np.stack([np.stack(way, axis=1) for way in ways])
    sizes = np.abs(every).max(axis=2)
    sizes = np.where(np.isfinite(sizes), sizes, np.inf)
    best = sizes.argmin(axis=0)
    chosen = every[best, np.arange(every.shape[1])]
    return np.where(np.isfinite(sizes.min(axis=0))[:, None], chosen, np.nan)
