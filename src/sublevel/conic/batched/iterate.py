"""Compiled: the interior-point method, a context in each lane.

The method is that of Clarabel (Goulart and Chen 2024): a homogeneous embedding with
unknowns x, z, s, tau and kappa, steps by predictor and corrector in the scaling of
Nesterov and Todd. Every lane is at an iteration of its own; one that ends takes the
next context at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import Array
from ..compiled import SOURCES, compiled, inlined, part
from ..program import Indices, ProgramData, Varying
from .certificate import CLOSE
from .cones import corrected, finished, predicted, rescale, shift_inside
from .lanes import (
    WIDTH,
    any_less,
    at,
    choose_less,
    fma,
    load,
    number,
    put,
    size,
    splat,
    store,
)
from .linear import (
    Side,
    column_product,
    curvature,
    factor,
    row_product,
    solve_one,
    solve_two,
)
from .nonsymmetric import (
    SWITCH,
    begin,
    centred,
    correct_skew,
    rescale_skew,
    skew_of,
    step_skew,
)
from .plan import Plan
from .room import (
    B_SIZE,
    CODE,
    COUNT,
    FLAW,
    FRESH,
    KAPPA,
    Q_SIZE,
    RAY_X,
    RAY_Z,
    SCALARS,
    TAU,
    Blocks,
    Results,
    room_for,
)
from .walk import cone, walk_of

#: How a lane can end: GOING is not to be seen outside.
GOING, SOLVED, INFEASIBLE, UNBOUNDED, STUCK = range(5)
#: The least size of an objective; the measure of a proof that there is no solution.
LEAST, CERTIFIED = 1e-4, 1e-8
#: Iterations at most, the share of a step that is taken, the least step.
MOST, SHARE, LEAST_STEP = 50, 0.99, 1e-4


def run(
    plan: Plan, data: ProgramData, close: float = CLOSE
) -> tuple[Indices, Array, Array]:
    """Codes (n,), points (n, nx) and multipliers (n, rows) of all contexts.

    Gaps and residuals are to be as small as `close`.
    """
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
    room, memory = room_for(plan)
    skew, more = skew_of(plan)
    results = Results(codes, rounds, x, z)
    iterate(walk_of(plan), skew, blocks, room, (memory, more), results, close)
    return codes, x, z


@inlined
def _fill(base: Any, where: Any, values: Any, i: int, lane: int, to: int) -> None:
    for k in range(len(base)):
        put(to, k * WIDTH + lane, base[k])
    for k in range(len(where)):
        put(to, where[k] * WIDTH + lane, values[i, k])


@inlined
def _largest(address: int, count: int, lane: int) -> float:
    largest = 0.0
    for k in range(count):
        largest = max(largest, abs(number(address, k * WIDTH + lane)))
    return largest


@part
def _enter(plan: Any, skew: Any, blocks: Any, room: Any, i: int, lane: int) -> None:
    """Context i takes a lane: at the cones' own centres, where H is one.

    With exponential or power cones that is where it begins.
    """
    curves = room.K + plan.entries * WIDTH * 8
    _fill(blocks.A, blocks.A_where, blocks.A_values, i, lane, room.K)
    _fill(blocks.P, blocks.P_where, blocks.P_values, i, lane, curves)
    _fill(blocks.q, blocks.q_where, blocks.q_values, i, lane, room.q)
    _fill(blocks.b, blocks.b_where, blocks.b_values, i, lane, room.b)
    for k in range(plan.width):
        put(room.x, k * WIDTH + lane, 0.0)
    for k in range(plan.height):
        put(room.s, k * WIDTH + lane, 0.0)
        put(room.z, k * WIDTH + lane, 0.0)
    for t in range(plan.linears):
        k = at(plan.linear, t) * WIDTH + lane
        put(room.s, k, 1.0)
        put(room.z, k, 1.0)
    for c in range(plan.cones):
        start, _ = cone(plan, c)
        put(room.s, start * WIDTH + lane, 1.0)
        put(room.z, start * WIDTH + lane, 1.0)
    for k in range(SCALARS):
        put(room.scalars, k * WIDTH + lane, 0.0)
    for k in (TAU, KAPPA, FRESH):
        put(room.scalars, k * WIDTH + lane, 1.0)
    if skew is not None:
        begin(plan, skew, room, lane)
        put(room.scalars, FRESH * WIDTH + lane, 0.0)
    q_size = _largest(room.q, plan.width, lane)
    b_size = _largest(room.b, plan.height, lane)
    put(room.scalars, Q_SIZE * WIDTH + lane, q_size)
    put(room.scalars, B_SIZE * WIDTH + lane, b_size)


@part
def _leave(plan: Any, room: Any, results: Any, i: int, lane: int) -> None:
    """Write down what became of the context in a lane."""
    code = int(number(room.scalars, CODE * WIDTH + lane))
    over = 1.0 / number(room.scalars, TAU * WIDTH + lane)
    if code == INFEASIBLE:
        over = -1.0 / number(room.scalars, RAY_Z * WIDTH + lane)
    elif code == UNBOUNDED:
        over = -1.0 / number(room.scalars, RAY_X * WIDTH + lane)
    for k in range(plan.width):
        results.x[i, k] = number(room.x, k * WIDTH + lane) * over
    for k in range(plan.height):
        results.z[i, k] = number(room.z, k * WIDTH + lane) * over
    results.code[i] = code
    results.iterations[i] = int(number(room.scalars, COUNT * WIDTH + lane))


@inlined
def _larger(a: Any, b: Any) -> Any:
    return choose_less(a, b, b, a)


@part
def _inspect(plan: Any, room: Any, degree: float, close: float) -> Any:
    """Residuals, and which lanes have ended. Gives rtau, mu and xi' P xi."""
    n, m = plan.width, plan.height
    scalars = room.scalars
    tau, kappa = load(scalars, TAU), load(scalars, KAPPA)
    curved = plan.curves > 0
    zero = splat(0.0)
    qx, bz, sz, xPx = zero, zero, zero, zero
    cost, price, off_x, off_z = zero, zero, zero, zero
    worst_x, worst_z, ray_x, ray_z = zero, zero, zero, zero
    big_x, big_z, big_s, big_P = zero, zero, zero, zero
    if curved:
        curvature(plan, room.K, room.x, room.Px)
    for j in range(n):
        x, q, Az = (
            load(room.x, j),
            load(room.q, j),
            column_product(plan, room.K, room.z, 0, j),
        )
        rx = fma(-q, tau, -Az)
        if curved:
            Px = load(room.Px, j)
            rx = rx - Px
            xPx, big_P = fma(x, Px, xPx), _larger(big_P, size(Px))
        store(room.rx, j, rx)
        qx = fma(q, x, qx)
        cost = cost + size(q * x)
        off_x = off_x + size(rx * x)
        worst_x, ray_z = _larger(worst_x, size(rx)), _larger(ray_z, size(Az))
        big_x = _larger(big_x, size(x))
    for i in range(m):
        z, s, b = load(room.z, i), load(room.s, i), load(room.b, i)
        Ax = row_product(plan, room.K, room.x, i) + s
        rz = Ax - b * tau
        store(room.rz, i, rz)
        bz = fma(b, z, bz)
        sz = fma(s, z, sz)
        price = price + size(b * z)
        off_z = off_z + size(rz * z)
        worst_z, ray_x = _larger(worst_z, size(rz)), _larger(ray_x, size(Ax))
        big_z, big_s = _larger(big_z, size(z)), _larger(big_s, size(s))
    over = 1.0 / tau
    bent = xPx * over
    rtau = qx + bz + kappa + bent
    mu = (sz + tau * kappa) / (degree + 1.0)
    # All measured in units of x / tau and z / tau.
    gap = size(qx + bz + bent) * over
    value = _larger(_larger(cost, price), size(bent)) * over
    error = _larger(_larger(gap, off_x * over * over), off_z * over * over)
    enough = _larger(value, splat(LEAST)) * close
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
    done = choose_less(worst_z * over, room_p * close, done, verdict)
    verdict = choose_less(worst_x * over, room_d * close, done, verdict)
    # At a first point nothing is said: some lanes are looked at there, some only after.
    verdict = choose_less(load(scalars, COUNT), 0.5, zero, verdict)
    store(scalars, CODE, verdict)
    store(scalars, RAY_Z, bz)
    store(scalars, RAY_X, qx)
    return rtau, mu, bent * over


@inlined
def _right_sides(plan: Any, room: Any) -> None:
    """The right-hand side that goes with tau, and that of the predictor.

    Of fresh lanes, those of the first z, and of the first x and s.
    """
    n, fresh = plan.width, load(room.scalars, FRESH)
    linear = plan.curves == 0
    for j in range(n):
        store(room.right_fixed, j, -load(room.q, j))
        store(room.right, j, choose_less(0.5, fresh, 0.0, load(room.rx, j)))
    for i in range(plan.height):
        b = load(room.b, i)
        step = load(room.s, i) - load(room.rz, i)
        store(room.right, n + i, choose_less(0.5, fresh, b, step))
        if linear:
            b = choose_less(0.5, fresh, 0.0, b)
        store(room.right_fixed, n + i, b)


@inlined
def _products(plan: Any, room: Any, step: Any) -> Any:
    """Q' x + b' z of a step, and x' P of the point times it."""
    n = plan.width
    total, bent = splat(0.0), splat(0.0)
    for j in range(n):
        total = fma(load(room.q, j), load(step, j), total)
    if plan.curves:
        for j in range(n):
            bent = fma(load(room.Px, j), load(step, j), bent)
    for i in range(plan.height):
        total = fma(load(room.b, i), load(step, n + i), total)
    return total, bent


@part
def _step(plan: Any, skew: Any, room: Any, rtau: Any, mu: Any, xiPxi: Any) -> int:
    """Predict, correct, and move; a fresh lane takes its first point."""
    n, m = plan.width, plan.height
    scalars, fixed, moving = room.scalars, room.fixed, room.moving
    tau, kappa, fresh = load(scalars, TAU), load(scalars, KAPPA), load(scalars, FRESH)
    if skew is None and any_less(0.5, fresh):
        _start(plan, room, fresh)
    over = 1.0 / tau
    plain, bent = _products(plan, room, fixed)
    den = 1.0 / (kappa * over - plain + xiPxi - 2.0 * bent * over)
    plain, bent = _products(plan, room, moving)
    dtau = (rtau - kappa + plain + 2.0 * bent * over) * den
    dkappa = -kappa - kappa * dtau * over
    most = _longer(tau, dtau, kappa, dkappa)
    most = predicted(plan, room, dtau, most)
    if skew is not None:
        most = step_skew(plan, skew, room, room.s, dtau, most)
    away = 1.0 - 1.0 / most
    sigma = away * away * away
    centre = sigma * mu
    corrected(plan, room, centre)
    if skew is not None:
        correct_skew(plan, skew, room, centre)
    rest = 1.0 - sigma
    for j in range(n):
        store(room.right, j, rest * load(room.rx, j))
    for t in range(plan.zeros):
        store(room.offset, at(plan.zero, t), 0.0)
    for i in range(m):
        store(room.right, n + i, fma(-rest, load(room.rz, i), load(room.offset, i)))
    back = kappa * tau + dtau * dkappa - centre
    corrections: int = solve_one(
        plan, skew, room, Side(room.right, moving, room.trial, room.left)
    )
    plain, bent = _products(plan, room, moving)
    dtau = (rest * rtau - back * over + plain + 2.0 * bent * over) * den
    dkappa = -(back + kappa * dtau) * over
    most = _longer(tau, dtau, kappa, dkappa)
    most = finished(plan, room, dtau, most)
    if skew is not None:
        most = step_skew(plan, skew, room, room.offset, dtau, most)
    alpha = SHARE / most
    flaw = load(scalars, FLAW)
    if skew is not None:
        alpha = centred(plan, skew, room, (tau, dtau, kappa, dkappa), alpha)
    # A lane without a step stays where it is.
    still = choose_less(0.0, alpha, _larger(fresh, flaw), 1.0)
    short = choose_less(LEAST_STEP, alpha, flaw, splat(1.0))
    if skew is not None:
        # A lane whose steps are short tries the other scaling, from where it is.
        before = load(skew.dual, 0)
        changes = choose_less(alpha, SWITCH, 1.0 - before, splat(0.0))
        changes = choose_less(0.5, flaw, splat(0.0), changes)
        store(skew.dual, 0, before + changes)
        still = _larger(still, changes)
        short = choose_less(0.5, changes, flaw, short)
    store(scalars, FLAW, choose_less(0.5, fresh, 0.0, short))
    for j in range(n):
        x, step = load(room.x, j), fma(dtau, load(fixed, j), load(moving, j))
        store(room.x, j, choose_less(0.5, still, x, fma(alpha, step, x)))
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
def _longer(tau: Any, dtau: Any, kappa: Any, dkappa: Any) -> Any:
    """One over how far tau and kappa may go, at least one."""
    most = _larger(-dtau / tau, -dkappa / kappa)
    return _larger(most, splat(1.0))


@part
def _start(plan: Any, room: Any, fresh: Any) -> None:
    """The first point of fresh lanes."""
    n, m = plan.width, plan.height
    curved = plan.curves > 0
    for j in range(n):
        x = load(room.fixed, j) if curved else load(room.moving, j)
        store(room.x, j, choose_less(0.5, fresh, x, load(room.x, j)))
    for i in range(m):
        z = load(room.fixed, n + i)
        s = -z if curved else -load(room.moving, n + i)
        store(room.z, i, choose_less(0.5, fresh, z, load(room.z, i)))
        store(room.s, i, choose_less(0.5, fresh, s, load(room.s, i)))
    for t in range(plan.zeros):
        store(room.s, at(plan.zero, t), 0.0)
    degree = float(plan.linears + plan.cones)
    shift_inside(plan, room.s, degree, fresh)
    shift_inside(plan, room.z, degree, fresh)


@compiled
def iterate(
    plan: Any,
    skew: Any,
    blocks: Any,
    room: Any,
    memory: Any,
    results: Any,
    close: float,
    sources: int = SOURCES,
) -> tuple[int, int]:
    """Solve all contexts; the numbers of rounds and corrections that were needed.

    `skew` has the exponential and power cones, or is None: another kind of argument,
    for which other code is compiled. `memory` is where the addresses of both point to:
    handed over so that it stays.
    """
    contexts = len(results.code)
    degree = float(plan.linears + plan.cones)
    if skew is not None:
        degree += 3.0 * skew.cones
    who = np.full(WIDTH, -1)
    following, going, rounds, corrections = 0, 0, 0, 0
    for lane in range(WIDTH):
        # Lanes without a context of their own repeat one, and tell nobody.
        _enter(plan, skew, blocks, room, min(following, contexts - 1), lane)
        if following < contexts:
            who[lane] = following
            following, going = following + 1, going + 1
    while going > 0:
        rounds += 1
        rtau, mu, xiPxi = _inspect(plan, room, degree, close)
        if any_less(0.5, load(room.scalars, CODE)):
            for lane in range(WIDTH):
                if who[lane] >= 0 and number(room.scalars, CODE * WIDTH + lane) > 0.5:
                    _leave(plan, room, results, who[lane], lane)
                    if following < contexts:
                        who[lane] = following
                        _enter(plan, skew, blocks, room, following, lane)
                        following += 1
                    else:
                        who[lane] = -1
                        going -= 1
            if going == 0:
                break
            if skew is not None:
                # Those that came in are at a point already.
                rtau, mu, xiPxi = _inspect(plan, room, degree, close)
        flaw = load(room.scalars, FLAW)
        flaw = rescale(plan, room, flaw)
        if skew is not None:
            flaw = rescale_skew(plan, skew, room, mu, flaw)
        store(room.scalars, FLAW, flaw)
        factor(plan, room)
        _right_sides(plan, room)
        corrections += solve_two(
            plan,
            skew,
            room,
            Side(room.right_fixed, room.fixed, room.trial, room.left_fixed),
            Side(room.right, room.moving, room.trial, room.left),
        )
        corrections += _step(plan, skew, room, rtau, mu, xiPxi)
    return rounds, corrections
