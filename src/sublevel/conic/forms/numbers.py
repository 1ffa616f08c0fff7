"""The numbers of a form at many contexts: these come last, so that sums are fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ..program import Indices, ProgramData, Varying
from .form import Form


@dataclass(frozen=True)
class FormNumbers:
    """Numbers of m contexts; a 1 in place of m where all contexts share them.

    Attributes
    ----------
    cost : shape (n, m)
    lower, upper : shape (n, 1 or m), infinite where there is no bound
    slopes : shape (n, 1 or m), the coefficients of the coupling row, 0 if there is none
    level : shape (1 or m,), its right-hand side
    size_costs : shape (n, 1 or m), prices of the absolute values
    weights : shape (n, 1 or m), coefficients under the norm, signed
    price : shape (1 or m,), of one unit of the norm
    """

    cost: Array
    lower: Array
    upper: Array
    slopes: Array
    level: Array
    size_costs: Array
    weights: Array
    price: Array

    @property
    def nonnegative(self) -> npt.NDArray[np.bool_]:
        """At which contexts all lower bounds are 0, shape (m,)."""
        return np.resize((self.lower == 0).all(axis=0), self.cost.shape[1])

    @property
    def orthant(self) -> npt.NDArray[np.bool_]:
        """Where moreover all coefficients of the coupling row are positive."""
        return self.nonnegative & (self.slopes > 0).all(axis=0)

    @property
    def is_simplex(self) -> bool:
        """Whether that is so throughout, and there are no upper bounds besides."""
        return bool(self.orthant.all() and np.isposinf(self.upper).all())

    def at(self, contexts: Indices) -> FormNumbers:
        """The numbers of some contexts."""
        parts = vars(self).items()
        # Contexts stay last in memory too, so that sums are added up in one order.
        own = {
            k: np.take(part, contexts, axis=-1)
            for k, part in parts
            if part.shape[-1] > 1
        }
        return replace(self, **own)


def numbers_of(form: Form, data: ProgramData) -> FormNumbers:
    """The numbers of all contexts of some data."""
    n, m = len(form.columns), len(data)
    q, A = data.q, data.A
    lower, upper = np.full((n, 1), -np.inf), np.full((n, 1), np.inf)
    for group in form.bounds:
        ends = entries_of(data.b, group.rows) * group.units[:, None]
        if group.above:
            upper = _tightened(upper, group.members, ends, np.minimum)
        else:
            lower = _tightened(lower, group.members, ends, np.maximum)
    slopes, level = np.zeros((n, 1)), np.zeros(1)
    if form.coupling is not None:
        row = form.coupling
        slopes = _placed(n, row.members, entries_of(A, row.entries))
        level = entries_of(data.b, np.array([row.row]))[0]
    sizes, size_costs = form.sizes, np.zeros((n, 1))
    if sizes is not None:
        size_costs = _placed(n, sizes.members, entries_of(q, sizes.columns))
    top, weights, price = form.top, np.zeros((n, 1)), np.zeros(1)
    if top is not None:
        heads = -entries_of(A, top.heads)
        weights = entries_of(A, top.entries)
        price = entries_of(q, np.array([top.column]))[0]
        if top.norm == "second-order":
            price = price / heads[0]
        else:
            weights = weights / heads
        weights = _placed(n, top.members, weights)
    cost = entries_of(q, form.columns)
    if cost.shape[1] < m:
        cost = np.repeat(cost, m, axis=1)
    return FormNumbers(cost, lower, upper, slopes, level, size_costs, weights, price)


def entries_of(block: Varying, entries: Indices) -> Array:
    """Entries of a block, shape (k, m); (k, 1) where none of them varies."""
    at = np.searchsorted(block.where, entries)
    inside = np.minimum(at, max(len(block.where) - 1, 0))
    moves = np.zeros(len(entries), dtype=bool)
    if len(block.where):
        moves = block.where[inside] == entries
    if not moves.any():
        return np.asarray(block.base[entries][:, None])
    if moves.all():
        if at[-1] - at[0] == len(at) - 1 and (np.diff(at) == 1).all():
            # A slice is read faster than entries one by one.
            return np.ascontiguousarray(block.values[:, at[0] : at[-1] + 1].T)
        return np.ascontiguousarray(block.values[:, at].T)
    rows = np.repeat(block.base[entries][:, None], len(block.values), axis=1)
    rows[moves] = block.values[:, at[moves]].T
    return rows


def _tightened(ends: Array, members: Indices, given: Array, which: np.ufunc) -> Array:
    if given.shape[1] > ends.shape[1]:
        ends = np.repeat(ends, given.shape[1], axis=1)
    ends[members] = which(ends[members], given)
    return ends


def _placed(n: int, members: Indices, given: Array) -> Array:
    """Rows of members among n, zeros elsewhere."""
    if len(members) == n and (members == np.arange(n)).all():
        return given
    placed = np.zeros((n, given.shape[1]))
    placed[members] = given
    return placed
