"""Which cone programs have a solution in closed form, read off their pattern.

    minimise  c'x + penalty(x)  over  lower <= x <= upper,  a'x = level  (or <=)

where the penalty is nothing, |x| weighted entry by entry, a weighted second-order norm,
or the largest of weighted entries: worst cases of a linear objective over a point, a
box, an ellipsoid with a diagonal scale and an L1 ball, on a simplex, a box or a budget
polytope. Only the pattern of the program is looked at, and numbers that no slot moves:
what a program is, is the same at every context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...checks import Array
from ..pinning import constants
from ..program import ConeProgram, Indices, rows_of

_NONE: Indices = np.zeros(0, dtype=int)


@dataclass(frozen=True)
class Bounds:
    """Rows that bound one member of x each, and no member twice.

    Attributes
    ----------
    members : positions in x, shape (k,)
    rows : shape (k,)
    slopes : shape (k,), all positive (upper bounds) or all negative (lower ones)
    """

    members: Indices
    rows: Indices
    slopes: Array

    @property
    def units(self) -> Array:
        """What a right-hand side is multiplied by to be a bound of x."""
        return np.asarray(1 / self.slopes)

    @property
    def above(self) -> bool:
        """Whether these are upper bounds."""
        return bool(self.slopes[0] > 0)


@dataclass(frozen=True)
class Coupling:
    """The row a'x = level, or a'x <= level.

    Attributes
    ----------
    row : its number
    members, entries : which x it has, and where their coefficients are in A's pattern
    equal : whether it is an equation
    """

    row: int
    members: Indices
    entries: Indices
    equal: bool


@dataclass(frozen=True)
class Sizes:
    """Columns v with x <= v and -x <= v.

    Attributes
    ----------
    members : which x they belong to, shape (k,)
    columns : shape (k,)
    plus, minus : rows of x <= v and of -x <= v
    units : the positive number that each pair of rows is multiplied by, shape (2, k)
    """

    members: Indices
    columns: Indices
    plus: Indices
    minus: Indices
    units: Array


@dataclass(frozen=True)
class Top:
    """A column t that is above a norm of weighted x, or above all of them.

    Attributes
    ----------
    column : of t
    norm : "second-order" or "largest"
    heads : where t's coefficients are in A's pattern: one, or one a member
    head_rows : the rows they are in
    members : which x it is above, shape (k,)
    rows, entries : their rows, and where their weights are in A's pattern
    mirrored : rows that bound minus the same, in the order of `rows`, or None
    """

    column: int
    norm: str
    heads: Indices
    head_rows: Indices
    members: Indices
    rows: Indices
    entries: Indices
    mirrored: Indices | None = None


@dataclass(frozen=True)
class Form:
    """What is what in a program with a closed form.

    Attributes
    ----------
    columns : those of x, shape (n,)
    bounds : groups of bounds
    coupling : the row that couples the members of x, or None
    sizes : columns above the absolute values of x, or None
    top : the column above a norm of x, or None
    """

    columns: Indices
    bounds: tuple[Bounds, ...]
    coupling: Coupling | None
    sizes: Sizes | None
    top: Top | None

    def __str__(self) -> str:
        shape = "a linear objective"
        if self.top is not None and self.top.norm == "second-order":
            shape = "a linear objective and a norm with diagonal weights"
        elif self.top is not None:
            shape = "a linear objective and the largest of weighted entries"
        elif self.sizes is not None:
            shape = "a linear objective and weighted absolute values"
        over = "bounds" if self.coupling is None else "bounds and a coupling row"
        return f"{shape}, over {over}"


class NoForm(Exception):
    """A program has no closed form; the message says why."""


_FORMS: WeakKeyDictionary[ConeProgram, Form | str] = WeakKeyDictionary()


def form_of(program: ConeProgram) -> Form | str:
    """The form of a program, or why it has none.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from ..canonical import cone_program
    >>> x, scale = cp.Variable(3, nonneg=True), cp.Parameter(3, nonneg=True)
    >>> aim = cp.Minimize(cp.sum(x) + cp.norm(cp.multiply(scale, x)))
    >>> names = {scale.id: "scale"}
    >>> print(form_of(cone_program(cp.Problem(aim, [cp.sum(x) == 1]), names)))
    a linear objective and a norm with diagonal weights, over bounds and a coupling row
    >>> print(form_of(cone_program(cp.Problem(aim, [x[:2] <= x[1:]]), names)))
    two rows couple the variables
    """
    if program not in _FORMS:
        try:
            _FORMS[program] = _Reading(program).form()
        except NoForm as reason:
            _FORMS[program] = str(reason)
    return _FORMS[program]


class _Reading:
    """One reading of a program's pattern."""

    def __init__(self, program: ConeProgram) -> None:
        self.program = program
        height = program.height
        # Entries of A row by row: of row r those of order[ends[r]:ends[r + 1]].
        self.order = np.argsort(program.indices, kind="stable")
        counts = np.bincount(program.indices, minlength=height)
        self.ends = np.concatenate([[0], np.cumsum(counts)])
        self.counts = counts
        self.columns = program.columns
        self.slope, self.fixed = constants(program.A)
        right, fixed_right = constants(program.b)
        self.zero_right = fixed_right & (right == 0)
        kinds = [k for k, _ in program.cones]
        sizes = [rows_of(k, s) for k, s in program.cones]
        self.kind = np.repeat(np.array(kinds, dtype=object), sizes)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.used = np.zeros(height, dtype=bool)

    def form(self) -> Form:
        program = self.program
        if len(program.P.data):
            raise NoForm("the objective is quadratic")
        strange = set(self.kind.tolist()) - {"zero", "nonneg", "soc"}
        if strange:
            raise NoForm(f"there are cones of the kind {sorted(strange)[0]}")
        if not program.width:
            raise NoForm("there are no variables")
        cones = [i for i, (k, _) in enumerate(program.cones) if k == "soc"]
        if len(cones) > 1:
            raise NoForm("there are several second-order cones")
        top = self._norm(cones[0]) if cones else None
        sizes = self._sizes()
        helpers = _NONE if sizes is None else sizes[1]
        if top is None:
            top = self._largest(helpers)
        is_x = np.ones(program.width, dtype=bool)
        is_x[helpers] = False
        if top is not None:
            is_x[top.column] = False
        columns = np.flatnonzero(is_x)
        member = np.full(program.width, -1)
        member[columns] = np.arange(len(columns))
        own = None if sizes is None else self._own_sizes(sizes, member)
        if top is not None:
            top = self._own_top(top, member, own)
        coupling, bounds = self._coupling(member), self._bounds(member)
        if top is not None:
            self._require_ends(len(columns), bounds, coupling, top)
        return Form(columns, bounds, coupling, own, top)

    def _entries(self, row: int) -> Indices:
        return self.order[self.ends[row] : self.ends[row + 1]]

    def _norm(self, cone: int) -> Top:
        start, stop = self.starts[cone : cone + 2].tolist()
        rows = np.arange(start, stop)
        if (self.counts[rows] > 1).any():
            raise NoForm("the ellipsoid's factor is not diagonal")
        if self.counts[start] != 1 or not self.zero_right[rows].all():
            raise NoForm("the norm is not of the variables alone")
        head = int(self._entries(start)[0])
        column = int(self.columns[head])
        if np.count_nonzero(self.columns == column) > 1:
            raise NoForm("the norm is bounded")
        self._require_below(np.array([head]))
        tail = rows[1:][self.counts[rows[1:]] == 1]
        entries = self.order[self.ends[tail]]
        members = self.columns[entries]
        if len(np.unique(members)) < len(members) or (members == column).any():
            raise NoForm("the ellipsoid's factor is not diagonal")
        self.used[rows] = True
        heads = np.array([head])
        return Top(column, "second-order", heads, rows[:1], members, tail, entries)

    def _pairs(self) -> tuple[Indices, Indices, Indices]:
        """Rows of two entries, right-hand side 0, and these entries."""
        rows = np.flatnonzero(
            (self.counts == 2) & self.zero_right & (self.kind == "nonneg") & ~self.used
        )
        first = self.order[self.ends[rows]] if rows.size else _NONE
        second = self.order[self.ends[rows] + 1] if rows.size else _NONE
        return rows, first, second

    def _sizes(self) -> tuple[Indices, Indices, Indices, Indices, Array] | None:
        """Of pairs x <= v, -x <= v: columns of x and of v, rows, units."""
        rows, first, second = self._pairs()
        steady = self.fixed[first] & self.fixed[second]
        steady &= np.abs(self.slope[first]) == np.abs(self.slope[second])
        rows, first, second = rows[steady], first[steady], second[steady]
        seen: dict[tuple[int, int], dict[bool, int]] = {}
        for row, one, other in zip(
            rows.tolist(), first.tolist(), second.tolist(), strict=True
        ):
            below = [e for e in (one, other) if self.slope[e] < 0]
            for v in below:
                x = other if v == one else one
                key = (int(self.columns[x]), int(self.columns[v]))
                seen.setdefault(key, {})[bool(self.slope[x] > 0)] = row
        shared = self._shared()
        pairs = [
            (*key, rows[True], rows[False])
            for key, rows in seen.items()
            if len(rows) == 2 and not shared[key[1]]
        ]
        if not pairs:
            return None
        x, v, plus, minus = (np.array(part) for part in zip(*pairs, strict=True))
        if len(np.unique(v)) < len(v) or np.isin(v, x).any():
            raise NoForm("absolute values are of more than one variable")
        if len(np.unique(x)) < len(x):
            raise NoForm("absolute values of one variable come twice")
        units = np.abs(
            [self.slope[self.order[self.ends[side]]] for side in (plus, minus)]
        )
        self.used[plus] = self.used[minus] = True
        return x, v, plus, minus, units

    def _shared(self) -> npt.NDArray[np.bool_]:
        """Which columns are above several others: a maximum, not a size."""
        _, first, second = self._pairs()
        above, below = np.concatenate([first, second]), np.concatenate([second, first])
        own = ~self.fixed[above] | (self.slope[above] < 0)
        pairs = np.unique(
            np.stack([self.columns[above[own]], self.columns[below[own]]]), axis=1
        )
        return np.asarray(np.bincount(pairs[0], minlength=self.program.width) > 1)

    def _largest(self, sizes: Indices) -> Top | None:
        """A column t in rows `weight x <= t`, and in no others."""
        rows, first, second = self._pairs()
        if not rows.size:
            return None
        width = self.program.width
        both = np.concatenate([self.columns[first], self.columns[second]])
        counts = np.bincount(both, minlength=width)
        counts[sizes] = 0
        everywhere = np.bincount(self.columns, minlength=width)
        alone = np.flatnonzero((counts == len(rows)) & (everywhere == len(rows)))
        if len(alone) != 1:
            return None
        column = int(alone[0])
        heads = np.where(self.columns[first] == column, first, second)
        entries = np.where(heads == first, second, first)
        self._require_below(heads)
        self.used[rows] = True
        once, mirrored = self._halves(entries)
        rows, mirror = rows[once], None if mirrored is None else rows[mirrored]
        heads, entries = heads[once], entries[once]
        members = self.columns[entries]
        return Top(column, "largest", heads, rows, members, rows, entries, mirror)

    def _halves(self, entries: Indices) -> tuple[Indices, Indices | None]:
        """One entry a column, and those that are minus the same, if there are any."""
        order = np.argsort(self.columns[entries], kind="stable")
        members = self.columns[entries[order]]
        if len(np.unique(members)) == len(members):
            return order, None
        table = self.program.A
        one, other = order[::2], order[1::2]
        alike = len(one) == len(other)
        alike = alike and bool((members[::2] == members[1::2]).all())
        for first, second in zip(one.tolist(), other.tolist(), strict=alike):
            mine, theirs = (
                slice(*table.indptr[[entries[k], entries[k] + 1]])
                for k in (first, second)
            )
            alike &= np.array_equal(table.indices[mine], table.indices[theirs])
            alike = alike and np.array_equal(table.data[mine], -table.data[theirs])
        if not alike:
            raise NoForm("a variable comes twice under one maximum")
        return one, other

    def _require_below(self, heads: Indices) -> None:
        if not (self.fixed[heads] & (self.slope[heads] < 0)).all():
            raise NoForm("the worst case's own coefficient changes")

    def _own_sizes(
        self,
        sizes: tuple[Indices, Indices, Indices, Indices, Array],
        member: Indices,
    ) -> Sizes:
        x, v, plus, minus, units = sizes
        if (member[x] < 0).any():
            raise NoForm("absolute values are of more than variables")
        return Sizes(member[x], v, plus, minus, units)

    def _own_top(self, top: Top, member: Indices, sizes: Sizes | None) -> Top:
        """The top in terms of x: what is under it may be a column of sizes."""
        of_size = np.full(self.program.width, -1)
        if sizes is not None:
            of_size[sizes.columns] = sizes.members
            if top.norm == "second-order":
                raise NoForm("a norm comes beside absolute values")
            if set(top.members.tolist()) != set(sizes.columns.tolist()):
                raise NoForm("a maximum comes beside absolute values")
        members = np.where(
            of_size[top.members] >= 0, of_size[top.members], member[top.members]
        )
        if (members < 0).any():
            raise NoForm("the norm is not of the variables alone")
        return replace(top, members=members)

    def _require_ends(
        self, n: int, bounds: tuple[Bounds, ...], coupling: Coupling | None, top: Top
    ) -> None:
        """Formulas with a norm ask for ends of x; with a maximum, for x >= 0."""
        ends = {
            above: np.unique(
                np.concatenate(
                    [_NONE, *(b.members for b in bounds if b.above == above)]
                )
            )
            for above in (False, True)
        }
        if len(ends[False]) < n:
            raise NoForm("a variable has no lower bound")
        if coupling is None and len(ends[True]) < n:
            raise NoForm("a variable has no upper bound")
        below = np.concatenate([b.rows for b in bounds if not b.above])
        if top.norm == "largest" and not self.zero_right[below].any():
            raise NoForm("variables under a maximum may be negative")

    def _coupling(self, member: Indices) -> Coupling | None:
        wide = np.flatnonzero(
            ~self.used
            & ((self.counts > 1) | ((self.counts == 1) & (self.kind == "zero")))
        )
        if not wide.size:
            return None
        if len(wide) > 1:
            raise NoForm(
                "two rows couple the variables"
                if len(wide) == 2
                else f"{len(wide)} rows couple the variables"
            )
        row = int(wide[0])
        entries = self._entries(row)
        members = member[self.columns[entries]]
        if (members < 0).any():
            raise NoForm("the worst case is bounded by a row")
        self.used[row] = True
        return Coupling(row, members, entries, bool(self.kind[row] == "zero"))

    def _bounds(self, member: Indices) -> tuple[Bounds, ...]:
        rows = np.flatnonzero(~self.used & (self.counts == 1))
        entries = self.order[self.ends[rows]] if rows.size else _NONE
        members, slopes = member[self.columns[entries]], self.slope[entries]
        if (members < 0).any():
            raise NoForm("the worst case has bounds")
        if not (self.fixed[entries] & (slopes != 0)).all():
            raise NoForm("a bound's coefficient changes")
        groups = []
        for above in (False, True):
            left = np.flatnonzero((slopes > 0) == above)
            while left.size:
                _, first = np.unique(members[left], return_index=True)
                at = left[first]
                groups.append(Bounds(members[at], rows[at], slopes[at]))
                left = np.delete(left, first)
        return tuple(groups)
