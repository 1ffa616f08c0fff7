"""Uniform outcomes and volumes of convex sets that have no formula for them.

Everything here asks a set only for membership, worst cases and the directions of its
affine hull. Accuracy is that of a seeded Monte-Carlo run, never of a closed form.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Array

if TYPE_CHECKING:
    from .base import UncertaintySet

#: Relative slack with which a step of the sampler counts as inside.
SLACK = 1e-8


def middle(region: UncertaintySet) -> Array:
    """A point of the relative interior of a bounded convex set, shape (dim,).

    The mean of worst cases is in the relative interior once they span the affine
    hull, so directions they leave flat are asked for until there are none.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> middle(Box([-1.0, -2.0], [1.0, 2.0]))
    array([0., 0.])
    """
    flat = basis = region.hull_basis()
    ends: list[Array] = []
    while flat.shape[1] > 0:
        ends += [region.maximiser(sign * axis) for axis in flat.T for sign in (1, -1)]
        spread = (np.array(ends) - np.mean(ends, axis=0)) @ basis
        _, sizes, axes = np.linalg.svd(spread)
        rank = int((sizes > 1e-6 * max(float(sizes[0]), 1e-300)).sum())
        remaining = basis @ axes[rank:].T
        if remaining.shape[1] == flat.shape[1] and flat is not basis:
            break
        flat = remaining
    if not ends:
        return region.maximiser(np.zeros(region.dim))
    return np.asarray(np.mean(ends, axis=0))


def hit_and_run(region: UncertaintySet, size: int, rng: np.random.Generator) -> Array:
    """Nearly uniform outcomes of a bounded convex set, shape (size, dim).

    As many independent chains as outcomes, each from one interior point (Smith,
    1984). The point on each chord is drawn by shrinking an interval until it lands
    inside, which keeps the uniform law without knowing where the chord ends.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> square = Box([0.0, 0.0], [2.0, 4.0])
    >>> draws = hit_and_run(square, 50, np.random.default_rng(0))
    >>> bool(square.contains(draws).all())
    True
    """
    basis = region.hull_basis()
    points = np.tile(region.interior_point(), (size, 1))
    if basis.shape[1] == 0 or size == 0:
        return points
    widths = _widths(region, basis)
    reach = float(np.linalg.norm(widths))
    for _ in range(30 + 10 * basis.shape[1]):
        # Steps in proportion to the widths mix well in flat sets too.
        step = (rng.normal(size=(size, basis.shape[1])) * widths) @ basis.T
        length = np.linalg.norm(step, axis=1, keepdims=True)
        step /= np.where(length > 0, length, 1.0)
        points = _chord_step(region, points, step, reach, rng)
    return points


def polar_volume(region: UncertaintySet, directions: int = 16_000) -> float:
    """Volume of a bounded convex set within its affine hull, to about one per cent.

    In polar coordinates the volume is that of the unit ball times the mean of
    reach(direction)^k over uniform directions, for a set star-shaped around its
    interior point. Stretching each axis to comparable width tames the variance.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> bool(abs(polar_volume(Box([0.0, 0.0], [2.0, 4.0])) - 8.0) < 0.2)
    True
    """
    basis = region.hull_basis()
    k = basis.shape[1]
    widths = _widths(region, basis)
    if k == 0 or (widths <= 0).any():
        return 0.0
    from scipy.special import gammaln

    rng = np.random.default_rng(0)
    angle = rng.normal(size=(directions, k))
    angle /= np.linalg.norm(angle, axis=1, keepdims=True)
    reach = _reach(region, region.interior_point(), (angle * widths) @ basis.T)
    log_unit = k / 2 * np.log(pi) - gammaln(k / 2 + 1)
    return float(np.mean(reach**k) * np.exp(log_unit) * np.prod(widths))


def _widths(region: UncertaintySet, basis: Array) -> Array:
    return np.array([region.maximum(axis) + region.maximum(-axis) for axis in basis.T])


def _chord_step(
    region: UncertaintySet,
    points: Array,
    step: Array,
    reach: float,
    rng: np.random.Generator,
) -> Array:
    """One point, uniform on the chord through each point along its step."""
    low, high = np.full(len(points), -reach), np.full(len(points), reach)
    moved = points.copy()
    waiting = np.arange(len(points))
    for _ in range(200):
        if waiting.size == 0:
            break
        shift = rng.uniform(low[waiting], high[waiting])
        trial = points[waiting] + shift[:, None] * step[waiting]
        inside = np.asarray(region.membership(trial, SLACK), dtype=bool)
        moved[waiting[inside]] = trial[inside]
        ahead = ~inside & (shift > 0)
        high[waiting[ahead]] = shift[ahead]
        behind = ~inside & (shift <= 0)
        low[waiting[behind]] = shift[behind]
        waiting = waiting[~inside]
    return moved


def _reach(region: UncertaintySet, center: Array, step: Array) -> Array:
    """How many steps lead from the center to the boundary, by bisection."""
    # Every step is at least 1/sqrt(k) of the width along one axis, so no point
    # further than sqrt(k) steps is inside.
    low = np.zeros(len(step))
    high = np.full(len(step), np.sqrt(step.shape[1]))
    for _ in range(30):
        half = (low + high) / 2
        inside = np.asarray(
            region.membership(center + half[:, None] * step, 0.0), dtype=bool
        )
        low, high = np.where(inside, half, low), np.where(inside, high, half)
    return low
