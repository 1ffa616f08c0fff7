"""The numbers a constraint adds up, one by one, and the linear pieces of each.

An entry of an expression is a sum of weighted parts. Those that are linear in the
outcome are left as they are. Of the others, maxima, absolute values, sums of the
largest and what is made of them are the largest of finitely many linear pieces.

    5 pos(d - q) + pos(q - d)   is   5 max(d - q, 0) + max(q - d, 0)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.reshape import reshape
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.affine.vstack import Vstack
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.expressions.leaf import Leaf

from ...checks import Array
from ...conic.program import Indices
from .dense import as_dense
from .nature import Nature
from .uncertain import uncertain_in

#: What a part is multiplied by: a number, or a scalar expression without the outcome.
Weight: TypeAlias = "float | cp.Expression"

#: What an entry adds up; None where it cannot be taken apart.
Parts: TypeAlias = "list[Summand] | None"

#: An argument, one of its entries, and what that is multiplied by.
Routed: TypeAlias = "tuple[cp.Expression, int, float]"

#: Most pieces that one part is written as.
MOST_PIECES = 4096


class Summand(NamedTuple):
    """A certain weight times a number: weight * body.

    `weight` is a number or a scalar expression without the outcome; `body` a scalar
    expression, which is linear in the outcome unless `bent`.
    """

    weight: Weight
    body: cp.Expression
    bent: bool

    @property
    def value(self) -> cp.Expression:
        """The product."""
        return self.body if _is_one(self.weight) else self.weight * self.body


class Summands:
    """Takes expressions apart, entry by entry; what was looked at once is kept."""

    def __init__(self) -> None:
        # The node is kept too, so that its id is not given to another.
        self._linear: dict[int, tuple[cp.Expression, bool]] = {}
        self._routes: dict[int, tuple[cp.Expression, Any]] = {}

    def of(self, node: cp.Expression, i: int = 0, weight: Weight = 1.0) -> Parts:
        """What entry i, column by column, of weight * node adds up; None where some
        part of it has no entries that could be told apart.
        """
        if not node.args or self.is_linear(node):
            return [Summand(weight, flat_entry(node, i), False)]
        if isinstance(node, AffAtom):
            return self._affine(node, i, weight)
        if isinstance(node, cp.norm1):
            parts = [self.entry(node.args[0], k) for k in _reduced(node, i)]
            return self._bent(weight, [p and cp.abs(p) for p in parts])
        if isinstance(node, cp.quad_over_lin) and not uncertain_in(node.args[1]):
            return self._squares(node, i, weight)
        return self._bent(weight, [self._curved(node, i)])

    def entry(self, node: cp.Expression, i: int) -> cp.Expression | None:
        """Entry i as a sum written out."""
        parts = self.of(node, i)
        return None if parts is None else total([part.value for part in parts])

    def pieces(self, part: Summand) -> list[cp.Expression] | None:
        """Linear functions of the outcome whose largest is the part; None if there
        are none, or too many.
        """
        if not part.bent:
            return [part.value]
        options = self._options(part)
        if options is None:
            return None
        pieces: list[cp.Expression] = []
        for choice in options:
            sums = self._sum_pieces(choice)
            if sums is None or len(pieces) + len(sums) > MOST_PIECES:
                return None
            pieces += sums
        return pieces

    def is_linear(self, node: cp.Expression) -> bool:
        """Whether the outcome enters linearly, or not at all."""
        if id(node) not in self._linear:
            plain = not uncertain_in(node) or Nature(node).is_affine
            self._linear[id(node)] = node, plain
        return self._linear[id(node)][1]

    def _bent(self, weight: Weight, bodies: list[cp.Expression | None]) -> Parts:
        given = [body for body in bodies if body is not None]
        if len(given) < len(bodies):
            return None
        return [Summand(weight, body, not self.is_linear(body)) for body in given]

    def _squares(self, node: cp.Expression, i: int, weight: Weight) -> Parts:
        inner, below = node.args
        parts = [self.entry(inner, k) for k in _reduced(node, i)]
        number = _number(below)
        if number:
            weight = _times(1 / number, weight)
            return self._bent(weight, [p and cp.square(p) for p in parts])
        return self._bent(weight, [p and cp.quad_over_lin(p, below) for p in parts])

    # -- sums and products ---------------------------------------------------------

    def _affine(self, node: cp.Expression, i: int, weight: Weight) -> Parts:
        if isinstance(node, NegExpression):
            return self.of(node.args[0], i, _times(-1.0, weight))
        if isinstance(node, cp.multiply | DivExpression):
            return self._scaled(node, i, weight)
        if isinstance(node, MulExpression):
            return self._product(node, i, weight)
        total: list[Summand] = []
        for argument, k, factor in self._route(node, i):
            parts = self.of(argument, k, _times(factor, weight))
            if parts is None:
                return None
            total += parts
        return total

    def _scaled(self, node: cp.Expression, i: int, weight: Weight) -> Parts:
        one, other = node.args
        at = [_broadcast(arg, node.shape)[i] for arg in (one, other)]
        if not uncertain_in(other):
            factor = flat_entry(other, at[1])
            if isinstance(node, DivExpression):
                factor = 1 / factor
            return self.of(one, at[0], _times(factor, weight))
        if isinstance(node, DivExpression) or uncertain_in(one):
            return None
        return self.of(other, at[1], _times(flat_entry(one, at[0]), weight))

    def _product(self, node: cp.Expression, i: int, weight: Weight) -> Parts:
        one, other = node.args
        if (uncertain_in(one) and uncertain_in(other)) or max(one.ndim, other.ndim) > 2:
            return None
        left, right = _numbered(one), _numbered(other)
        left = left[None, :] if left.ndim < 2 else left
        right = right[:, None] if right.ndim < 2 else right
        row, column = np.unravel_index(i, (len(left), right.shape[1]), order="F")
        parts: list[Summand] = []
        for a, b in zip(left[row], right[:, column], strict=True):
            fixed, at, free, k = (
                (other, b, one, a) if uncertain_in(one) else (one, a, other, b)
            )
            factor = flat_entry(fixed, int(at))
            if _number(factor) == 0.0:
                continue
            more = self.of(free, int(k), _times(factor, weight))
            if more is None:
                return None
            parts += more
        return parts

    def _route(self, node: cp.Expression, i: int) -> Iterator[Routed]:
        """Which entries of its arguments an entry of an affine atom adds up."""
        if id(node) not in self._routes:
            self._routes[id(node)] = node, _matrix(node)
        table = self._routes[id(node)][1]
        ends = np.cumsum([0, *(arg.size for arg in node.args)])
        row = slice(*table.indptr[[i, i + 1]])
        pairs = zip(table.indices[row].tolist(), table.data[row].tolist(), strict=True)
        for column, factor in pairs:
            k = int(np.searchsorted(ends, column, side="right")) - 1
            yield node.args[k], column - int(ends[k]), factor

    # -- maxima ----------------------------------------------------------------------

    def _curved(self, node: cp.Expression, i: int) -> cp.Expression | None:
        """One entry of an atom that bends, as a scalar atom of entries."""
        if isinstance(node, Elementwise):
            at = [_broadcast(arg, node.shape)[i] for arg in node.args]
            pairs = zip(node.args, at, strict=True)
            entries = [self.entry(arg, k) for arg, k in pairs]
            given = [entry for entry in entries if entry is not None]
            return node.copy(given) if len(given) == len(entries) else None
        if isinstance(node, cp.max | cp.min | cp.norm_inf | cp.sum_largest):
            entries = [self.entry(node.args[0], k) for k in _reduced(node, i)]
            given = [entry for entry in entries if entry is not None]
            if len(given) < len(entries):
                return None
            if isinstance(node, cp.norm_inf):
                given = [cp.abs(entry) for entry in given]
            if isinstance(node, cp.sum_largest):
                return cp.sum_largest(cp.hstack(given), node.k)
            if len(given) == 1:
                return given[0]
            return (cp.minimum if isinstance(node, cp.min) else cp.maximum)(*given)
        return flat_entry(node, i)

    def _options(self, part: Summand) -> list[list[Summand]] | None:
        """Sums whose largest is the part."""
        weight, body, _ = part
        sign = _sign(weight)
        args = body.args
        if isinstance(body, cp.maximum) and sign > 0:
            return self._each(args, weight)
        if isinstance(body, cp.minimum) and sign < 0:
            return self._each(args, weight)
        if isinstance(body, cp.abs) and sign > 0:
            if args[0].is_nonneg():
                return self._each(args, weight)
            if self.is_linear(args[0]):
                return [[Summand(s * weight, args[0], False)] for s in (1.0, -1.0)]
        if isinstance(body, cp.sum_largest) and sign > 0:
            return self._largest(body, weight)
        return None

    def _each(
        self, args: list[cp.Expression], weight: Weight
    ) -> list[list[Summand]] | None:
        each = [self.of(arg, 0, weight) for arg in args]
        given = [parts for parts in each if parts is not None]
        return given if len(given) == len(each) else None

    def _largest(
        self, body: cp.Expression, weight: Weight
    ) -> list[list[Summand]] | None:
        """Every way to choose the k largest, the last one in part if k is not whole."""
        inner, k = body.args[0], float(body.k)
        n, whole = inner.size, int(k)
        if k >= n or comb(n, whole) * n > MOST_PIECES:
            return None
        entries = [self.of(inner, j, weight) for j in range(n)]
        shared = [self.of(inner, j, _times(k - whole, weight)) for j in range(n)]
        if any(parts is None for parts in entries):
            return None
        options = []
        for chosen in combinations(range(n), whole):
            sums = [part for j in chosen for part in entries[j] or []]
            if k == whole:
                options.append(sums)
                continue
            rest = [j for j in range(n) if j not in chosen]
            options += [[*sums, *(shared[j] or [])] for j in rest]
        return options

    def _sum_pieces(self, parts: list[Summand]) -> list[cp.Expression] | None:
        """Pieces of a sum: every choice of a piece for each part."""
        each = [self.pieces(part) for part in parts]
        given = [pieces for pieces in each if pieces is not None]
        if len(given) < len(each) or prod(map(len, given)) > MOST_PIECES:
            return None
        return [total(list(choice)) for choice in product(*given)]


def total(parts: list[cp.Expression]) -> cp.Expression:
    """The sum of scalar expressions.

    Examples
    --------
    >>> x = cp.Variable(2, value=[1.0, 2.0])
    >>> float(total([x[0], x[1]]).value)
    3.0
    """
    if not parts:
        return cp.Constant(0.0)
    return parts[0] if len(parts) == 1 else cp.sum(cp.hstack(parts))


def flat_entry(node: cp.Expression, i: int) -> cp.Expression:
    """Entry i of an expression, column by column, as a scalar.

    Examples
    --------
    >>> x = cp.Variable((2, 2), value=np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> float(flat_entry(x, 1).value)
    3.0
    """
    if node.ndim == 0:
        return node
    where = np.unravel_index(i, node.shape, order="F")
    entry = node[tuple(int(k) for k in where)]
    return (
        cp.Constant(entry.value) if entry.is_constant() and _is_plain(entry) else entry
    )


def _is_plain(node: cp.Expression) -> bool:
    return not node.parameters() and not node.variables()


def _numbered(node: cp.Expression) -> Indices:
    return np.arange(node.size).reshape(node.shape, order="F")


def _broadcast(node: cp.Expression, shape: tuple[int, ...]) -> list[int]:
    """Which entry of an argument each entry of a result sees, column by column."""
    wide = np.broadcast_to(_numbered(node), shape)
    return [int(k) for k in np.ravel(wide, order="F")]


def _reduced(node: cp.Expression, i: int) -> list[int]:
    """Which entries of its argument a reduction sees for entry i of its result."""
    numbers = _numbered(node.args[0])
    axis = node.axis if isinstance(node, AxisAtom) else None
    if axis is None:
        return [int(k) for k in np.ravel(numbers, order="F")]
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    last = np.moveaxis(numbers, axes, range(-len(axes), 0))
    kept = last.shape[: numbers.ndim - len(axes)]
    groups = last.reshape((*kept, -1))
    flat = groups.reshape((-1, groups.shape[-1]), order="F") if kept else groups[None]
    return [int(k) for k in flat[i]]


def _matrix(node: cp.Expression) -> sp.csr_array:
    """An affine atom as a sparse matrix over the entries of all its arguments."""
    args = node.args
    if isinstance(node, AddExpression):
        blocks = [_picking(_broadcast(arg, node.shape), arg.size) for arg in args]
        return sp.csr_array(sp.hstack(blocks))
    if isinstance(node, index | special_index | reshape | Hstack | Vstack):
        numbers, start = [], 0
        for arg in args:
            numbers.append(start + _numbered(arg).astype(float))
            start += arg.size
        picked = np.ravel(as_dense(node.numeric(numbers)), order="F").astype(int)
        return _picking(picked.tolist(), start)
    return sp.csr_array(sp.hstack([_probed(node, arg) for arg in args]))


def _picking(picked: list[int], size: int) -> sp.csr_array:
    ones, rows = np.ones(len(picked)), np.arange(len(picked))
    return sp.csr_array((ones, (rows, picked)), shape=(len(picked), size))


def _probed(node: cp.Expression, argument: cp.Expression) -> sp.csr_array:
    """What an affine atom does with one argument, the other ones being what they are
    if they are numbers, and zero if not.
    """
    others = [
        as_dense(arg.value) if _is_plain(arg) else np.zeros(arg.shape)
        for arg in node.args
    ]

    def at(values: Array) -> Array:
        given = [
            values.reshape(arg.shape, order="F") if arg is argument else other
            for arg, other in zip(node.args, others, strict=True)
        ]
        return np.ravel(as_dense(node.numeric(given)), order="F")

    base, columns = at(np.zeros(argument.size)), []
    for k in range(argument.size):
        unit = np.zeros(argument.size)
        unit[k] = 1.0
        columns.append(sp.csc_array((at(unit) - base)[:, None]))
    return sp.csr_array(sp.hstack(columns))


def _number(value: Weight) -> float | None:
    """A factor as a number, if it is one."""
    if isinstance(value, float):
        return value
    if isinstance(value, Leaf | cp.Expression) and _is_plain(value):
        return float(as_dense(value.value))
    return None


def _times(factor: Weight, weight: Weight) -> Weight:
    one, other = _number(factor), _number(weight)
    if one is not None and other is not None:
        return one * other
    if one == 1.0:
        return weight
    return factor if other == 1.0 else factor * weight


def _is_one(weight: Weight) -> bool:
    return _number(weight) == 1.0


def _sign(weight: Weight) -> int:
    """The sign of a weight, as far as it is declared."""
    value = _number(weight)
    if value is not None:
        return int(np.sign(value))
    view = Nature(weight).view
    return 1 if view.is_nonneg() else -1 if view.is_nonpos() else 0
