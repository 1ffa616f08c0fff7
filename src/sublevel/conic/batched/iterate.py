"""Compiled: the interior-point method, a context in each lane.

The method is that of Clarabel (Goulart and Chen 2024): a homogeneous embedding with
unknowns x, z, s, tau and kappa, steps by predictor and corrector in the scaling of
Nesterov and Todd. Every lane is at an iteration of its own; one that ends takes the
next context at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from ..program import Indices, ProgramData, Varying
from .compiled import compiled, inlined, part
from .cones import corrected, longest, rescale, scaled, shift_inside, unscaled
from .lanes import WIDTH, any_less, at, choose_less, fma, load, size, splat, store
from .linear import (
    add_curvature,
    factor,
    solve,
    times,
    times_squared,
    times_transposed,
)
from .plan import Plan

#: How a lane can end: GOING is not to be seen outside.
GOING, SOLVED, INFEASIBLE, UNBOUNDED, STUCK = range(5)
#: Relative gap, and residuals, at which a context is solved; the least size of an
#: objective; the measure of a certificate that there is no solution.
GAP, RESIDUAL, LEAST, CERTIFIED = 1e-8, 1e-8, 1e-4, 1e-8
#: Iterations at most, the share of a step that is taken, the least step.
MOST, SHARE, LEAST_STEP = 50, 0.99, 1e-4


class Blocks(NamedTuple):
    """The data of all contexts: for P, q, A, b what all share, and what varies."""

    P: Array
    P_where: Any
    P_values: Array
    q: Array
    q_where: Any
    q_values: Array
    A: Array
    A_where: Any
    A_values: Array
    b: Array
    b_where: Any
    b_values: Array


class Room(NamedTuple):
    """Where the lanes live: arrays of vectors of WIDTH numbers."""

    K: Array
    L: Array
    Y: Array
    inverse: Array
    q: Array
    b: Array
    x: Array
    s: Array
    z: Array
    w: Array
    eta: Array
    lam: Array
    Px: Array
    rx: Array
    rz: Array
    right: Array
    fixed: Array
    moving: Array
    trial: Array
    left: Array
    room: Array
    ds: Array
    offset: Array
    one: Array
    other: Array
    scalars: Array


class Results(NamedTuple):
    """What became of every context: code, iterations, x and z."""

    code: Any
    iterations: Any
    x: Array
    z: Array


#: Vectors of one number for each lane.
TAU, KAPPA, FRESH, FLAW, COUNT, CODE, RAY_Z, RAY_X, Q_SIZE, B_SIZE = range(10)
SCALARS = 10


def room_for(plan: Plan) -> Room:
    """Arrays of the sizes a plan asks for, at addresses that suit vectors."""
    n, m, unknowns = plan.width, plan.height, plan.unknowns
    entries = len(plan.below)
    sizes = {
        "K": plan.slots,
        "L": entries,
        "Y": entries,
        "inverse": unknowns,
        **dict.fromkeys(("q", "x", "Px", "rx"), n),
        **dict.fromkeys(
            ("b", "s", "z", "w", "lam", "rz", "room", "ds", "offset", "one", "other"), m
        ),
        "eta": len(plan.soc),
        **dict.fromkeys(("right", "fixed", "moving", "trial", "left"), unknowns),
        "scalars": SCALARS,
    }
    whole = np.zeros((sum(sizes.values()) + 1) * WIDTH)
    start = -(whole.ctypes.data // 8) % WIDTH
    arrays = {}
    for name in Room._fields:
        end = start + sizes[name] * WIDTH
        arrays[name] = whole[start:end]
        start = end
    return Room(**arrays)


def run(plan: Plan, data: ProgramData) -> tuple[Indices, Array, Array]:
    """Codes (n,), points (n, nx) and multipliers (n, rows) of all contexts."""
    n, q = len(data), data.q
    if len(q.where) and q.where[-1] == len(q.base) - 1:
        q = Varying(q.base, q.where[:-1], q.values[:, :-1])
    q = Varying(q.base[:-1], q.where, q.values)
    parts: list[Any] = []
    for block in (data.P, q, data.A, data.b):
        parts += [block.base, block.where.astype(np.int64), block.values]
    blocks = Blocks(*(np.ascontiguousarray(part) for part in parts))
    codes, rounds = np.zeros((2, n), dtype=np.int64)
    x, z = np.zeros((n, plan.width)), np.zeros((n, plan.height))
    iterate(plan, blocks, room_for(plan), Results(codes, rounds, x, z))
    return codes, x, z


@inlined
def _fill(base: Any, where: Any, values: Any, i: int, lane: int, to: Any) -> None:
    for k in range(len(base)):
        to[k * WIDTH + lane] = base[k]
    for k in range(len(where)):
        to[where[k] * WIDTH + lane] = values[i, k]


@part
def _enter(plan: Any, blocks: Any, room: Any, i: int, lane: int) -> None:
    """Context i takes a lane: at the cones' own centres, where H is one."""
    first = len(plan.A_row) * WIDTH
    _fill(blocks.A, blocks.A_where, blocks.A_values, i, lane, room.K)
    _fill(blocks.P, blocks.P_where, blocks.P_values, i, lane, room.K[first:])
    _fill(blocks.q, blocks.q_where, blocks.q_values, i, lane, room.q)
    _fill(blocks.b, blocks.b_where, blocks.b_values, i, lane, room.b)
    for k in range(plan.width):
        room.x[k * WIDTH + lane] = 0.0
    for k in range(plan.height):
        room.s[k * WIDTH + lane] = 0.0
        room.z[k * WIDTH + lane] = 0.0
    for t in range(len(plan.linear)):
        k = plan.linear[t] * WIDTH + lane
        room.s[k] = room.z[k] = 1.0
    for c in range(len(plan.soc)):
        k = plan.soc[c, 0] * WIDTH + lane
        room.s[k] = room.z[k] = 1.0
    for k in range(SCALARS):
        room.scalars[k * WIDTH + lane] = 0.0
    room.scalars[TAU * WIDTH + lane] = 1.0
    room.scalars[KAPPA * WIDTH + lane] = 1.0
    room.scalars[FRESH * WIDTH + lane] = 1.0
    largest = 0.0
    for k in range(plan.width):
        largest = max(largest, abs(room.q[k * WIDTH + lane]))
    room.scalars[Q_SIZE * WIDTH + lane] = largest
    largest = 0.0
    for k in range(plan.height):
        largest = max(largest, abs(room.b[k * WIDTH + lane]))
    room.scalars[B_SIZE * WIDTH + lane] = largest


@part
def _leave(plan: Any, room: Any, results: Any, i: int, lane: int) -> None:
    """Write down what became of the context in a lane."""
    code = int(room.scalars[CODE * WIDTH + lane])
    over = 1.0 / room.scalars[TAU * WIDTH + lane]
    if code == INFEASIBLE:
        over = -1.0 / room.scalars[RAY_Z * WIDTH + lane]
    elif code == UNBOUNDED:
        over = -1.0 / room.scalars[RAY_X * WIDTH + lane]
    for k in range(plan.width):
        results.x[i, k] = room.x[k * WIDTH + lane] * over
    for k in range(plan.height):
        results.z[i, k] = room.z[k * WIDTH + lane] * over
    results.code[i] = code
    results.iterations[i] = int(room.scalars[COUNT * WIDTH + lane])


@inlined
def _larger(a: Any, b: Any) -> Any:
    return choose_less(a, b, b, a)


@part
def _inspect(plan: Any, room: Any, degree: float) -> Any:
    """Residuals, and which lanes have ended. Gives rtau, mu and xi' P xi."""
    n, m = plan.width, plan.height
    scalars = room.scalars
    tau, kappa = load(scalars, TAU), load(scalars, KAPPA)
    times_transposed(plan, room.K, room.z, 0, room.rx)
    times(plan, room.K, room.x, room.rz, 0)
    zero = splat(0.0)
    qx, bz, sz, xPx = zero, zero, zero, zero
    cost, price, off_x, off_z = zero, zero, zero, zero
    worst_x, worst_z, ray_x, ray_z = zero, zero, zero, zero
    big_x, big_z, big_s, big_P = zero, zero, zero, zero
    for j in range(n):
        store(room.Px, j, 0.0)
    if len(plan.P_row):
        add_curvature(plan, room.K, room.x, room.Px)
    for j in range(n):
        x, q, Px, Az = (
            load(room.x, j),
            load(room.q, j),
            load(room.Px, j),
            load(room.rx, j),
        )
        rx = -Az - Px - q * tau
        store(room.rx, j, rx)
        qx = fma(q, x, qx)
        xPx = fma(x, Px, xPx)
        cost = cost + size(q * x)
        off_x = off_x + size(rx * x)
        worst_x, ray_z = _larger(worst_x, size(rx)), _larger(ray_z, size(Az))
        big_x, big_P = _larger(big_x, size(x)), _larger(big_P, size(Px))
    for i in range(m):
        z, s, b = load(room.z, i), load(room.s, i), load(room.b, i)
        Ax = load(room.rz, i) + s
        rz = Ax - b * tau
        store(room.rz, i, rz)
        bz = fma(b, z, bz)
        sz = fma(s, z, sz)
        price = price + size(b * z)
        off_z = off_z + size(rz * z)
        worst_z, ray_x = _larger(worst_z, size(rz)), _larger(ray_x, size(Ax))
        big_z, big_s = _larger(big_z, size(z)), _larger(big_s, size(s))
    over = 1.0 / tau
    curved = xPx * over
    rtau = qx + bz + kappa + curved
    mu = (sz + tau * kappa) / (degree + 1.0)
    # All measured in units of x / tau and z / tau.
    gap = size(qx + bz + curved) * over
    value = _larger(_larger(cost, price), size(curved)) * over
    error = _larger(_larger(gap, off_x * over * over), off_z * over * over)
    enough = _larger(value, splat(LEAST)) * GAP
    room_p = _larger(load(scalars, B_SIZE) + (big_x + big_s) * over, splat(1.0))
    room_d = _larger(load(scalars, Q_SIZE) + (big_z + big_P) * over, splat(1.0))
    verdict = choose_less(load(scalars, COUNT), MOST - 0.5, zero, float(STUCK))
    verdict = choose_less(0.5, load(scalars, FLAW), float(STUCK), verdict)
    verdict = choose_less(gap, np.inf, verdict, float(STUCK))
    # Rays: directions that prove that there is no solution.
    limit = -bz * CERTIFIED * _larger(big_x + big_z, splat(1.0))
    ray = choose_less(ray_z, limit, float(INFEASIBLE), verdict)
    verdict = choose_less(bz, -CERTIFIED, ray, verdict)
    bound = -qx * CERTIFIED
    ray = choose_less(
        big_P, bound * _larger(big_x, splat(1.0)), float(UNBOUNDED), verdict
    )
    ray = choose_less(ray_x, bound * _larger(big_x + big_s, splat(1.0)), ray, verdict)
    verdict = choose_less(qx, -CERTIFIED, ray, verdict)
    done = choose_less(error, enough, float(SOLVED), verdict)
    done = choose_less(worst_z * over, room_p * RESIDUAL, done, verdict)
    verdict = choose_less(worst_x * over, room_d * RESIDUAL, done, verdict)
    verdict = choose_less(0.5, load(scalars, FRESH), zero, verdict)
    store(scalars, CODE, verdict)
    store(scalars, RAY_Z, bz)
    store(scalars, RAY_X, qx)
    return rtau, mu, curved * over


@inlined
def _right_fixed(plan: Any, room: Any) -> None:
    """The right-hand side that goes with tau; of fresh lanes, that of the first z."""
    fresh = load(room.scalars, FRESH)
    linear = len(plan.P_row) == 0
    for j in range(plan.width):
        store(room.right, j, -load(room.q, j))
    for i in range(plan.height):
        b = load(room.b, i)
        if linear:
            b = choose_less(0.5, fresh, 0.0, b)
        store(room.right, plan.width + i, b)


@inlined
def _right_moving(plan: Any, room: Any) -> None:
    """The right-hand side of the predictor; of fresh lanes, that of the first x, s."""
    fresh = load(room.scalars, FRESH)
    for j in range(plan.width):
        store(room.right, j, choose_less(0.5, fresh, 0.0, load(room.rx, j)))
    for i in range(plan.height):
        step = load(room.s, i) - load(room.rz, i)
        b = load(room.b, i)
        store(room.right, plan.width + i, choose_less(0.5, fresh, b, step))


@inlined
def _products(plan: Any, room: Any, step: Any) -> Any:
    """Q' x + b' z of a step, and x' P of the point times it."""
    n = plan.width
    total, curved = splat(0.0), splat(0.0)
    for j in range(n):
        entry = load(step, j)
        total = fma(load(room.q, j), entry, total)
        curved = fma(load(room.Px, j), entry, curved)
    for i in range(plan.height):
        total = fma(load(room.b, i), load(step, n + i), total)
    return total, curved


@part
def _step(plan: Any, room: Any, rtau: Any, mu: Any, xiPxi: Any) -> int:
    """Predict, correct, and move; a fresh lane takes its first point."""
    n, m = plan.width, plan.height
    scalars, fixed, moving = room.scalars, room.fixed, room.moving
    tau, kappa, fresh = load(scalars, TAU), load(scalars, KAPPA), load(scalars, FRESH)
    if any_less(0.5, fresh):
        _start(plan, room, fresh)
    over = 1.0 / tau
    plain, curved = _products(plan, room, fixed)
    den = kappa * over - plain + xiPxi - 2.0 * curved * over
    plain, curved = _products(plan, room, moving)
    dtau = (rtau - kappa + plain + 2.0 * curved * over) / den
    for k in range(n + m):
        store(moving, k, fma(dtau, load(fixed, k), load(moving, k)))
    times_squared(plan, room.K, room.w, room.eta, moving, n, room.ds)
    for i in range(m):
        store(room.ds, i, -(load(room.ds, i) + load(room.s, i)))
    dkappa = -kappa - kappa * dtau * over
    one = splat(1.0)
    alpha = longest(plan, room.z, moving, n, one)
    alpha = longest(plan, room.s, room.ds, 0, alpha)
    alpha = _both_positive(tau, dtau, kappa, dkappa, alpha)
    away = 1.0 - alpha
    sigma = away * away * away
    centre = sigma * mu
    unscaled(plan, room.w, room.eta, room.ds, room.one)
    scaled(plan, room.w, room.eta, moving, n, room.other)
    corrected(plan, room.lam, room.one, room.other, centre, room.one)
    scaled(plan, room.w, room.eta, room.one, 0, room.offset)
    rest = 1.0 - sigma
    for j in range(n):
        store(room.right, j, rest * load(room.rx, j))
    for i in range(m):
        store(room.right, n + i, load(room.offset, i) - rest * load(room.rz, i))
    back = kappa * tau + dtau * dkappa - centre
    corrections: int = _solve(plan, room, room.right, moving)
    plain, curved = _products(plan, room, moving)
    dtau = (rest * rtau - back * over + plain + 2.0 * curved * over) / den
    for k in range(n + m):
        store(moving, k, fma(dtau, load(fixed, k), load(moving, k)))
    times_squared(plan, room.K, room.w, room.eta, moving, n, room.ds)
    for i in range(m):
        store(room.ds, i, -(load(room.ds, i) + load(room.offset, i)))
    dkappa = -(back + kappa * dtau) * over
    alpha = longest(plan, room.z, moving, n, one)
    alpha = longest(plan, room.s, room.ds, 0, alpha)
    alpha = _both_positive(tau, dtau, kappa, dkappa, alpha) * SHARE
    flaw = load(scalars, FLAW)
    still = _larger(fresh, flaw)
    short = choose_less(LEAST_STEP, alpha, flaw, splat(1.0))
    store(scalars, FLAW, choose_less(0.5, fresh, 0.0, short))
    for j in range(n):
        x = load(room.x, j)
        store(room.x, j, choose_less(0.5, still, x, fma(alpha, load(moving, j), x)))
    for i in range(m):
        s, z = load(room.s, i), load(room.z, i)
        step = load(moving, n + i)
        store(room.s, i, choose_less(0.5, still, s, fma(alpha, load(room.ds, i), s)))
        store(room.z, i, choose_less(0.5, still, z, fma(alpha, step, z)))
    store(scalars, TAU, choose_less(0.5, still, tau, fma(alpha, dtau, tau)))
    store(scalars, KAPPA, choose_less(0.5, still, kappa, fma(alpha, dkappa, kappa)))
    store(scalars, COUNT, load(scalars, COUNT) + 1.0)
    store(scalars, FRESH, 0.0)
    return corrections


@inlined
def _both_positive(tau: Any, dtau: Any, kappa: Any, dkappa: Any, alpha: Any) -> Any:
    reach = choose_less(dtau, 0.0, -tau / dtau, alpha)
    alpha = choose_less(reach, alpha, reach, alpha)
    reach = choose_less(dkappa, 0.0, -kappa / dkappa, alpha)
    return choose_less(reach, alpha, reach, alpha)


@part
def _start(plan: Any, room: Any, fresh: Any) -> None:
    """The first point of fresh lanes."""
    n, m = plan.width, plan.height
    curved = len(plan.P_row) > 0
    for j in range(n):
        x = load(room.fixed, j) if curved else load(room.moving, j)
        store(room.x, j, choose_less(0.5, fresh, x, load(room.x, j)))
    for i in range(m):
        z = load(room.fixed, n + i)
        s = -z if curved else -load(room.moving, n + i)
        store(room.z, i, choose_less(0.5, fresh, z, load(room.z, i)))
        store(room.s, i, choose_less(0.5, fresh, s, load(room.s, i)))
    for t in range(len(plan.zero)):
        store(room.s, at(plan.zero, t), 0.0)
    degree = float(len(plan.linear) + len(plan.soc))
    shift_inside(plan, room.s, degree, fresh)
    shift_inside(plan, room.z, degree, fresh)


@inlined
def _solve(plan: Any, room: Any, right: Any, solution: Any) -> int:
    corrections: int = solve(
        plan,
        room.K,
        room.L,
        room.inverse,
        room.w,
        room.eta,
        right,
        solution,
        room.trial,
        room.left,
        room.room,
    )
    return corrections


@compiled
def iterate(plan: Any, blocks: Any, room: Any, results: Any) -> tuple[int, int]:
    """Solve all contexts; the numbers of rounds and corrections that were needed."""
    contexts = len(results.code)
    degree = float(len(plan.linear) + len(plan.soc))
    who = np.full(WIDTH, -1)
    following, going, rounds, corrections = 0, 0, 0, 0
    for lane in range(WIDTH):
        # Lanes without a context of their own repeat one, and tell nobody.
        _enter(plan, blocks, room, min(following, contexts - 1), lane)
        if following < contexts:
            who[lane] = following
            following, going = following + 1, going + 1
    while going > 0:
        rounds += 1
        rtau, mu, xiPxi = _inspect(plan, room, degree)
        if any_less(0.5, load(room.scalars, CODE)):
            for lane in range(WIDTH):
                if who[lane] >= 0 and room.scalars[CODE * WIDTH + lane] > 0.5:
                    _leave(plan, room, results, who[lane], lane)
                    if following < contexts:
                        who[lane] = following
                        _enter(plan, blocks, room, following, lane)
                        following += 1
                    else:
                        who[lane] = -1
                        going -= 1
            if going == 0:
                break
        rescale(
            plan,
            room.K,
            room.s,
            room.z,
            room.w,
            room.eta,
            room.lam,
            room.scalars[FLAW * WIDTH :],
        )
        factor(plan, room.K, room.L, room.Y, room.inverse)
        _right_fixed(plan, room)
        corrections += _solve(plan, room, room.right, room.fixed)
        _right_moving(plan, room)
        corrections += _solve(plan, room, room.right, room.moving)
        corrections += _step(plan, room, rtau, mu, xiPxi)
    return rounds, corrections
