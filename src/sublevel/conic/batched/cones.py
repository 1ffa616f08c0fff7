"""Compiled: what steps need to know of the cones.

The scaling of Nesterov and Todd: W z = W^-1 s = lam, with H = W' W. In a nonnegative
cone W is diagonal, w = sqrt(s / z). In a second-order cone

    W = eta [ w0   w1'                    ]
            [ w1   I + w1 w1' / (1 + w0)  ],   w0^2 - |w1|^2 = 1.

In a zero cone s, W and lam are zero.
"""

from __future__ import annotations

from typing import Any

from .compiled import inlined, part
from .lanes import at, choose_less, fma, load, root, splat, store
from .plan import SMALL


@inlined
def distance(v: Any, start: int, rows: int) -> Any:
    """v0 - |v1|, by what of it is not lost, and v0^2 - |v1|^2."""
    total = splat(0.0)
    for k in range(1, rows):
        entry = load(v, start + k)
        total = fma(entry, entry, total)
    length = root(total)
    head = load(v, start)
    return head - length, (head - length) * (head + length)


@part
def rescale(
    plan: Any, K: Any, s: Any, z: Any, w: Any, eta: Any, lam: Any, flaw: Any
) -> None:
    """The scaling at (s, z), and its numbers in K; lanes without one are marked."""
    for t in range(len(plan.linear)):
        i = at(plan.linear, t)
        ratio = load(s, i) / load(z, i)
        store(w, i, root(ratio))
        store(lam, i, root(load(s, i) * load(z, i)))
        store(K, at(plan.diagonal, i), -ratio)
        bad = choose_less(0.0, ratio, 0.0, splat(1.0))
        store(flaw, 0, choose_less(0.5, bad, 1.0, load(flaw, 0)))
    for c in range(len(plan.soc)):
        start, rows = plan.soc[c, 0], plan.soc[c, 1]
        _, square_s = distance(s, start, rows)
        _, square_z = distance(z, start, rows)
        bad = choose_less(0.0, square_s, 0.0, splat(1.0))
        bad = choose_less(0.0, square_z, bad, 1.0)
        store(flaw, 0, choose_less(0.5, bad, 1.0, load(flaw, 0)))
        size_s, size_z = root(square_s), root(square_z)
        over_s, over_z = 1.0 / size_s, 1.0 / size_z
        store(eta, c, root(size_s * over_z))
        store(w, start, fma(load(s, start), over_s, load(z, start) * over_z))
        for k in range(1, rows):
            part = load(z, start + k) * over_z
            store(w, start + k, fma(load(s, start + k), over_s, -part))
        _, square_w = distance(w, start, rows)
        norm_w = root(square_w)
        over_w = 1.0 / norm_w
        # That w is of norm one is forced: its head follows from its tail.
        total = splat(0.0)
        for k in range(1, rows):
            part = load(w, start + k) * over_w
            store(w, start + k, part)
            total = fma(part, part, total)
        head = root(1.0 + total)
        store(w, start, head)
        _middle(s, z, lam, start, rows, over_s, over_z, norm_w)
        length = root(size_s * size_z)
        for k in range(rows):
            store(lam, start + k, load(lam, start + k) * length)
        square = load(eta, c) * load(eta, c)
        if rows <= SMALL:
            _dense(plan, K, w, square, c)
        else:
            _sparse(plan, K, w, square, head * head + total, c)


@inlined
def _middle(
    s: Any, z: Any, lam: Any, start: int, rows: int, over_s: Any, over_z: Any, norm: Any
) -> None:
    """Write lam over its length, without cancellation."""
    half = norm * 0.5
    head_s, head_z = load(s, start) * over_s, load(z, start) * over_z
    over = 1.0 / (head_s + head_z + 2.0 * half)
    by_s = (half + head_z) * over_s * over
    by_z = (half + head_s) * over_z * over
    store(lam, start, half)
    for k in range(1, rows):
        part = load(z, start + k) * by_z
        store(lam, start + k, fma(load(s, start + k), by_s, part))


@inlined
def _dense(plan: Any, K: Any, w: Any, square: Any, c: int) -> None:
    """-eta^2 (2 w w' - J)."""
    start, rows, off = plan.soc[c, 0], plan.soc[c, 1], plan.soc[c, 2]
    for i in range(rows):
        mine = load(w, start + i)
        sign = 1.0 if i == 0 else -1.0
        store(K, at(plan.diagonal, start + i), square * (sign - 2.0 * mine * mine))
        for j in range(i):
            store(K, off, square * (-2.0 * mine * load(w, start + j)))
            off += 1


@inlined
def _sparse(plan: Any, K: Any, w: Any, square: Any, length: Any, c: int) -> None:
    """-eta^2 D on the diagonal, eta^2 u and eta^2 v beside it."""
    start, rows = plan.soc[c, 0], plan.soc[c, 1]
    u_slot, v_slot, last = plan.soc[c, 2], plan.soc[c, 3], plan.soc[c, 4]
    over = 1.0 / length
    first = over * 0.5
    u0 = root(length - first)
    u1 = 2.0 * load(w, start) / u0
    v1 = root(2.0 * (2.0 + over) / (2.0 * length - over))
    store(K, at(plan.diagonal, start), -square * first)
    store(K, u_slot, square * u0)
    by_u, by_v = square * u1, square * v1
    for k in range(1, rows):
        mine = load(w, start + k)
        store(K, at(plan.diagonal, start + k), -square)
        store(K, u_slot + k, by_u * mine)
        store(K, v_slot + k - 1, by_v * mine)
    store(K, last, square)
    store(K, last + 1, -square)


@inlined
def scaled(plan: Any, w: Any, eta: Any, v: Any, shift: int, result: Any) -> None:
    """W v, with v from position `shift` on."""
    for t in range(len(plan.linear)):
        i = at(plan.linear, t)
        store(result, i, load(w, i) * load(v, shift + i))
    for c in range(len(plan.soc)):
        start, rows = plan.soc[c, 0], plan.soc[c, 1]
        total = splat(0.0)
        for k in range(1, rows):
            total = fma(load(w, start + k), load(v, shift + start + k), total)
        head, own, by = load(v, shift + start), load(w, start), load(eta, c)
        store(result, start, by * fma(own, head, total))
        much = head + total / (1.0 + own)
        for k in range(1, rows):
            tail = load(v, shift + start + k)
            store(result, start + k, by * fma(much, load(w, start + k), tail))


@inlined
def unscaled(plan: Any, w: Any, eta: Any, v: Any, result: Any) -> None:
    """W^-1 v."""
    for t in range(len(plan.linear)):
        i = at(plan.linear, t)
        store(result, i, load(v, i) / load(w, i))
    for c in range(len(plan.soc)):
        start, rows = plan.soc[c, 0], plan.soc[c, 1]
        total = splat(0.0)
        for k in range(1, rows):
            total = fma(load(w, start + k), load(v, start + k), total)
        head, own, by = load(v, start), load(w, start), 1.0 / load(eta, c)
        store(result, start, by * fma(own, head, -total))
        much = total / (1.0 + own) - head
        for k in range(1, rows):
            tail = load(v, start + k)
            store(result, start + k, by * fma(much, load(w, start + k), tail))


@inlined
def corrected(plan: Any, lam: Any, a: Any, b: Any, centre: Any, result: Any) -> None:
    """Solve lam o result = lam o lam + a o b - centre e in each cone's algebra."""
    for t in range(len(plan.linear)):
        i = at(plan.linear, t)
        mine = load(lam, i)
        store(result, i, mine + (load(a, i) * load(b, i) - centre) / mine)
    for c in range(len(plan.soc)):
        start, rows = plan.soc[c, 0], plan.soc[c, 1]
        head, a0, b0 = load(lam, start), load(a, start), load(b, start)
        product = splat(0.0)
        total = splat(0.0)
        for k in range(rows):
            product = fma(load(a, start + k), load(b, start + k), product)
        product = product - centre
        for k in range(1, rows):
            i = start + k
            tail = fma(a0, load(b, i), b0 * load(a, i))
            store(result, i, tail)
            total = fma(load(lam, i), tail, total)
        _, square = distance(lam, start, rows)
        over, over_head = 1.0 / square, 1.0 / head
        much = over * (total * over_head - product)
        for k in range(1, rows):
            i = start + k
            mine = load(lam, i)
            store(result, i, fma(much, mine, load(result, i) * over_head) + mine)
        store(result, start, over * fma(head, product, -total) + head)


@inlined
def longest(plan: Any, v: Any, step: Any, shift: int, most: Any) -> Any:
    """How far v may go along a step, at most `most`, and stay in the cones."""
    for t in range(len(plan.linear)):
        i = at(plan.linear, t)
        towards = load(step, shift + i)
        reach = -load(v, i) / towards
        reach = choose_less(towards, 0.0, reach, most)
        most = choose_less(reach, most, reach, most)
    for c in range(len(plan.soc)):
        start, rows = plan.soc[c, 0], plan.soc[c, 1]
        _, constant = distance(v, start, rows)
        _, square = (
            distance(step, shift + start, rows)
            if shift
            else distance(step, start, rows)
        )
        mixed = load(v, start) * load(step, shift + start)
        for k in range(1, rows):
            mixed = fma(-load(v, start + k), load(step, shift + start + k), mixed)
        # The least positive root of square a^2 + 2 mixed a + constant.
        under = mixed * mixed - square * constant
        radical = root(choose_less(under, 0.0, 0.0, under))
        t_root = choose_less(mixed, 0.0, radical - mixed, -mixed - radical)
        one, other = constant / t_root, t_root / square
        reach = choose_less(0.0, one, one, most)
        other = choose_less(0.0, other, other, most)
        reach = choose_less(other, reach, other, reach)
        both = choose_less(0.0, square, mixed, splat(-1.0))
        reach = choose_less(0.0, both, most, reach)
        reach = choose_less(under, 0.0, most, reach)
        most = choose_less(reach, most, reach, most)
    return most


@part
def shift_inside(plan: Any, v: Any, degree: float, wanted: Any) -> None:
    """Move v into the interior of its cones, in the lanes that are wanted."""
    margin, positive = splat(1e300), splat(0.0)
    for t in range(len(plan.linear)):
        entry = load(v, at(plan.linear, t))
        margin = choose_less(entry, margin, entry, margin)
        positive = positive + choose_less(0.0, entry, entry, 0.0)
    for c in range(len(plan.soc)):
        gap, _ = distance(v, plan.soc[c, 0], plan.soc[c, 1])
        margin = choose_less(gap, margin, gap, margin)
        positive = positive + choose_less(0.0, gap, gap, 0.0)
    target = positive * (0.1 / max(1.0, degree))
    target = choose_less(target, 1.0, 1.0, target)
    more = choose_less(margin, target, target - margin, splat(0.0))
    more = choose_less(0.5, wanted, more, splat(0.0))
    for t in range(len(plan.linear)):
        i = at(plan.linear, t)
        store(v, i, load(v, i) + more)
    for c in range(len(plan.soc)):
        start = plan.soc[c, 0]
        store(v, start, load(v, start) + more)
