"""Which contexts have numbers of ordinary size: a solver sees these as they are."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..checks import Array
from .layout import Layout, layout_of
from .program import ConeProgram, Indices, ProgramData

#: Numbers between one over this and this are left as they are.
ORDINARY = 64.0
#: A coefficient below this is not left as it is either.
SMALL = 1e-5


def extraordinary(data: ProgramData) -> npt.NDArray[np.bool_]:
    """Contexts in which a row, a column, a right-hand side or the objective is not of
    ordinary size, or a coefficient so small that what it multiplies must be large or
    what it adds up to small, shape (n,).
    """
    still = still_part(data)
    return np.asarray(uneven(data, still) | is_far(largest_costs(data, still)))


def uneven(data: ProgramData, still: StillPart) -> npt.NDArray[np.bool_]:
    """The same of all but the objective."""
    A, b = data.A, data.b
    varying = np.abs(A.values)
    odd = is_far(np.abs(b.values)).any(axis=1) | still.odd
    for order, first, largest in still.sides:
        # The largest of a row or column in which some entry varies.
        moved = np.maximum.reduceat(varying[:, order], first, axis=1)
        odd |= is_far(np.maximum(moved, largest)).any(axis=1)
    if still.small or ((varying < SMALL) & (varying > 0)).any():
        size = np.abs(layout_of(data.program).without_noise(A.rows()))
        odd |= ((size < SMALL) & (size > 0)).any(axis=1)
    return np.asarray(odd)


def largest_costs(data: ProgramData, still: StillPart) -> Array:
    """The largest number in the objective of each context, shape (n,)."""
    P, q = data.P, data.q
    linear = np.abs(q.values[:, still.costs]).max(axis=1, initial=still.cost)
    curved = np.abs(P.values).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(linear, curved))


def is_far(sizes: Array) -> npt.NDArray[np.bool_]:
    """Which sizes are not ordinary."""
    return np.asarray((sizes > ORDINARY) | ((sizes < 1 / ORDINARY) & (sizes > 0)))


class StillPart:
    """What `extraordinary` sees in the entries that no context moves.

    Attributes
    ----------
    blocks : P, q, A and b it was made from: their bases and which entries move
    finite : whether all of their bases are
    costs : which of the entries of q that move are costs, and not the offset
    cost : the largest of all other costs
    odd : whether something else is not of ordinary size
    small : whether a coefficient is small
    sides : for rows and columns the entries that move, in the order of their rows;
        where each row starts; and the largest of its other entries
    """

    def __init__(self, data: ProgramData, layout: Layout) -> None:
        P, q, A, b = self.blocks = (data.P, data.q, data.A, data.b)
        self.finite = all(np.isfinite(block.base).all() for block in self.blocks)
        constant, last = np.abs(A.base), len(q.base) - 1
        constant[A.where] = 0.0
        self.costs = q.where < last
        fixed = np.delete(np.abs(q.base), np.append(q.where, last))
        curved = np.delete(np.abs(P.base), P.where)
        self.cost = float(np.maximum(fixed.max(initial=0.0), curved.max(initial=0.0)))
        right = np.delete(np.abs(b.base), b.where)
        self.odd = bool(is_far(right).any())
        self.small = bool(((constant < SMALL) & (constant > 0)).any())
        self.sides: list[tuple[Indices, Indices, Array]] = []
        for groups, of_entry in layout.sides:
            largest = groups.reduced(constant[None], np.maximum)
            order = np.argsort(of_entry[A.where], kind="stable")
            hit, first = np.unique(of_entry[A.where][order], return_index=True)
            self.odd |= bool(is_far(np.delete(largest, hit, axis=1)).any())
            if hit.size:
                self.sides.append((order, first, largest[:, hit]))

    def is_of(self, data: ProgramData) -> bool:
        """Whether it was made from the same arrays."""
        blocks = (data.P, data.q, data.A, data.b)
        return all(
            own.base is other.base and own.where is other.where
            for own, other in zip(self.blocks, blocks, strict=True)
        )


def still_part(data: ProgramData) -> StillPart:
    """What no context moves: looked at again only if it is something else."""
    part = _STILL_PARTS.get(data.program)
    if part is None or not part.is_of(data):
        part = _STILL_PARTS[data.program] = StillPart(data, layout_of(data.program))
    return part


_STILL_PARTS: WeakKeyDictionary[ConeProgram, StillPart] = WeakKeyDictionary()
