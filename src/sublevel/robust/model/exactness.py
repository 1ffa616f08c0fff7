"""Whether layers can be made robust row by row without giving anything away.

The variables that bound something uncertain are fixed before the outcome is known. That
is always safe, and exact as long as no row, and no curve, meets the same block of an
outcome twice: through its own coefficients, or through such variables. Blocks move
independently (a set of its own, an entry of a box), so nature then makes each of them
worst at the same time.

    max(r @ x, r @ z) <= 1            exact: one bound depends on r, the row has no more
    exp(r @ x) + exp(q @ x) <= 1      exact: r and q are in sets of their own
    pos(r[0]) + pos(r[1]) <= x        exact if r is in a box
    r @ x + max(r @ x, r @ z) <= 1    not exact: the row sees r, and a bound that does
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import cvxpy as cp
import numpy as np

from ...conic.canonical import cone_form
from ...conic.cone_form import ConeForm
from .equalities import absorbed
from .lifting import Lifted
from .refusal import Refusal
from .rewriting import Curve, Step, assembled, layers
from .set_shape import SetShape, tied
from .uncertain import Key, Uncertain

#: The blocks of outcomes something depends on: number of the key, and of the block.
Blocks = frozenset[tuple[int, int]]

NOTHING: Blocks = frozenset()

WAY_OUT = "Rewrite it so that the outcome enters each row once and linearly."


#: Key -> the shape of its sets; of a key that is not there nothing is known.
Shapes = Mapping[Key, SetShape]


def exact_form(
    constraint: cp.Constraint, keys: tuple[Key, ...], shapes: Shapes | None = None
) -> ConeForm:
    """Cone rows that are the constraint for every outcome, each made robust alone.

    Raises Refusal where there are none.

    Examples
    --------
    >>> r, x = Uncertain(2, name="r"), cp.Variable(2)
    >>> form = exact_form(cp.exp(r @ x) <= 3, ((r,),))
    >>> sorted({cone.kind for cone in form.cones}), int(form.uncertain_rows().sum())
    (['ExpCone', 'nonneg'], 1)
    """
    _require_dcp(constraint)
    steps = layers(constraint, keys)
    if len(steps) > 1:
        _Reach(keys, shapes or {}).follow(steps)
    written = assembled(steps)
    for layer in written:
        _require_dpp(layer)
    form = cone_form(*written)
    _require_linear(form)
    own = {variable.id for variable in constraint.variables()}
    every = frozenset(variable.id for variable, _ in form.columns)
    return replace(form, auxiliary=every - own)


class _Reach:
    """Which blocks each entry of the bounding variables depends on."""

    def __init__(self, keys: tuple[Key, ...], shapes: Shapes) -> None:
        self._blocks: dict[int, list[tuple[int, int]]] = {}
        for number, key in enumerate(keys):
            size = sum(parameter.size for parameter in key)
            labels = shapes.get(key, tied(size)).blocks.tolist()
            for parameter in key:
                own, labels = labels[: parameter.size], labels[parameter.size :]
                self._blocks[parameter.id] = [(number, label) for label in own]
        self._reached: dict[int, list[Blocks]] = {}

    def follow(self, steps: list[Step]) -> None:
        """Raise Refusal where a row or a curve meets a block twice."""
        for step in steps:
            if isinstance(step, Curve):
                self._reached[step.variable.id] = self._curve(step)
                continue
            _require_dpp(step.constraint)
            form = cone_form(step.constraint)
            seen = self._rows(form)
            if step.variable is not None:
                self._reached[step.variable.id] = _by_entry(form, step.variable, seen)

    def _curve(self, step: Curve) -> list[Blocks]:
        """Blocks of each entry of a curve, given those of its arguments."""
        size = step.variable.size
        places = [self._entries(step, bounds) for bounds in step.arguments]
        if step.elementwise:
            groups = [[p[min(k, len(p) - 1)] for p in places] for k in range(size)]
        else:
            groups = [[keys for place in places for keys in place]]
        if not step.joint:
            for group in groups:
                _require_apart(group)
        reached = [NOTHING.union(*group) for group in groups]
        return reached if step.elementwise else reached * size

    def _entries(self, step: Curve, bounds: tuple[cp.Variable, ...]) -> list[Blocks]:
        """Blocks of each entry of an argument, whichever end of it is worst."""
        ends = zip(*(self._reached[bound.id] for bound in bounds), strict=True)
        reached = [NOTHING.union(*keys) for keys in ends]
        if step.elementwise and len(reached) not in (1, step.variable.size):
            return [NOTHING.union(*reached)]
        return reached

    def _rows(self, form: ConeForm) -> list[Blocks]:
        """Blocks of each row of a layer."""
        own: list[set[tuple[int, int]]] = [set() for _ in range(form.constant.shape[0])]
        columns = self._columns(form)
        for parameter, terms in form.parameters.items():
            if isinstance(parameter, Uncertain):
                if any(columns.get(c) for c in terms.column.tolist()):
                    raise Refusal(
                        "an uncertain coefficient multiplies something that depends on "
                        "the outcome already. " + WAY_OUT
                    )
                pairs = zip(terms.row.tolist(), terms.entry.tolist(), strict=True)
                for i, entry in pairs:
                    own[i] |= self._blocks_of(parameter, entry)
        reached = []
        for i, keys in enumerate(own):
            used = [columns[c] for c in _columns_of(form, i) if c in columns]
            _require_apart([frozenset(keys), *used])
            reached.append(frozenset(keys).union(*used))
        return reached

    def _columns(self, form: ConeForm) -> dict[int, Blocks]:
        """Column -> blocks, for columns of bounding variables that depend on any."""
        return {
            column: keys
            for variable, columns in form.columns
            for column, keys in zip(
                range(columns.start, columns.stop),
                self._reached.get(variable.id, ()),
                strict=False,
            )
            if keys
        }

    def _blocks_of(self, parameter: Uncertain, entry: int) -> set[tuple[int, int]]:
        if not isinstance(parameter, Lifted):
            return {self._blocks[parameter.id][entry]}
        # A function of the outcome may depend on all of it.
        return {block for p in parameter.key for block in self._blocks[p.id]}


def _require_dcp(constraint: cp.Constraint) -> None:
    """Refuse a constraint that is not convex in the decision at a given outcome."""
    if not constraint.is_dcp():
        raise Refusal(
            "CVXPY does not know it to be convex (DCP). See cvxpy.org for the rules, "
            "and declare signs: sl.Uncertain(..., nonneg=True)."
        )


def _require_dpp(layer: cp.Constraint) -> None:
    """Refuse a layer that CVXPY does not see to be linear in the parameters."""
    if not layer.is_dcp():
        raise Refusal(
            "it depends on the outcome in a convex way. What multiplies a variable "
            "must be a linear function of the outcome, or a concave one (times "
            "something nonneg, where nature wants it large)."
        )
    if not layer.is_dcp(dpp=True):
        raise Refusal(
            "the uncertain parameter does not enter linearly (DPP). Multiply it with "
            "variables and constants only, not with an affine rule, which depends on "
            "the outcome already; give an ordinary parameter that multiplies it a "
            "constant value instead; write 1 / y as cp.inv_pos(y)."
        )


def _require_linear(form: ConeForm) -> None:
    """Refuse uncertain data in a cone, and in an equality that nothing answers to."""
    uncertain = form.uncertain_rows()
    for cone in form.cones:
        if not uncertain[cone.rows].any():
            continue
        if cone.kind == "zero" and not absorbed(form, cone.rows):
            raise Refusal(
                "an equality with uncertain coefficients fails for some outcome, "
                "unless a decision answers to it (sl.affine_rule)."
            )
        if cone.kind not in ("nonneg", "zero"):
            raise Refusal(
                f"uncertain data inside a cone ({cone.kind}): its worst case is not a "
                "convex problem. " + WAY_OUT
            )


def _by_entry(
    form: ConeForm, variable: cp.Variable, seen: list[Blocks]
) -> list[Blocks]:
    """Blocks of each entry of a variable, from those of the rows that bound it."""
    (columns,) = (c for v, c in form.columns if v.id == variable.id)
    rows = form.constant[:, columns].tocsc()
    spans = pairwise(rows.indptr.tolist())
    return [NOTHING.union(*(seen[i] for i in rows.indices[a:b])) for a, b in spans]


def _columns_of(form: ConeForm, row: int) -> set[int]:
    """The variables' columns in a row, whatever certain numbers multiply them."""
    constant = set(np.flatnonzero(form.constant[[row]].toarray()[0]).tolist())
    return constant.union(*(t.column.tolist() for _, t in form.ordinary(row)))


def _require_apart(sources: Iterable[Blocks]) -> None:
    seen: set[tuple[int, int]] = set()
    for keys in sources:
        if seen & keys:
            raise Refusal(
                "it depends on the outcome in a convex way, or in several places that "
                "nature could not all make worst at once. " + WAY_OUT
            )
        seen |= keys
