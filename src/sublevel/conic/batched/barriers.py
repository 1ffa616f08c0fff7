"""Compiled: barriers of the exponential and the power cone, and of their duals.

    exponential   y exp(x / y) <= z, y > 0      dual  -u exp(v / u - 1) <= w, u < 0
    power         x^a y^(1-a) >= |z|            dual  (u/a)^a (v/(1-a))^(1-a) >= |w|

The barrier of a dual is f = -log psi - c1 log |u| - c2 log |v| - c3 log |w| with

    exponential   psi = v - u - u log(-w / u)                     c = (1, 0, 1)
    power         psi = (u/a)^2a (v/(1-a))^(2-2a) - w^2           c = (1 - a, a, 0)

so that g, G and T, the first three derivatives of psi, give those of f. The shadow of a
point z of the dual is -f'(z), which lies in the cone; that of a point s of the cone is
the z whose shadow it is. An exponent of zero stands for the exponential cone.
"""

from __future__ import annotations

from typing import Any

from ..compiled import inlined, part
from .elementary import exponential, logarithm, logarithm_above_one
from .lanes import any_less, choose_less, fma, root, size, splat

#: Iterations for the shadow of a point of a power cone at most, and the share of a
#: number that the last one may change.
MOST, SHARE = 30, 1e-13
#: What is smaller counts as this, where something is divided by it.
TINY = 1e-100


@inlined
def positive(a: Any, b: Any, value: Any) -> Any:
    """The value where a and b are positive, less than nothing elsewhere."""
    return choose_less(0.0, a, choose_less(0.0, b, value, splat(-1.0)), splat(-1.0))


@inlined
def _mean(exponent: float, x: Any, y: Any) -> Any:
    """x^a y^(1-a)."""
    return exponential(
        fma(logarithm(x), exponent, logarithm(y) * (1.0 - exponent)),
    )


@part
def inside(exponent: float, x: Any, y: Any, z: Any) -> Any:
    """More than zero where a point is inside the cone."""
    if exponent == 0.0:
        return positive(y, z, y * logarithm(z / y) - x)
    return positive(x, y, _mean(exponent, x, y) - size(z))


@part
def level(exponent: float, u: Any, v: Any, w: Any) -> Any:
    """The logarithm, or the product of powers, in psi; and psi.

    Psi is more than zero where a point is inside the dual cone, and nowhere else.
    """
    if exponent == 0.0:
        power = logarithm(w / -u)
        return power, positive(-u, w, fma(-u, power, v - u))
    half = _mean(exponent, u * (1.0 / exponent), v * (1.0 / (1.0 - exponent)))
    # The difference of two squares, without cancellation.
    value = (half - size(w)) * (half + size(w))
    return half * half, positive(u, v, value)


@inlined
def weights(exponent: float) -> Any:
    """c1, c2 and c3."""
    if exponent == 0.0:
        return 1.0, 0.0, 1.0
    return 1.0 - exponent, exponent, 0.0


@inlined
def inverses(exponent: float, u: Any, v: Any, w: Any) -> Any:
    """One over each number that has a logarithm in f, 0 for the one that has none."""
    zero = splat(0.0)
    if exponent == 0.0:
        return 1.0 / u, zero, 1.0 / w
    return 1.0 / u, 1.0 / v, zero


@part
def slopes(exponent: float, u: Any, v: Any, w: Any, power: Any, over: Any) -> Any:
    """The gradient g of psi."""
    if exponent == 0.0:
        return -power, splat(1.0), -u * over[2]
    twice = power + power
    return (
        twice * exponent * over[0],
        twice * (1.0 - exponent) * over[1],
        -(w + w),
    )


@part
def curves(exponent: float, u: Any, power: Any, over: Any) -> Any:
    """Entries 11, 12, 22, 13 and 33 of the Hessian G of psi; 23 is zero."""
    zero = splat(0.0)
    if exponent == 0.0:
        return over[0], zero, zero, -over[2], u * over[2] * over[2]
    one, other = 2.0 * exponent * over[0], 2.0 * (1.0 - exponent) * over[1]
    return (
        power * one * (one - over[0]),
        power * one * other,
        power * other * (other - over[1]),
        zero,
        splat(-2.0),
    )


@part
def hessian(c: Any, over: Any, psi: Any, g: Any, G: Any) -> Any:
    """Entries 11, 12, 22, 13, 23 and 33 of f''."""
    by = 1.0 / psi
    g1, g2, g3 = g[0] * by, g[1] * by, g[2] * by
    return (
        fma(g1, g1, c[0] * over[0] * over[0] - G[0] * by),
        fma(g1, g2, -G[1] * by),
        fma(g2, g2, c[1] * over[1] * over[1] - G[2] * by),
        fma(g1, g3, -G[3] * by),
        g2 * g3,
        fma(g3, g3, c[2] * over[2] * over[2] - G[4] * by),
    )


@inlined
def times(H: Any, v: Any) -> Any:
    """A symmetric matrix of entries 11, 12, 22, 13, 23, 33 times a vector."""
    return (
        fma(H[0], v[0], fma(H[1], v[1], H[3] * v[2])),
        fma(H[1], v[0], fma(H[2], v[1], H[4] * v[2])),
        fma(H[3], v[0], fma(H[4], v[1], H[5] * v[2])),
    )


@inlined
def dot(a: Any, b: Any) -> Any:
    """The inner product of two vectors of three."""
    return fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2]))


@inlined
def _third(exponent: float, u: Any, power: Any, over: Any, a: Any, b: Any) -> Any:
    """T[a, b], the third derivative of psi along a and b."""
    if exponent == 0.0:
        o1, o3 = over[0] * over[0], over[2] * over[2]
        last = a[2] * b[2]
        mixed = fma(a[0], b[2], a[2] * b[0])
        return (
            fma(last, o3, -(a[0] * b[0] * o1)),
            splat(0.0),
            o3 * fma(-(u + u) * over[2], last, mixed),
        )
    one, other = 2.0 * exponent * over[0], 2.0 * (1.0 - exponent) * over[1]
    less_one, less_other = one - over[0], other - over[1]
    first, second = a[0] * b[0], a[1] * b[1]
    mixed = fma(a[0], b[1], a[1] * b[0])
    T112 = one * less_one * other
    T122 = one * other * less_other
    T111 = one * less_one * (less_one - over[0])
    T222 = other * less_other * (less_other - over[1])
    return (
        power * fma(T111, first, fma(T112, mixed, T122 * second)),
        power * fma(T112, first, fma(T122, mixed, T222 * second)),
        splat(0.0),
    )


@part
def half_third(
    exponent: float, u: Any, power: Any, psi: Any, over: Any, g: Any, a: Any, b: Any
) -> Any:
    """Half of f'''[a, b]."""
    G, c = curves(exponent, u, power, over), weights(exponent)
    whole = G[0], G[1], G[2], G[3], splat(0.0), G[4]
    by = 1.0 / psi
    ga, gb = dot(g, a) * by, dot(g, b) * by
    Ga, Gb = times(whole, a), times(whole, b)
    along = by * fma(-2.0 * ga, gb, dot(Ga, b) * by)
    T = _third(exponent, u, power, over, a, b)
    return (
        _half(
            along, g[0], by, gb * Ga[0] + ga * Gb[0], T[0], c[0], over[0], a[0] * b[0]
        ),
        _half(
            along, g[1], by, gb * Ga[1] + ga * Gb[1], T[1], c[1], over[1], a[1] * b[1]
        ),
        _half(
            along, g[2], by, gb * Ga[2] + ga * Gb[2], T[2], c[2], over[2], a[2] * b[2]
        ),
    )


@inlined
def _half(
    along: Any, g: Any, by: Any, mixed: Any, T: Any, c: float, over: Any, ab: Any
) -> Any:
    wall = (2.0 * c) * over * over * over * ab
    return 0.5 * (fma(along, g, by * (mixed - T)) - wall)


@part
def shadow_of_slack(exponent: float, x: Any, y: Any, z: Any) -> Any:
    """The point of the dual whose shadow (x, y, z) is, a point inside the cone."""
    if exponent == 0.0:
        over_y = 1.0 / y
        ratio = logarithm(z * over_y)
        depth = fma(-x, over_y, ratio)
        p = _excess(depth)
        first = -over_y / p
        # With omega = 1 + p, log(omega) = depth - p.
        second = fma(first, 1.0 + depth - p - ratio, over_y)
        return first, second, (1.0 + p) / (p * z)
    length = size(z)
    length = choose_less(length, TINY, splat(TINY), length)
    product = _mean(exponent, x, y)
    share = length / product
    r = _ratio(exponent, share * share, -2.0 * logarithm(share))
    return (
        fma(r, 2.0 * exponent, 1.0 + exponent) / x,
        fma(r, 2.0 * (1.0 - exponent), 2.0 - exponent) / y,
        -(r + r) * z / (length * length),
    )


@inlined
def _excess(depth: Any) -> Any:
    """P > 0 with p + log(1 + p) = depth > 0: Wright's omega of 1 + depth, less one.

    A series where the depth is small, an expansion elsewhere, then two steps of the
    fourth order (Lawrence, Corless and Jeffrey 2012).
    """
    near = fma(depth, 13.0 / 61440.0, -1.0 / 3072.0)
    near = fma(depth, near, -1.0 / 192.0)
    near = fma(depth, near, 1.0 / 16.0)
    near = depth * fma(depth, near, 0.5)
    whole = 1.0 + depth
    log, over = logarithm(whole), 1.0 / whole
    far = depth - log
    by = log * over
    far = far + by
    by = by * over
    far = far + by * (0.5 * log - 1.0)
    p = choose_less(depth, 3.141592653589793, near, far)
    left = depth - p - logarithm_above_one(p)
    for _ in range(2):
        w = 1.0 + p
        more = 1.0 + w
        t = more * fma(left, 2.0 / 3.0, more)
        p = fma(w * left / more, (t - 0.5 * left) / (t - left), p)
        square = more * more
        ahead = 2.0 * w * w - 8.0 * w - 1.0
        left = left * left
        left = left * left * ahead / (72.0 * square * square * square)
    return p


@inlined
def _ratio(exponent: float, q: Any, depth: Any) -> Any:
    """R = w^2 / psi at the shadow of a point with z^2 / (x^a y^(1-a))^2 = q < 1.

    With t = 1 / r it is the zero of depth + log(1 + t) - 2 a log(1 + t a1 / 2) -
    2 (1 - a) log(1 + t a2 / 2), depth = -log q, a1 = 1 + 1 / a, a2 = 1 + 1 / (1 - a),
    which falls and is convex: steps of Newton from its left stay there. By Jensen's
    inequality the zero for a1 = a2 = 3 is such a start.
    """
    one, other = 0.5 + 0.5 / exponent, 0.5 + 0.5 / (1.0 - exponent)
    left, middle = 1.0 - q, 1.0 - 3.0 * q
    reach = root(fma(middle, middle, 9.0 * q * left))
    small = (middle + reach) / (4.5 * q)
    large = (left + left) / (reach - middle)
    t = choose_less(0.0, middle, small, large)
    # One where a lane still moves: a lane that is there waits for the others as it is.
    wants = splat(1.0)
    for _ in range(MOST):
        value = depth + logarithm_above_one(t)
        value = value - (2.0 * exponent) * logarithm_above_one(one * t)
        value = value - (2.0 - 2.0 * exponent) * logarithm_above_one(other * t)
        slope = 1.0 / (1.0 + t) - (2.0 * exponent * one) / (1.0 + one * t)
        slope = slope - ((2.0 - 2.0 * exponent) * other) / (1.0 + other * t)
        step = -value / slope
        t = choose_less(0.5, wants, t + step, t)
        wants = choose_less(t * SHARE, size(step), wants, splat(0.0))
        if not any_less(0.5, wants):
            break
    return 1.0 / t
