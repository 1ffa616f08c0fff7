"""Compiled: what steps need to know of the cones.

The scaling of Nesterov and Todd: W z = W^-1 s = lam, with H = W' W. In a nonnegative
cone H = s / z, and nothing else of the scaling is needed. In a second-order cone

    W = eta [ w0   w1'                    ]
            [ w1   I + w1 w1' / (1 + w0)  ],   w0^2 - |w1|^2 = 1.

In a zero cone s, W and lam are zero. How far a step goes is asked in scaled space,
where s and z are both lam: there numbers are of one size.
"""

from __future__ import annotations

from typing import Any

from ..compiled import inlined, part
from .lanes import at, choose_less, fma, load, root, splat, store
from .plan import SMALL
from .walk import cone, cone_slots

#: Numbers kept of each second-order cone: lam' J lam and its inverse, |lam1|^2, and of
#: the predictor b = W dz, in whose plane with lam the corrector lies: lam1' b1, |b1|^2.
SQUARE, OVER, LENGTH, MIXED, OWN, PER_CONE = range(6)


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


@inlined
def _more(a: Any, b: Any) -> Any:
    return choose_less(a, b, b, a)


@part
def rescale(plan: Any, room: Any, flaw: Any) -> Any:
    """The scaling at (s, z), and its numbers in K; lanes without one are marked.

    Of linear rows w is 1 / z, and lam is 1 / s.
    """
    K, s, z, w, lam = room.K, room.s, room.z, room.w, room.lam
    for t in range(plan.linears):
        i = at(plan.linear, t)
        own, price = load(s, i), load(z, i)
        over = 1.0 / (own * price)
        over_z = own * over
        ratio = own * over_z
        store(w, i, over_z)
        store(lam, i, price * over)
        store(K, at(plan.diagonal, i), -ratio)
        flaw = choose_less(0.0, ratio, flaw, 1.0)
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        total_s, total_z = splat(0.0), splat(0.0)
        for i in range(start + 1, start + rows):
            own, price = load(s, i), load(z, i)
            total_s, total_z = fma(own, own, total_s), fma(price, price, total_z)
        length_s, length_z = root(total_s), root(total_z)
        head_s, head_z = load(s, start), load(z, start)
        square_s = (head_s - length_s) * (head_s + length_s)
        square_z = (head_z - length_z) * (head_z + length_z)
        flaw = choose_less(0.0, square_s, flaw, 1.0)
        flaw = choose_less(0.0, square_z, flaw, 1.0)
        size_s, size_z = root(square_s), root(square_z)
        over_s, over_z = 1.0 / size_s, 1.0 / size_z
        square = size_s * over_z
        store(room.eta, c, root(square))
        total = splat(0.0)
        for i in range(start + 1, start + rows):
            part = load(z, i) * over_z
            part = fma(load(s, i), over_s, -part)
            store(w, i, part)
            total = fma(part, part, total)
        head_s, head_z = head_s * over_s, head_z * over_z
        length = root(total)
        norm = root((head_s + head_z - length) * (head_s + head_z + length))
        over_w = 1.0 / norm
        # That w is of norm one is forced: its head follows from its tail.
        total = total * over_w * over_w
        head = root(1.0 + total)
        store(w, start, head)
        # lam, without cancellation, in the length that s and z give it.
        both = size_s * size_z
        length, half = root(both), norm * 0.5
        over = length / (head_s + head_z + norm)
        by_s, by_z = (half + head_z) * over_s * over, (half + head_s) * over_z * over
        store(lam, start, half * length)
        total_lam = splat(0.0)
        for i in range(start + 1, start + rows):
            store(w, i, load(w, i) * over_w)
            part = fma(load(s, i), by_s, load(z, i) * by_z)
            store(lam, i, part)
            total_lam = fma(part, part, total_lam)
        place = c * PER_CONE
        store(room.cone, place + SQUARE, both)
        store(room.cone, place + OVER, 1.0 / both)
        store(room.cone, place + LENGTH, total_lam)
        if rows <= SMALL:
            _dense(plan, K, w, square, c)
        else:
            _sparse(plan, K, w, square, head * head + total, c)
    return flaw


@inlined
def _dense(plan: Any, K: Any, w: Any, square: Any, c: int) -> None:
    """-eta^2 (2 w w' - J)."""
    start, rows = cone(plan, c)
    off, _, _ = cone_slots(plan, c)
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
    start, rows = cone(plan, c)
    u_slot, v_slot, last = cone_slots(plan, c)
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
def _needed(along: Any, square: Any, over: Any) -> Any:
    """One over how far lam may go along d: from lam' J d and d' J d."""
    ahead = along * over
    under = fma(ahead, ahead, -square * over)
    return root(choose_less(under, 0.0, 0.0, under)) - ahead


@inlined
def predicted(plan: Any, room: Any, dtau: Any, most: Any) -> Any:
    """Step of the predictor, and one over how far it may go, at least `most`.

    Of linear rows dz / z is written to `other`, of second-order ones W dz; ds is minus
    the rest of s, and in scaled space minus that and lam.
    """
    n, w, lam, other = plan.width, room.w, room.lam, room.other
    for t in range(plan.linears):
        i = at(plan.linear, t)
        dz = fma(dtau, load(room.fixed, n + i), load(room.moving, n + i))
        share = dz * load(w, i)
        store(other, i, share)
        most = _more(_more(most, -share), 1.0 + share)
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        total = splat(0.0)
        for i in range(start + 1, start + rows):
            dz = fma(dtau, load(room.fixed, n + i), load(room.moving, n + i))
            store(other, i, dz)
            total = fma(load(w, i), dz, total)
        head = fma(dtau, load(room.fixed, n + start), load(room.moving, n + start))
        own, by = load(w, start), load(room.eta, c)
        much = by * (head + total / (1.0 + own))
        head = by * fma(own, head, total)
        store(other, start, head)
        mixed, square = splat(0.0), splat(0.0)
        for i in range(start + 1, start + rows):
            step = fma(much, load(w, i), by * load(other, i))
            store(other, i, step)
            mixed, square = fma(load(lam, i), step, mixed), fma(step, step, square)
        place = c * PER_CONE
        store(room.cone, place + MIXED, mixed)
        store(room.cone, place + OWN, square)
        over = load(room.cone, place + OVER)
        ahead = fma(load(lam, start), head, -mixed) * over
        under = fma(ahead, ahead, -fma(head, head, -square) * over)
        length = root(choose_less(under, 0.0, 0.0, under))
        # Of z along b, and of s along minus (b + lam).
        most = _more(_more(most, length - ahead), length + ahead + 1.0)
    return most


@inlined
def corrected(plan: Any, room: Any, centre: Any) -> None:
    """Write W d to `offset`, with lam o d = lam o lam + a o b - centre e.

    Here b = W dz and a = W^-1 ds = -(b + lam) are those of the predictor. Of
    second-order cones d goes to `one`.
    """
    w, lam, other = room.w, room.lam, room.other
    for t in range(plan.linears):
        i = at(plan.linear, t)
        share, own = load(other, i), load(room.s, i)
        rest = fma(-own * share, 1.0 + share, own)
        store(room.offset, i, fma(-centre, load(w, i), rest))
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        place = c * PER_CONE
        mixed, own = load(room.cone, place + MIXED), load(room.cone, place + OWN)
        lam_0, b_0 = load(lam, start), load(other, start)
        over, over_head = load(room.cone, place + OVER), 1.0 / lam_0
        # a o b has the head `product`, and the tail by_b b1 + by_lam lam1.
        product = -fma(b_0, b_0 + lam_0, own + mixed) - centre
        by_b, by_lam = -(b_0 + b_0 + lam_0), -b_0
        total = fma(by_b, mixed, by_lam * load(room.cone, place + LENGTH))
        much = over * fma(total, over_head, -product)
        by_lam = fma(by_lam, over_head, much) + 1.0
        by_b = by_b * over_head
        head = fma(over, fma(lam_0, product, -total), lam_0)
        store(room.one, start, head)
        total = splat(0.0)
        for i in range(start + 1, start + rows):
            tail = fma(by_lam, load(lam, i), by_b * load(other, i))
            store(room.one, i, tail)
            total = fma(load(w, i), tail, total)
        w_0, by = load(w, start), load(room.eta, c)
        store(room.offset, start, by * fma(w_0, head, total))
        much = by * (head + total / (1.0 + w_0))
        for i in range(start + 1, start + rows):
            store(room.offset, i, fma(much, load(w, i), by * load(room.one, i)))


@inlined
def finished(plan: Any, room: Any, dtau: Any, most: Any) -> Any:
    """Step of the corrector, and one over how far it may go, at least `most`.

    Writes dz over the solution of `moving`, and ds = -(H dz + offset).
    """
    n, w, lam, moving = plan.width, room.w, room.lam, room.moving
    for t in range(plan.linears):
        i = at(plan.linear, t)
        dz = fma(dtau, load(room.fixed, n + i), load(moving, n + i))
        store(moving, n + i, dz)
        ds = fma(load(room.K, at(plan.diagonal, i)), dz, -load(room.offset, i))
        store(room.ds, i, ds)
        most = _more(_more(most, -dz * load(w, i)), -ds * load(lam, i))
    for t in range(plan.zeros):
        i = n + at(plan.zero, t)
        store(moving, i, fma(dtau, load(room.fixed, i), load(moving, i)))
        store(room.ds, i - n, 0.0)
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        total = splat(0.0)
        for i in range(start + 1, start + rows):
            dz = fma(dtau, load(room.fixed, n + i), load(moving, n + i))
            store(moving, n + i, dz)
            total = fma(load(w, i), dz, total)
        dz_0 = fma(dtau, load(room.fixed, n + start), load(moving, n + start))
        store(moving, n + start, dz_0)
        own, by = load(w, start), load(room.eta, c)
        much = by * (dz_0 + total / (1.0 + own))
        inner = fma(own, dz_0, total)
        b_0 = by * inner
        a_0 = -(b_0 + load(room.one, start))
        # H dz = eta^2 (2 w w' dz - J dz).
        square = by * by
        twice = -square * (inner + inner)
        ds = fma(twice, own, square * dz_0) - load(room.offset, start)
        store(room.ds, start, ds)
        mixed_b, square_b, mixed_a, square_a = (
            splat(0.0),
            splat(0.0),
            splat(0.0),
            splat(0.0),
        )
        for i in range(start + 1, start + rows):
            direction, dz, mine = load(w, i), load(moving, n + i), load(lam, i)
            b = fma(much, direction, by * dz)
            a = -(b + load(room.one, i))
            mixed_b, square_b = fma(mine, b, mixed_b), fma(b, b, square_b)
            mixed_a, square_a = fma(mine, a, mixed_a), fma(a, a, square_a)
            ds = fma(twice, direction, -square * dz) - load(room.offset, i)
            store(room.ds, i, ds)
        over, head = load(room.cone, c * PER_CONE + OVER), load(lam, start)
        along, own = fma(head, b_0, -mixed_b), fma(b_0, b_0, -square_b)
        most = _more(most, _needed(along, own, over))
        along, own = fma(head, a_0, -mixed_a), fma(a_0, a_0, -square_a)
        most = _more(most, _needed(along, own, over))
    return most


@part
def shift_inside(plan: Any, v: Any, degree: float, wanted: Any) -> None:
    """Move v into the interior of its cones, in the lanes that are wanted."""
    margin, positive = splat(1e300), splat(0.0)
    for t in range(plan.linears):
        entry = load(v, at(plan.linear, t))
        margin = choose_less(entry, margin, entry, margin)
        positive = positive + choose_less(0.0, entry, entry, 0.0)
    for c in range(plan.cones):
        start, rows = cone(plan, c)
        gap, _ = distance(v, start, rows)
        margin = choose_less(gap, margin, gap, margin)
        positive = positive + choose_less(0.0, gap, gap, 0.0)
    target = positive * (0.1 / max(1.0, degree))
    target = choose_less(target, 1.0, 1.0, target)
    more = choose_less(margin, target, target - margin, splat(0.0))
    more = choose_less(0.5, wanted, more, splat(0.0))
    for t in range(plan.linears):
        i = at(plan.linear, t)
        store(v, i, load(v, i) + more)
    for c in range(plan.cones):
        start, _ = cone(plan, c)
        store(v, start, load(v, start) + more)
