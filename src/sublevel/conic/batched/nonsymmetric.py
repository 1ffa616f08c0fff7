"""Compiled: what steps need to know of exponential and power cones.

As in Clarabel: the scaling of Dahl and Andersen (2021), a matrix H of three rows with
H z = s and H z~ = s~, the shadows of s and z; mu f''(z), of the dual barrier f, where
that cannot be formed. Steps are corrected by the third derivative of f, and shortened
until they stay inside. A lane whose step got too short goes on with mu f''(z), and then
also stays near the central path.

Programs without such cones have none of this compiled: their `skew` is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from ..compiled import inlined, part
from .barriers import (
    curves,
    dot,
    half_third,
    hessian,
    inside,
    inverses,
    level,
    shadow_of_slack,
    slopes,
    times,
    weights,
)
from .elementary import logarithm
from .lanes import (
    WIDTH,
    any_less,
    at,
    choose_less,
    fma,
    load,
    number,
    put,
    root,
    size,
    splat,
    store,
)
from .plan import SKEW, Plan
from .walk import cone

#: Numbers kept of each cone: the shadow of z, the entries of f''(z), and what psi is
#: made of.
SHADOW, HESSIAN, POWER, PSI, PER_SKEW = 0, 3, 9, 10, 11
#: How much of a step is tried at first, by what it is shortened, the least, and tries.
FIRST, SHORTER, LEAST, TRIES = 0.99, 0.8, 1e-4, 45
#: A step from which on a lane changes the scaling, and how far from the central path
#: it may be after that.
SWITCH, NEAR = 0.1, 1.0
#: Differences that rounding alone may make.
ROUNDING, NOTHING = 1.5e-8, 2.3e-16
#: Where the barriers' gradients are minus the points themselves.
CENTRE = (-1.051383945322714, 0.556409619469370, 1.258967884768947)


class Skew(NamedTuple):
    """Number of the cones, and addresses: positions, exponents, room for the lanes.

    `dual` has a one for each lane that goes by mu f''(z).
    """

    cones: int
    place: int
    exponent: int
    kept: int
    dual: int


def skew_of(plan: Plan) -> tuple[Skew | None, Array]:
    """The cones of a plan, or None, and the memory that they live in."""
    count, vector = len(plan.skew), 8 * WIDTH
    memory = np.zeros((count * PER_SKEW + 2) * WIDTH if count else 0)
    if not count:
        return None, memory
    start = -(-memory.ctypes.data // vector) * vector
    return (
        Skew(
            count,
            int(plan.skew.ctypes.data),
            int(plan.exponent.ctypes.data),
            start + vector,
            start,
        ),
        memory,
    )


@inlined
def _place(skew: Any, c: int) -> Any:
    """First row of a cone, the slot of its first number off the diagonal, exponent."""
    return (
        at(skew.place, SKEW * c),
        at(skew.place, SKEW * c + 1),
        number(skew.exponent, c),
    )


@inlined
def _three(v: Any, start: int) -> Any:
    return load(v, start), load(v, start + 1), load(v, start + 2)


@inlined
def _put_three(v: Any, start: int, values: Any) -> None:
    store(v, start, values[0])
    store(v, start + 1, values[1])
    store(v, start + 2, values[2])


@part
def begin(plan: Any, skew: Any, room: Any, lane: int) -> None:
    """Put a lane at the centres of the cones."""
    put(skew.dual, lane, 0.0)
    for c in range(skew.cones):
        start, _, exponent = _place(skew, c)
        one, other, last = CENTRE
        if exponent > 0.0:
            one, other, last = np.sqrt(1.0 + exponent), np.sqrt(2.0 - exponent), 0.0
        for v in (room.s, room.z):
            put(v, start * WIDTH + lane, one)
            put(v, (start + 1) * WIDTH + lane, other)
            put(v, (start + 2) * WIDTH + lane, last)


@part
def rescale_skew(plan: Any, skew: Any, room: Any, mu: Any, flaw: Any) -> Any:
    """The scaling at (s, z), and its numbers in K; lanes without one are marked."""
    by_dual = load(skew.dual, 0)
    for c in range(skew.cones):
        start, off, exponent = _place(skew, c)
        s, z = _three(room.s, start), _three(room.z, start)
        power, psi = level(exponent, z[0], z[1], z[2])
        over = inverses(exponent, z[0], z[1], z[2])
        g = slopes(exponent, z[0], z[1], z[2], power, over)
        weight = weights(exponent)
        H = hessian(weight, over, psi, g, curves(exponent, z[0], power, over))
        by = 1.0 / psi
        shadow = (
            fma(g[0], by, weight[0] * over[0]),
            fma(g[1], by, weight[1] * over[1]),
            fma(g[2], by, weight[2] * over[2]),
        )
        first = c * PER_SKEW
        _put_three(skew.kept, first + SHADOW, shadow)
        _put_three(skew.kept, first + HESSIAN, (H[0], H[1], H[2]))
        _put_three(skew.kept, first + HESSIAN + 3, (H[3], H[4], H[5]))
        store(skew.kept, first + POWER, power)
        store(skew.kept, first + PSI, psi)
        other = shadow_of_slack(exponent, s[0], s[1], s[2])
        scaled = _both(s, z, shadow, other, H, by_dual, mu)
        flaw = choose_less(0.0, psi, flaw, 1.0)
        flaw = choose_less(0.0, inside(exponent, s[0], s[1], s[2]), flaw, 1.0)
        for entry in scaled:
            flaw = choose_less(size(entry), np.inf, flaw, 1.0)
        store(room.K, at(plan.diagonal, start), -scaled[0])
        store(room.K, at(plan.diagonal, start + 1), -scaled[2])
        store(room.K, at(plan.diagonal, start + 2), -scaled[5])
        store(room.K, off, -scaled[1])
        store(room.K, off + 1, -scaled[3])
        store(room.K, off + 2, -scaled[4])
    return flaw


@inlined
def _outer(total: Any, by: Any, a: Any) -> Any:
    """The matrix, and `by` times a a'."""
    one, other, last = by * a[0], by * a[1], by * a[2]
    return (
        fma(one, a[0], total[0]),
        fma(one, a[1], total[1]),
        fma(other, a[1], total[2]),
        fma(one, a[2], total[3]),
        fma(other, a[2], total[4]),
        fma(last, a[2], total[5]),
    )


@inlined
def _less(a: Any, by: Any, b: Any) -> Any:
    return fma(-by, b[0], a[0]), fma(-by, b[1], a[1]), fma(-by, b[2], a[2])


@part
def _both(
    s: Any, z: Any, shadow: Any, other: Any, H: Any, by_dual: Any, mu: Any
) -> Any:
    """The scaling that both points ask for, where there is one; else mu H.

    `shadow` is that of z, `other` that of s.
    """
    third = 1.0 / 3.0
    along = dot(s, z)
    own, shadows = along * third, dot(shadow, other) * third
    ds, dz = _less(s, own, shadow), _less(z, own, other)
    apart = dot(ds, dz)
    far = fma(own, shadows, -1.0)
    H_other = times(H, other)
    left = fma(-3.0 * shadows, shadows, dot(other, H_other))
    rest = _less(H_other, shadows, shadow)
    # What the scaling has beside its two known directions, in size.
    inner = _outer(_outer(H, -third, shadow), -1.0 / left, rest)
    twice = fma(inner[1], inner[1], fma(inner[3], inner[3], inner[4] * inner[4]))
    square = fma(inner[0], inner[0], fma(inner[2], inner[2], inner[5] * inner[5]))
    much = own * root(square + twice + twice)
    axis = (
        fma(z[1], other[2], -z[2] * other[1]),
        fma(z[2], other[0], -z[0] * other[2]),
        fma(z[0], other[1], -z[1] * other[0]),
    )
    zero = splat(0.0)
    total = zero, zero, zero, zero, zero, zero
    total = _outer(total, 1.0 / along, s)
    total = _outer(total, 1.0 / apart, ds)
    total = _outer(total, much / dot(axis, axis), axis)
    bad = choose_less(ROUNDING, size(far), by_dual, 1.0)
    bad = choose_less(NOTHING, size(left), bad, 1.0)
    bad = choose_less(0.0, along, choose_less(0.0, apart, bad, 1.0), 1.0)
    by = choose_less(0.5, by_dual, mu, own)
    return (
        choose_less(0.5, bad, by * H[0], total[0]),
        choose_less(0.5, bad, by * H[1], total[1]),
        choose_less(0.5, bad, by * H[2], total[2]),
        choose_less(0.5, bad, by * H[3], total[3]),
        choose_less(0.5, bad, by * H[4], total[4]),
        choose_less(0.5, bad, by * H[5], total[5]),
    )


@inlined
def _times_block(plan: Any, K: Any, start: int, off: int, v: Any) -> Any:
    """-H v, of a cone."""
    block = (
        load(K, at(plan.diagonal, start)),
        load(K, off),
        load(K, at(plan.diagonal, start + 1)),
        load(K, off + 1),
        load(K, off + 2),
        load(K, at(plan.diagonal, start + 2)),
    )
    return times(block, v)


@inlined
def block_product(plan: Any, skew: Any, room: Any, guess: Any, c: int) -> Any:
    """First row of a cone, and -H times its multipliers in a guess."""
    start, off, _ = _place(skew, c)
    v = _three(guess, plan.width + start)
    return start, _times_block(plan, room.K, start, off, v)


@part
def step_skew(
    plan: Any, skew: Any, room: Any, offset: Any, dtau: Any, most: Any
) -> Any:
    """Write dz to `moving` and ds; one over how far they may go, at least `most`."""
    n = plan.width
    reach = 1.0 / most
    reach = choose_less(reach, FIRST, reach, splat(FIRST))
    for c in range(skew.cones):
        start, off, exponent = _place(skew, c)
        fixed, moving = _three(room.fixed, n + start), _three(room.moving, n + start)
        dz = _less(moving, -dtau, fixed)
        _put_three(room.moving, n + start, dz)
        own = _times_block(plan, room.K, start, off, dz)
        ds = _less(own, 1.0, _three(offset, start))
        _put_three(room.ds, start, ds)
        s, z = _three(room.s, start), _three(room.z, start)
        for _ in range(TRIES):
            a, b = _less(s, -reach, ds), _less(z, -reach, dz)
            _, good = level(exponent, b[0], b[1], b[2])
            good = choose_less(0.0, good, inside(exponent, a[0], a[1], a[2]), 0.0)
            # Also where one is no number.
            out = choose_less(0.0, good, splat(0.0), 1.0)
            out = choose_less(0.0, reach, out, splat(0.0))
            if not any_less(0.5, out):
                break
            less = reach * SHORTER
            less = choose_less(less, LEAST, splat(0.0), less)
            reach = choose_less(0.5, out, less, reach)
    return 1.0 / reach


@part
def correct_skew(plan: Any, skew: Any, room: Any, centre: Any) -> None:
    """Write s - centre times the shadow of z, less half of f'''[f''^-1 ds, dz]."""
    n = plan.width
    for c in range(skew.cones):
        start, _, exponent = _place(skew, c)
        first = c * PER_SKEW
        dz, ds = _three(room.moving, n + start), _three(room.ds, start)
        z = _three(room.z, start)
        along, is_good = _solved(
            _three(skew.kept, first + HESSIAN),
            _three(skew.kept, first + HESSIAN + 3),
            ds,
        )
        power, psi = load(skew.kept, first + POWER), load(skew.kept, first + PSI)
        over = inverses(exponent, z[0], z[1], z[2])
        g = slopes(exponent, z[0], z[1], z[2], power, over)
        third = half_third(exponent, z[0], power, psi, over, g, along, dz)
        offset = _less(_three(room.s, start), centre, _three(skew.kept, first + SHADOW))
        better = _less(offset, 1.0, third)
        for k in range(3):
            right = choose_less(0.5, is_good, better[k], offset[k])
            right = choose_less(size(better[k]), np.inf, right, offset[k])
            store(room.offset, start + k, right)


@inlined
def _solved(upper: Any, lower: Any, right: Any) -> Any:
    """f''^-1 times a vector, and a one where f'' is positive."""
    H11, H12, H22 = upper
    H13, H23, H33 = lower
    by_1 = 1.0 / H11
    l21, l31 = H12 * by_1, H13 * by_1
    d2 = fma(-l21, H12, H22)
    by_2 = 1.0 / d2
    below = fma(-l31, H12, H23)
    l32 = below * by_2
    d3 = fma(-l32, below, fma(-l31, H13, H33))
    y2 = fma(-l21, right[0], right[1])
    y3 = fma(-l32, y2, fma(-l31, right[0], right[2]))
    x3 = y3 / d3
    x2 = fma(-l32, x3, y2 * by_2)
    x1 = fma(-l21, x2, fma(-l31, x3, right[0] * by_1))
    good = choose_less(0.0, d2, choose_less(0.0, d3, 1.0, splat(0.0)), splat(0.0))
    return (x1, x2, x3), choose_less(0.0, H11, good, splat(0.0))


@part
def centred(plan: Any, skew: Any, room: Any, steps: Any, alpha: Any) -> Any:
    """The step, shortened in lanes that go by f'' until it ends near the path.

    `steps` has tau, dtau, kappa and dkappa.
    """
    for _ in range(TRIES):
        off = _off_path(plan, skew, room, steps, alpha)
        # Also where it is no number.
        out = choose_less(off, NEAR, splat(0.0), load(skew.dual, 0))
        out = choose_less(0.0, alpha, out, splat(0.0))
        if not any_less(0.5, out):
            break
        less = alpha * SHORTER
        less = choose_less(less, LEAST, splat(0.0), less)
        alpha = choose_less(0.5, out, less, alpha)
    return alpha


@inlined
def _after(room: Any, n: int, i: int, alpha: Any) -> Any:
    """Entries of s and z after a step."""
    return (
        fma(alpha, load(room.ds, i), load(room.s, i)),
        fma(alpha, load(room.moving, n + i), load(room.z, i)),
    )


@part
def _off_path(plan: Any, skew: Any, room: Any, steps: Any, alpha: Any) -> Any:
    """How far from the central path a step ends: all barriers, at mu."""
    n = plan.width
    tau, dtau, kappa, dkappa = steps
    both = fma(alpha, dtau, tau) * fma(alpha, dkappa, kappa)
    total, barrier = both, -logarithm(both)
    for t in range(plan.linears):
        own, price = _after(room, n, at(plan.linear, t), alpha)
        barrier = barrier - logarithm(own * price)
        total = fma(own, price, total)
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        s, z = _after(room, n, start, alpha)
        total = fma(s, z, total)
        square_s, square_z = s * s, z * z
        for i in range(start + 1, start + rows):
            s, z = _after(room, n, i, alpha)
            total = fma(s, z, total)
            square_s, square_z = fma(-s, s, square_s), fma(-z, z, square_z)
        barrier = barrier - 0.5 * logarithm(square_s * square_z)
    degree = float(plan.linears + plan.cones + 3 * skew.cones) + 1.0
    for c in range(skew.cones):
        start, _, exponent = _place(skew, c)
        s1, z1 = _after(room, n, start, alpha)
        s2, z2 = _after(room, n, start + 1, alpha)
        s3, z3 = _after(room, n, start + 2, alpha)
        total = fma(s1, z1, fma(s2, z2, fma(s3, z3, total)))
        other = shadow_of_slack(exponent, s1, s2, s3)
        barrier = barrier + _dual_barrier(exponent, z1, z2, z3)
        # The barrier of the cone, by that of its dual.
        barrier = barrier - _dual_barrier(exponent, other[0], other[1], other[2]) - 3.0
    return fma(logarithm(total / degree), degree, barrier)


@inlined
def _dual_barrier(exponent: float, u: Any, v: Any, w: Any) -> Any:
    _, psi = level(exponent, u, v, w)
    c1, c2, c3 = weights(exponent)
    total = logarithm(psi) + c1 * logarithm(size(u))
    if exponent == 0.0:
        return -(total + c3 * logarithm(w))
    return -(total + c2 * logarithm(v))
