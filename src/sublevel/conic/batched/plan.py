"""What all contexts of a program share: cones, ordering, factorisation by lists.

The matrix of a step,

    K = [ P   A' ]
        [ A  -H  ],

has one pattern for all contexts. H is diagonal for linear cones; a large second-order
cone of k rows has H = eta^2 (D + u u' - v v') with a diagonal D, and two more unknowns
carry u and v, so that K stays sparse. K is ordered once, and where each number of its
factors L D L' comes from is written down in lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..program import ConeProgram, Indices, rows_of
from .symbolic import STEP as TILE
from .symbolic import eliminate, firm_pivots, postpone

Flags = npt.NDArray[np.bool_]

#: What is added to K's diagonal: to pivots that are other than zero by themselves, and
#: to those that are not.
FIRM, LOOSE = 1e-13, 1e-8
#: Rows up to which a second-order cone is a dense block of K.
SMALL = 4
#: Numbers kept of each second-order cone, and of each exponential or power cone.
SOC, SKEW = 5, 2


class Plan(NamedTuple):
    """Arrays of positions that compiled code walks along.

    Numbers of K are kept in slots: those of A, of P, minus the diagonal of H, what H
    has off its diagonal, u and v, and a zero. Unknowns are x, z, and two for each large
    second-order cone.

    Attributes
    ----------
    width, height, unknowns : numbers of x, of rows, of all unknowns
    A_row, A_start : pattern of A, by column
    A_slot, A_column, A_first : the same by row
    P_row, P_column : pattern of P's upper triangle; its slots follow those of A
    zero : rows in a zero cone
    linear : rows in a nonnegative cone
    soc : (cones, SOC): first row, rows, and slots: of H's off-diagonal in a small cone;
        of u, of v without its first entry, which is zero, of eta^2 in a large one
    skew : (cones, SKEW): first row, and slots of H's off-diagonal, of the exponential
        and power cones; their H is a dense block of K
    exponent : (cones,), that of a power cone, 0 of an exponential one
    diagonal : slot of -H of each row, shape (height,)
    node : unknowns in their order of elimination
    pivot_slot : slot of K's diagonal, in that order
    pivot_sign, shift : its sign, and what is added to it
    below, below_first : unknowns of the entries of L, by column
    slot : slot of K at each entry of L
    left, left_entry, left_first : unknowns and entries of L, by row
    pair_left, pair_right, pair_first : for each entry (i, j) of L, the entries (i, k)
        and (j, k) whose products are subtracted from it
    tail : the last unknowns, whose factor is kept whole (`dense`)
    tail_row, tail_first : row in the tail of the entries of L, and where these begin
        in each column
    tail_slot, tail_at : slots of K in the tail, and where they go
    flat : rows in a zero or a nonnegative cone
    slots : number of slots, the last of which is zero
    """

    width: int
    height: int
    unknowns: int
    A_row: Indices
    A_start: Indices
    A_slot: Indices
    A_column: Indices
    A_first: Indices
    P_row: Indices
    P_column: Indices
    zero: Indices
    linear: Indices
    soc: Indices
    skew: Indices
    exponent: Any
    diagonal: Indices
    node: Indices
    pivot_slot: Indices
    pivot_sign: Any
    shift: Any
    below: Indices
    below_first: Indices
    slot: Indices
    left: Indices
    left_entry: Indices
    left_first: Indices
    pair_left: Indices
    pair_right: Indices
    pair_first: Indices
    tail: int
    tail_row: Indices
    tail_first: Indices
    tail_slot: Indices
    tail_at: Indices
    flat: Indices
    slots: int


def plan_of(program: ConeProgram) -> Plan:
    """The plan of a program."""
    pattern = _Pattern(program)
    return pattern.plan()


@dataclass
class _Pattern:
    program: ConeProgram

    def plan(self) -> Plan:
        """Slots first, then the order of elimination, then the lists."""
        program = self.program
        n, m = program.width, program.height
        entries = len(program.indices)
        _, P_row, P_start = program.quadratic_pattern
        P_column = np.repeat(np.arange(n), np.diff(P_start))
        slots = entries + len(P_row)
        diagonal = slots + np.arange(m)
        slots += m
        # Row, column and slot of what K has off its diagonal.
        off = P_row != P_column
        rows = [n + program.indices, P_row[off]]
        columns = [program.columns, P_column[off]]
        places = [np.arange(entries), entries + np.flatnonzero(off)]
        pivots = np.full(n + m, -1)
        pivots[P_row[~off]] = entries + np.flatnonzero(~off)
        pivots[n:] = diagonal
        signs = np.concatenate([np.ones(n), -np.ones(m)])
        none = np.zeros(0, dtype=int)
        zero, linear = [none], [none]
        soc, more_pivots, more_signs = [], [], []
        skew, exponents = [], []
        unknowns, start = n + m, 0
        for kind, size in program.cones:
            k = rows_of(kind, size)
            inside = np.arange(start, start + k)
            if kind == "zero":
                zero.append(inside)
            elif kind == "nonneg" or (kind == "soc" and k == 1):
                linear.append(inside)
            elif kind in ("exp", "power") or (kind == "soc" and k <= SMALL):
                i, j = np.tril_indices(k, -1)
                rows.append(n + start + i)
                columns.append(n + start + j)
                places.append(slots + np.arange(len(i)))
                if kind == "soc":
                    soc.append((start, k, slots, 0, 0))
                else:
                    skew.append((start, slots))
                    exponents.append(float(size) if kind == "power" else 0.0)
                slots += len(i)
            elif kind == "soc":
                rows += [n + inside, n + inside[1:]]
                columns += [np.full(k, unknowns), np.full(k - 1, unknowns + 1)]
                places.append(slots + np.arange(2 * k - 1))
                soc.append((start, k, slots, slots + k, slots + 2 * k - 1))
                more_pivots += [slots + 2 * k - 1, slots + 2 * k]
                more_signs += [1.0, -1.0]
                slots += 2 * k + 1
                unknowns += 2
            start += k
        pivots = np.concatenate([pivots, np.array(more_pivots, dtype=int)])
        # The last slot is zero.
        pivots[pivots < 0] = slots
        sign = np.concatenate([signs, more_signs])
        at = np.concatenate(rows), np.concatenate(columns), np.concatenate(places)
        by_row = np.lexsort((program.columns, program.indices))
        first = np.searchsorted(program.indices[by_row], np.arange(m + 1))
        solid = pivots < slots
        solid[n + np.concatenate(zero)] = False
        # Beside u the head of a large cone is next to nothing: a pivot only later.
        late = np.zeros(unknowns, dtype=bool)
        late[[n + start for start, k, *_ in soc if k > SMALL]] = True
        # The pivot of v, after its tail, is what is left of one after taking nearly one
        # away, unless u was there before: then it is one that has its digits.
        pairs = np.arange(n + m, unknowns, 2)
        lists = _lists(unknowns, at, pivots, slots, solid, late, pairs)
        node, firm = lists.pop("node"), lists.pop("firm")
        tail = len(node) - len(lists["tail_first"])
        flat = np.sort(np.concatenate(zero + linear))
        return Plan(
            width=n,
            height=m,
            unknowns=unknowns,
            A_row=_short(program.indices),
            A_start=_short(program.indptr),
            A_slot=_short(by_row),
            A_column=_short(program.columns[by_row]),
            A_first=_short(first),
            P_row=_short(P_row),
            P_column=_short(P_column),
            zero=_short(np.concatenate(zero)),
            linear=_short(np.concatenate(linear)),
            soc=_short(np.array(soc, dtype=int).reshape(-1, SOC)),
            skew=_short(np.array(skew, dtype=int).reshape(-1, SKEW)),
            exponent=np.array(exponents, dtype=float),
            diagonal=_short(diagonal),
            node=_short(node),
            pivot_slot=_short(pivots[node]),
            pivot_sign=sign[node],
            shift=sign[node] * np.where(firm, FIRM, LOOSE),
            tail=tail,
            flat=_short(flat),
            slots=slots + 1,
            **{name: _short(values) for name, values in lists.items()},
        )


def _lists(
    unknowns: int,
    at: tuple[Indices, Indices, Indices],
    pivots: Indices,
    zero: int,
    solid: Flags,
    late: Flags,
    pairs: Indices,
) -> dict[str, Indices]:
    """The order of elimination, and where the factors' entries come from."""
    row, column, place = at
    node, firm = _order(unknowns, row, column, solid, late, pairs)
    step = np.empty(unknowns, dtype=int)
    step[node] = np.arange(unknowns)
    low, high = np.minimum(step[row], step[column]), np.maximum(step[row], step[column])
    by = np.lexsort((high, low))
    low, high, place = low[by], high[by], place[by]
    starts = np.searchsorted(low, np.arange(unknowns + 1))
    lists = eliminate(unknowns, starts, high, place, zero)
    below, below_first, slot, left, left_entry, left_first, *pairs = lists
    tail_first, tail = pairs[3:]
    split = unknowns - tail
    inside = np.flatnonzero(low >= split)
    on = np.arange(split, unknowns)
    row_in = np.concatenate([high[inside], on]) - split
    column_in = np.concatenate([low[inside], on]) - split
    tail_at = (row_in // TILE * tail + column_in) * TILE + row_in % TILE
    return {
        "node": node,
        "firm": firm,
        "below": node[below],
        "below_first": below_first,
        "slot": slot,
        "left": node[left],
        "left_entry": left_entry,
        "left_first": left_first,
        "pair_left": pairs[0],
        "pair_right": pairs[1],
        "pair_first": pairs[2],
        "tail_row": below - split,
        "tail_first": tail_first,
        "tail_slot": np.concatenate([place[inside], pivots[node[split:]]]),
        "tail_at": tail_at,
    }


def _order(
    unknowns: int,
    row: Indices,
    column: Indices,
    solid: Flags,
    late: Flags,
    pairs: Indices,
) -> tuple[Indices, Flags]:
    """Unknowns in the order of least degree, and which pivots are other than zero.

    What is `late` waits for a neighbour. Each of `pairs` goes before the unknown that
    follows it, which has the same neighbours.
    """
    ones = np.full(len(row), 1.0)
    half = sp.coo_array((ones, (row, column)), shape=(unknowns, unknowns))
    # Only the pattern matters; a heavy diagonal keeps the trial factorisation quiet.
    heavy = sp.diags_array(np.full(unknowns, 1.0 + len(row)))
    whole = sp.csc_matrix(half + half.T + heavy)
    trial = splu(
        whole,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    order = np.empty(unknowns, dtype=int)
    order[trial.perm_c] = np.arange(unknowns)
    pattern = sp.csr_array(half + half.T)
    place = np.empty(unknowns, dtype=int)
    place[order] = np.arange(unknowns)
    wrong = pairs[place[pairs] > place[pairs + 1]]
    order[place[wrong]], order[place[wrong + 1]] = wrong + 1, wrong
    order = postpone(order, pattern.indptr, pattern.indices, late)
    return order, firm_pivots(order, pattern.indptr, pattern.indices, solid)


def _short(values: Indices) -> Indices:
    return np.ascontiguousarray(values, dtype=np.int32)
